// The stack: a strip of its layers, and of the chosen one what it does, with
// each boundary before and after.

const outsideName = 'in, out';

function drawStrip() {
  const own = variant();
  const cells = [-1, ...layersOf(own)];
  const kindsOfLayers = new Map(own.layers);
  const letter = (layer) => String.fromCharCode(65 + kindsOfLayers.get(layer));
  const hadFocus = byId('strip').contains(document.activeElement);
  fill('strip', cells.map((layer) => {
    const chosen = layer === state.layer;
    return h(
        'div', {
          className: 'cell',
          role: 'option',
          tabindex: chosen ? 0 : -1,
          'aria-selected': chosen ? 'true' : 'false',
          'aria-label': layer < 0 ? 'outside of layers: embedding and logits' :
                                    `layer ${layer}, kind ${letter(layer)}`,
          onclick: () => chooseLayer(layer)
        },
        layer < 0 ? outsideName : [
          String(layer), own.kinds.length > 1 ? h('sup', {}, letter(layer)) : ''
        ]);
  }));
  if (hadFocus) byId('strip').children[cells.indexOf(state.layer)].focus();
  fill(
      'kinds',
      own.kinds.length > 1 ?
          own.kinds.map(
              (kind, i) =>
                  h('li', {}, h('b', {}, String.fromCharCode(65 + i)),
                    ` ${
                        layersText(own.layers.filter(([, k]) => k === i)
                                       .map(([layer]) => layer))}: ${
                        describeKind(kind)}`)) :
          []);
  byId('stack-text').textContent = own.sites ?
      `${count(own.applied, 'boundary', 'boundaries')} of ${
          whole(own.sites)} by rows at ${whole(own.min)} to ${
          whole(
              own.max)} tokens. Before: the model in plain tensor parallelism. After: this plan. Layers with the same letter do the same.` :
      'Nothing is summed across ranks in this plan.';
}

/** What tells one kind of layer from another, in a few words. */
function describeKind(kind) {
  const modules = new Set(kind.steps.map((step) => step.module));
  const parts = [
    modules.has('experts') ? 'experts' :
        modules.has('mlp') ? 'MLP' :
                             '',
    count(kind.sites.length, 'boundary', 'boundaries')
  ];
  const attention =
      kind.steps.find((step) => step.module === 'attention_core' && step.note);
  if (attention) parts.push(attention.note);
  // What is next to it outside of layers: the first and the last are kinds of
  // their own.
  const others = ['input', 'weight', 'cache'];
  const beside = (list) => list.some(
      ([kindOfStep, where]) =>
          !others.includes(kindOfStep) && !where.startsWith('@'));
  if (kind.values.some((value) => beside(value.from)))
    parts.push('begins the stack');
  if (kind.values.some((value) => beside(value.read_by)))
    parts.push('ends the stack');
  return parts.filter(Boolean).join(', ');
}

const opsOf = (step) => (step.body ? step.body : [[step.kind, step.place]]);
const isSameOp = (a, b) => a[0] === b[0] && a[1] === b[1];

/**
 * Steps in order, those of one boundary together, neighbours of one module
 * too.
 */
function groupSteps(kind) {
  const groups = [];
  const boundaries = new Map();
  for (const step of kind.steps) {
    const site = kind.sites.find((each) => each.site === step.boundary);
    if (site) {
      if (!boundaries.has(site.site)) {
        boundaries.set(site.site, {site, steps: []});
        groups.push(boundaries.get(site.site));
      }
      boundaries.get(site.site).steps.push(step);
      continue;
    }
    const moves = opsOf(step).some(([op]) => isCollective(op));
    const last = groups[groups.length - 1];
    if (last && !last.site && last.module === step.module &&
        last.moves === moves)
      last.steps.push(step);
    else
      groups.push({module: step.module, moves, steps: [step]});
  }
  return groups;
}

const timeOf = (steps) => {
  const known = steps.map((step) => step.us && step.us[state.point])
                    .filter((us) => us !== null && us !== undefined);
  return known.length ? sum(known) : null;
};

function op(name) {
  return h('span', {className: `op ${familyOfOp(name)}`}, name);
}

