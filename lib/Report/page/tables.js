// Boundaries, decisions, memory and proofs.

/** Sites that are the same in several layers, together. */
function groupSites(own) {
  const groups = new Map();
  const add = (site, layer) => {
    const key = JSON.stringify([lastPart(site.site), site]);
    if (!groups.has(key)) groups.set(key, {site, layers: []});
    groups.get(key).layers.push(layer);
  };
  own.outside.sites.forEach((site) => add(site, -1));
  for (const [layer, kind] of own.layers)
    own.kinds[kind].sites.forEach((site) => add(site, layer));
  return [...groups.values()];
}

const whereText = (group) =>
    (group.layers[0] < 0 ? 'outside of layers' : layersText(group.layers));

function drawBoundaries() {
  const own = variant();
  const groups = groupSites(own);
  const now = point();
  byId('boundaries-text').textContent = groups.length ?
      `At ${
          whole(
              now.tokens)} tokens, of the rank that sends most. Fewer bytes are not less time: bytes explain a plan, times choose it.` :
      'Nothing is summed across ranks in this plan.';
  fill(
      'baselines',
      now.today === undefined ?
          [] :
          [
            [
              'All boundaries of a step: all_reduce, separate kernels',
              now.today
            ],
            ['this sharding, a kernel for each thing', now.unfused],
            ['this plan', now.chosen]
          ]
              .flatMap(
                  ([name, us]) => barLine(
                      name, [[us, 'communication']],
                      Math.max(now.today, now.unfused, now.chosen),
                      `${time(us)}${
                          us === now.today ?
                              '' :
                              `  (${change(now.today, us)})`}`)));
  const price = (group) => group.site.price[state.point];
  const largest = Math.max(
      1e-9,
      ...groups.filter(price).map(
          (group) => Math.max(
              price(group).today_us || 0, price(group).chosen_us || 0)));
  const bar = (us) => h('span', {
    className: 'inline-bar communication filled',
    'aria-hidden': 'true',
    width: `${(100 * us) / largest}%`
  });
  const rows = groups.map((group) => {
    const {site} = group;
    const [ringBefore, ringAfter, switchBefore, switchAfter] =
        site.bytes[state.point] || [];
    const cost = price(group);
    return [
      [lastPart(site.site), h('span', {className: 'sub'}, whereText(group))],
      whole(group.layers.length),
      [
        site.was.join(' + '),
        h('span', {className: 'sub'},
          site.applied || site.became.join() !== site.was.join() ?
              `\u2192 ${site.became.join(' + ')}` :
              'unchanged')
      ],
      bytes(ringBefore), bytes(ringAfter), bytes(switchBefore),
      bytes(switchAfter),
      cost ? [time(cost.today_us), bar(cost.today_us)] : '\u2013',
      cost ? [time(cost.chosen_us), bar(cost.chosen_us)] : '\u2013'
    ];
  });
  const total = (index) => sum(groups.map(
      (group) =>
          (group.site.bytes[state.point] || [])[index] * group.layers.length ||
          0));
  const times = (name) =>
      (groups.every(price) ?
           time(sum(groups.map(
               (group) => price(group)[name] * group.layers.length))) :
           '\u2013');
  fill(
      'boundary-table',
      groups.length ?
          table(
              'Bytes sent and time, of one boundary; the last line of all',
              [
                ['Boundary'], ['Count', true], ['Was \u2192 became'],
                ['Ring before', true], ['after', true], ['Switch before', true],
                ['after', true], ['Time before', true], ['after', true]
              ],
              rows, [[
                'All', whole(sum(groups.map((group) => group.layers.length))),
                '', bytes(total(0)), bytes(total(1)), bytes(total(2)),
                bytes(total(3)), times('today_us'), times('chosen_us')
              ]]) :
          '');
}

function drawDecisions() {
  const status = byId('decision-status').value;
  const words =
      byId('decision-words').value.toLowerCase().split(/\s+/).filter(Boolean);
  const cards = [];
  for (const own of numbers.variants)
    for (const group of groupSites(own)) {
      const {site} = group;
      const name = `${lastPart(site.site)}, ${whereText(group)}, ${
          whole(own.min)} to ${whole(own.max)} tokens`;
      const form = site.became.join(' + ');
      const text = `${name} ${form} ${site.reason}`.toLowerCase();
      if (status !== 'all' && site.applied !== (status === 'applied')) continue;
      if (!words.every((word) => text.includes(word))) continue;
      cards.push(
          h('div', {className: 'decision'},
            h('div', {className: 'head'}, h('b', {}, name),
              site.applied ? badge('good', 'by rows') :
                             badge('keep', 'left whole'),
              h('code', {}, form)),
            h('p', {}, site.reason || 'no reason is written in the plan')));
    }
  byId('decision-count').textContent =
      `${count(cards.length, 'decision')} shown`;
  fill('decision-list', cards);
}

