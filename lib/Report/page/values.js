// A value, what it was made from and who reads it.

const values = {
  chosen: '',
  trail: []
};

/** Absolute names, so that a reader in the next layer is found there. */
function valuesAt(layer) {
  return kindOf(variant(), layer)
      .values.map(
          (value) => (
              {value, layer, key: `${value.op} ${place(value.place, layer)}`}));
}

const layerOfPlace = (text) => {
  const found = /^layer\.(\d+)\./.exec(text);
  return found ? Number(found[1]) : -1;
};
const valueNames = {
  input: 'input',
  weight: 'weight',
  cache: 'cache',
  returned: 'returned as'
};

function valueLabel({value, layer}) {
  const name = value.name ? place(value.name, layer) : '';
  const made = `${value.op} ${place(value.place, layer)}`;
  return name && value.op !== 'input' && name !== place(value.place, layer) ?
      `${name} (${made})` :
      made;
}

function jump(key) {
  if (values.chosen)
    values.trail.push([state.variant, state.layer, values.chosen]);
  values.chosen = key;
  const layer = layerOfPlace(key.split(' ')[1]);
  if (layer !== state.layer)
    chooseLayer(layer);
  else
    drawValues();
}

/** A maker or reader: a button if it makes a value that can be shown. */
function neighbour([kind, where], layer) {
  const full = place(where, layer);
  const key = `${kind} ${full}`;
  const text = `${valueNames[kind] || kind} ${full}`;
  const known = valuesAt(layerOfPlace(full)).some((each) => each.key === key);
  return h(
      'li', {},
      known ? h('button', {
        type: 'button',
        onclick: () => {
          jump(key);
          byId('value').focus();
        }
      },
                text) :
              h('span', {className: 'plain'}, text));
}

function drawValues() {
  const list = valuesAt(state.layer);
  let chosen = list.find((each) => each.key === values.chosen);
  if (!chosen) {
    // The same value of another layer, else one that a boundary makes.
    const part = lastPart(values.chosen.split(' ')[1] || '');
    chosen =
        list.find(
            (each) => each.key.split(' ')[0] === values.chosen.split(' ')[0] &&
                lastPart(each.key.split(' ')[1]) === part) ||
        list.find((each) => each.value.read_by.length > 1) || list[0];
  }
  fill(
      'value',
      list.map(
          (each) =>
              h('option', {value: each.key, selected: each === chosen},
                valueLabel(each))));
  byId('value-back').disabled = !values.trail.length;
  if (!chosen) {
    fill('value-panel', h('p', {}, 'No value is made here.'));
    return;
  }
  values.chosen = chosen.key;
  const {value, layer} = chosen;
  const memories = {
    symmetric: 'symmetric: peers read or write it',
    register: 'inside of one fused kernel',
    activation: 'activation',
    input: 'bound by the caller',
    output: 'output'
  };
  const side = (title, entries, none) =>
      h('div', {}, h('h3', {}, title),
        h('ul', {},
          entries.length ? entries.map((each) => neighbour(each, layer)) :
                           h('li', {}, h('span', {className: 'plain'}, none))));
  const row = (name, text) =>
      (text ? [h('dt', {}, name), h('dd', {}, text)] : []);
  fill(
      'value-panel', side('Made from', value.from, 'nothing: it is given'),
      h('div', {className: 'value-card'}, h('h3', {}, valueLabel(chosen)),
        h('dl', {}, row('Made by', `${value.op} ${place(value.place, layer)}`),
          row('Shape', `${value.shape} ${value.dtype}, of all ranks together`),
          row('Rows', layoutText(value)),
          row('Layout',
              value.layout.length ? `[${value.layout.join(', ')}]` :
                                    'one number'),
          row('Owed sums',
              value.owes.length ?
                  `over ${value.owes.join(', ')}: every rank holds an addend` :
                  'none'),
          row('Memory',
              `${memories[value.memory]}${
                  value.bytes ? `, ${bytes(value.bytes)} of a rank at ${
                                    whole(variant().max)} tokens` :
                                ''}`))),
      side(
          `Read by ${count(value.read_by.length, 'step')}`, value.read_by,
          'nobody'));
}

function startValues() {
  byId('value').addEventListener('change', (event) => {
    values.trail.push([state.variant, state.layer, values.chosen]);
    values.chosen = event.target.value;
    drawValues();
  });
  byId('value-back').addEventListener('click', () => {
    const [own, layer, key] = values.trail.pop();
    values.chosen = key;
    state.layer = layer;
    if (own === state.variant)
      draw();
    else
      chooseVariant(own);
  });
  drawers.push(drawValues);
}