/** Kernels in order; several ops in one are told as one kernel. */
function launches(list) {
  return h(
      'div', {className: 'kernels'},
      list.flatMap(
          (ops, i) =>
              [i ? h('span', {className: 'arrow', 'aria-hidden': 'true'},
                     '\u2192') :
                   '',
               h('span', {className: 'launch'}, ops.map(op),
                 ops.length > 1 ? h('span', {className: 'one'}, 'one kernel') :
                                  '')]));
}

function costs(site, after) {
  const [ringBefore, ringAfter, switchBefore, switchAfter] =
      site.bytes[state.point] || [];
  const price = site.price[state.point];
  const parts = [];
  if (price)
    parts.push(h(
        'span', {}, h('b', {}, time(after ? price.chosen_us : price.today_us)),
        after ? ` (${change(price.today_us, price.chosen_us)}), ${
                    bases[price.confidence]}` :
                ' by the cost model'));
  if (ringBefore !== undefined)
    parts.push(
        h('span', {}, h('b', {}, bytes(after ? ringAfter : ringBefore)),
          ' sent by ring'),
        h('span', {}, h('b', {}, bytes(after ? switchAfter : switchBefore)),
          ' by switch'));
  return h('div', {className: 'costs'}, parts);
}

/** Values of a boundary that something behind it reads. */
function leaving(kind, group) {
  const own = group.steps.flatMap(opsOf);
  return kind.values.filter(
      (value) => own.some((each) => isSameOp(each, [value.op, value.place])) &&
          value.read_by.some(
              (reader) => !own.some((each) => isSameOp(each, reader))));
}

function drawBoundary(kind, group) {
  const {site, steps} = group;
  const ops = steps.flatMap(opsOf).map(([name]) => name);
  const rows = ops.filter((name) => !isCollective(name));
  const was = [
    site.was[0],
    ...(rows.length > site.was.length - 1 ? rows : site.was.slice(1))
  ];
  const leaves = leaving(kind, group);
  return [
    h('div', {className: 'boundary-name'},
      `Boundary of ${place(site.site, state.layer)}`,
      site.applied ? badge('good', 'by rows') : badge('keep', 'left whole')),
    h('div', {className: 'side before'},
      h('span', {className: 'only'}, 'Before'),
      launches(was.map((name) => [name])), costs(site, false)),
    h('div', {className: 'side'}, h('span', {className: 'only'}, 'After'),
      launches(steps.map((step) => opsOf(step).map(([name]) => name))),
      costs(site, true),
      leaves.length ? h('div', {className: 'costs'},
                        leaves.map(
                            (value) =>
                                h('span', {},
                                  `${value.op} ${lastPart(value.place)}: ${
                                      layoutText(value)}`))) :
                      ''),
  ];
}

function drawModule(group) {
  const ops = group.steps.flatMap(opsOf).map(([name, where]) => {
    const part = lastPart(where);
    return part === name ? name : `${name} ${part}`;
  });
  const kinds = [...new Set(group.steps.flatMap(opsOf).map(([name]) => name))];
  const notes =
      [...new Set(group.steps.map((step) => step.note).filter(Boolean))];
  const us = timeOf(group.steps);
  return h(
      'div', {
        className:
            `module ${group.moves ? 'communication' : familyOf(group.module)}`
      },
      h('span', {className: 'name'},
        group.moves ? kinds.join(', ') : moduleName(group.module)),
      h('span', {className: 'does'},
        ops.join(', ') + (notes.length ? ` (${notes.join('; ')})` : '')),
      h('span', {className: 'us'}, us === null ? '' : `${time(us)} est.`));
}

function drawDiagram() {
  const kind = kindOf(variant(), state.layer);
  const groups = groupSteps(kind);
  fill(
      'diagram',
      h('div', {className: 'heading'}, 'Before',
        h('span', {className: 'sub'},
          'plain tensor parallelism, separate kernels')),
      h('div', {className: 'heading'}, 'After',
        h('span', {className: 'sub'}, 'this plan')),
      groups.flatMap(
          (group) =>
              (group.site ? drawBoundary(kind, group) : [drawModule(group)])));
}

function startStack() {
  const strip = byId('strip');
  arrowKeys(strip, () => [...strip.children], (i) => {
    chooseLayer([-1, ...layersOf(variant())][i]);
    strip.children[i].focus();
  });
  drawers.push(drawStrip, drawDiagram);
}