function drawChains() {
  const chains = numbers.plan.replication || [];
  fill(
      'chains', chains.length ? h('h3', {}, 'Weights that could be whole') : [],
      chains.map(
          (chain) => h(
              'div', {className: 'decision'},
              h('div', {className: 'head'},
                h('b', {}, `weights of ${chain.count} \u00d7 ${chain.chain}`),
                chain.taken ? badge('good', 'whole') : badge('keep', 'split')),
              h('p', {},
                `${chain.reason}; every rank would hold ${
                    bytes(chain.whole - chain.split)} more of them whole`))));
}

function drawDecisionText() {
  byId('decisions-text').textContent = numbers.has_decisions ?
      numbers.variants
          .map(
              (own) => `${whole(own.min)}\u2013${whole(own.max)} tokens: ${
                  own.boundaries}, ${own.reason}`)
          .join('. ') :
      'There is no decisions.json beside the plan: reasons are those of the plan itself, prices are missing.';
}

function drawMemory() {
  const own = variant();
  const {memory} = numbers;
  const cached = Math.max(0, Number(byId('cached').value) || 0);
  const caches = memory.cache_bytes_per_token * cached;
  const arenas = own.arenas.filter((arena) => arena.id !== 'register');
  const work = sum(arenas.map((arena) => arena.bytes));
  const parts = [
    ['Weights', memory.weight_bytes, 'projection'],
    [`Working memory at ${whole(own.max)} tokens`, work, 'norm'],
    [`Caches of ${whole(cached)} tokens`, caches, 'attention']
  ];
  const all = sum(parts.map(([, size]) => size));
  byId('memory-text').textContent =
      `On the rank that holds most. Working memory is what the plan's arenas take at the most tokens of the range; ${
          arenas
              .map(
                  (arena) => `${arena.id}: ${
                      bytes(arena.bytes)}, live at once ${bytes(arena.bound)}`)
              .join('; ')}.`;
  fill(
      'memory-bar',
      parts.flatMap(
          ([name, size, family]) => barLine(
              name, [[size, family]], all,
              `${bytes(size)}  (${share(size, all)})`)),
      barLine(
          'In all', parts.map(([, size, family], i) => [size, family, i === 1]),
          all, bytes(all)));
  const weights = [...memory.weights].sort((a, b) => b.bytes - a.bytes);
  const largest = Math.max(1, ...weights.map((weight) => weight.bytes));
  fill(
      'memory-table',
      table(
          'Weights by name, * for every layer and expert',
          [
            ['Weight'], ['Count', true], ['Held'], ['Bytes', true],
            ['of weights', true]
          ],
          weights.map(
              (weight) =>
                  [h('code', {}, weight.name), whole(weight.count),
                   weight.whole ? badge('keep', 'whole on every rank') :
                                  'split',
                   [
                     bytes(weight.bytes), h('span', {
                       className: 'inline-bar projection filled',
                       'aria-hidden': 'true',
                       width: `${(100 * weight.bytes) / largest}%`
                     })
                   ],
                   share(weight.bytes, memory.weight_bytes)])));
}

function drawProofs() {
  const {proof} = numbers;
  if (!proof) {
    byId('proofs-text').textContent =
        'There is no proof.json beside the plan. layline verify proves a plan anew.';
    return;
  }
  const bad = proof.proofs.filter((each) => !each.holds).length;
  byId('proofs-text').textContent = bad ?
      `${count(bad, 'proof')} of ${
          proof.proofs.length} failed: this plan must not be run.` :
      `All ${
          proof.proofs
              .length} hold. Each is an independent check; layline verify runs them again on the written plan.`;
  fill(
      'proof-table',
      table(
          'What was proved, and for what',
          [['Proof'], ['Result'], ['How'], ['Of what']],
          proof.proofs.map(
              (each) =>
                  [h('b', {}, each.name.replace(/_/g, ' ')),
                   each.holds ? badge('good', '\u2713 holds') :
                                badge('bad', '\u2717 fails'),
                   each.method, each.covers])),
      h('p', {className: 'lead'},
        'Digest of the proof: ', h('code', {}, proof.digest)));
}

function startTables() {
  byId('cached').value = Math.min(numbers.plan.max, 8192);
  byId('cached').addEventListener('input', drawMemory);
  byId('decision-status').addEventListener('change', drawDecisions);
  byId('decision-words').addEventListener('input', drawDecisions);
  drawDecisionText();
  drawDecisions();
  drawChains();
  drawProofs();
  drawers.push(drawBoundaries, drawMemory);
}
