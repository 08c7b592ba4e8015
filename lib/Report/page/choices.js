// What is shown: token range, tokens of a step, layer. Every part of the page
// that depends on them is drawn anew when one changes.

const state = {
  variant: 0,
  point: 0,
  layer: -1
};
const drawers = [];
const draw = () => drawers.forEach((drawer) => drawer());

const variant = () => numbers.variants[state.variant];
const layersOf = (own) => own.layers.map(([layer]) => layer);
/** Steps, sites and values of a layer; -1: of what is outside of layers. */
function kindOf(own, layer) {
  const found = own.layers.find(([number]) => number === layer);
  return found ? own.kinds[found[1]] : own.outside;
}
const point = () => variant().points[state.point];

/** Arrow keys move among elements of which one is in the tab order. */
function arrowKeys(container, items, choose) {
  container.addEventListener('keydown', (event) => {
    const list = items();
    const at = list.findIndex((item) => item === document.activeElement);
    const last = list.length - 1;
    const to = {
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      Home: 0,
      End: last
    }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    choose(Math.min(Math.max(to, 0), last));
  });
}

function chooseVariant(index) {
  if (index === state.variant) return;
  state.variant = index;
  state.point = Math.floor((variant().points.length - 1) / 2);
  if (state.layer >= 0 && !layersOf(variant()).includes(state.layer))
    state.layer = -1;
  draw();
}

function chooseLayer(layer) {
  state.layer = layer;
  draw();
}

function drawChoices() {
  const own = variant();
  const hadFocus = byId('variants').contains(document.activeElement);
  fill(
      'variants',
      numbers.variants.map(
          (each, i) =>
              h('span', {
                className: 'segment',
                role: 'radio',
                tabindex: i === state.variant ? 0 : -1,
                'aria-checked': i === state.variant ? 'true' : 'false',
                onclick: () => chooseVariant(i)
              },
                each.min === each.max ?
                    whole(each.min) :
                    `${whole(each.min)}\u2013${whole(each.max)}`)));
  if (hadFocus) byId('variants').children[state.variant].focus();
  fill(
      'tokens',
      own.points.map(
          (each, i) =>
              h('option', {value: i, selected: i === state.point},
                whole(each.tokens))));
  fill(
      'layer',
      h('option', {value: -1, selected: state.layer < 0}, 'outside of layers'),
      layersOf(own).map(
          (layer) =>
              h('option', {value: layer, selected: layer === state.layer},
                String(layer))));
}

function startChoices() {
  // The range with the most tokens, in the middle of the stack: what a rewrite
  // is made for.
  const rewritten = numbers.variants.findLastIndex((own) => own.applied > 0);
  state.variant = rewritten >= 0 ? rewritten : numbers.variants.length - 1;
  const ran =
      numbers.run && numbers.run.timeline && numbers.run.timeline.tokens;
  const fitting =
      numbers.variants.findIndex((own) => own.min <= ran && ran <= own.max);
  if (ran && fitting >= 0) state.variant = fitting;
  state.point = Math.floor((variant().points.length - 1) / 2);
  if (ran) {
    const distance = (each) => Math.abs(Math.log(each.tokens / ran));
    state.point = variant().points.reduce(
        (best, each, i, all) =>
            (distance(each) < distance(all[best]) ? i : best),
        0);
  }
  const layers = layersOf(variant());
  state.layer = layers.length ? layers[Math.floor(layers.length / 2)] : -1;

  const radios = byId('variants');
  arrowKeys(radios, () => [...radios.children], (i) => {
    chooseVariant(i);
    radios.children[i].focus();
  });
  byId('tokens').addEventListener('change', (event) => {
    state.point = Number(event.target.value);
    draw();
  });
  byId('layer').addEventListener(
      'change', (event) => chooseLayer(Number(event.target.value)));

  byId('theme').addEventListener('change', (event) => {
    const theme = event.target.value;
    if (theme === 'system')
      delete document.documentElement.dataset.theme;
    else
      document.documentElement.dataset.theme = theme;
  });
  fill(
      'sections',
      [...document.querySelectorAll('main > section[id]')]
          .filter((section) => section.id !== 'overview' && !section.hidden)
          .map((section) => h('li', {}, h('a', {href: `#${section.id}`}, {
                                stack: 'Stack',
                                timeline: 'Timeline',
                                boundaries: 'Boundaries',
                                decisions: 'Decisions',
                                memory: 'Memory',
                                values: 'Values',
                                run: 'Run',
                                budget: 'Budget',
                                proofs: 'Proofs',
                                about: 'Sources'
                              }[section.id]))));
  drawers.push(drawChoices);
}
