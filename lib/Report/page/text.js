// Numbers, names and elements: what all parts of the page share.

const numbers = JSON.parse(document.getElementById('numbers').textContent);

/** An element with attributes and children; text is never read as markup. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on'))
      element.addEventListener(name.slice(2), value);
    else if (name.startsWith('--') || name === 'width' || name === 'left')
      element.style.setProperty(name, value);
    else
      element.setAttribute(
          name === 'className' ? 'class' : name, value === true ? '' : value);
  }
  element.append(...children.flat().filter(
      (c) => c !== undefined && c !== null && c !== ''));
  return element;
}

const byId = (id) => document.getElementById(id);
const fill = (id, ...children) => byId(id).replaceChildren(...children.flat());
const sum = (list) => list.reduce((a, b) => a + b, 0);
const count = (n, one, many) =>
    `${whole(n)} ${n === 1 ? one : many || `${one}s`}`;

function whole(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** Decimal units, as networks are rated. */
function bytes(n) {
  if (n === null || n === undefined) return '\u2013';
  for (const [unit, size] of [
           ['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3]])
    if (Math.abs(n) >= size) return `${(n / size).toFixed(1)}\u00a0${unit}`;
  return `${n}\u00a0B`;
}

function time(us) {
  if (us === null || us === undefined) return '\u2013';
  if (us < 0) return `\u2212${time(-us)}`;
  if (us >= 1e6) return `${(us / 1e6).toFixed(2)}\u00a0s`;
  if (us >= 1000) return `${(us / 1000).toFixed(2)}\u00a0ms`;
  return `${us.toFixed(us >= 100 ? 0 : 1)}\u00a0\u00b5s`;
}

function change(from, to) {
  const by = to - from;
  if (Math.abs(by) < 0.05) return 'no change';
  return `${by > 0 ? '+' : '\u2212'}${time(Math.abs(by))}`;
}

const share = (part, all) =>
    (all ? `${((100 * part) / all).toFixed(1)}\u00a0%` : '\u2013');

/** "@.o_proj" of layer 3: "layer.3.o_proj"; "@+1.": of the next one. */
function place(text, layer) {
  const found = /^@([+-]\d+)?\.(.*)$/.exec(text);
  return found ? `layer.${layer + Number(found[1] || 0)}.${found[2]}` : text;
}
const lastPart = (text) =>
    text.replace(/^layer\.(\d+|\*)\./, '').replace(/^@([+-]\d+)?\./, '');

/** [3, 4, 5, 9]: "3\u20135, 9". */
function ranges(layers) {
  const runs = [];
  for (const layer of layers) {
    const last = runs[runs.length - 1];
    if (last && last[1] === layer - 1)
      last[1] = layer;
    else
      runs.push([layer, layer]);
  }
  // Every second layer is another kind in models with windows: too many runs.
  const every = layers.length > 3 &&
      layers.every((l, i) => !i || l - layers[i - 1] === 2);
  if (every)
    return `${layers[0]}, ${layers[1]}, \u2026 ${layers[layers.length - 1]}`;
  return runs.map(([a, b]) => (a === b ? `${a}` : `${a}\u2013${b}`)).join(', ');
}

const layersText = (layers) =>
    `${layers.length === 1 ? 'layer' : 'layers'} ${ranges(layers)}`;

/** Parts of a layer to families: those have a lane, a colour and a name. */
const families = {
  communication: ['Communication', ['boundary']],
  norm: [
    'Norms, residual',
    [
      'input_norm', 'post_attn_norm', 'qk_norm', 'final_norm', 'residual',
      'pre_mlp_norm', 'post_mlp_norm', 'mlp_norm'
    ]
  ],
  projection: ['Projections', ['qkv', 'o_proj', 'latent_proj']],
  attention: ['Attention', ['attention_core', 'rope', 'kv_store', 'indexer']],
  experts: ['MLP, experts', ['mlp', 'experts', 'router', 'shared_experts']],
  other: ['Other', []],
  unplaced: ['Not assigned', ['not assigned']],
};
function familyOf(module) {
  for (const [family, [, modules]] of Object.entries(families))
    if (modules.includes(module)) return family;
  return 'other';
}
const moduleNames = {
  qkv: 'Q, K, V projections',
  rope: 'RoPE',
  qk_norm: 'norms of Q, K',
  kv_store: 'KV cache',
  attention_core: 'attention core',
  o_proj: 'output projection',
  latent_proj: 'latent projections',
  input_norm: 'input norm',
  post_attn_norm: 'norm behind attention',
  mlp: 'MLP',
  experts: 'experts',
  shared_experts: 'shared experts',
  router: 'router',
  residual: 'residual add',
  logits: 'logits',
  boundary: 'boundary',
  final_norm: 'final norm',
  embedding: 'embedding',
  lm_head: 'logits product',
  step_inputs: 'inputs of the step',
  sampling: 'sampling',
  indexer: 'indexer',
};
const moduleName = (module) => moduleNames[module] || module.replace(/_/g, ' ');
const collectives = [
  'all_reduce', 'reduce_scatter', 'all_gather', 'broadcast', 'dispatch',
  'combine'
];
const isCollective = (kind) => collectives.includes(kind);
const familyOfOp = (kind) => isCollective(kind) ? 'communication' :
    ['add', 'norm', 'norm_by'].includes(kind)   ? 'norm' :
                                                  'other';
/** What an estimate rests on, as the cost model tags it. */
const bases = {
  measured: 'from a measured table',
  interpolated: 'interpolated in a measured table',
  formula: 'by a formula'
};
const certainties = {
  high: 'sure',
  medium: 'fairly sure',
  low: 'not sure'
};

/** What crosses to the next reader: rows and sums. */
function layoutText(value) {
  const [rows, ...rest] = value.layout;
  let text = rows === undefined ? 'one number' :
      rows === 'whole'          ? 'all rows on every rank' :
                                  `own rows (${rows})`;
  const split = rest.filter((dim) => dim !== 'whole');
  if (split.length) text += `, features or heads: ${split.join(', ')}`;
  if (value.owes.length) text += `, owes the sum over ${value.owes.join(', ')}`;
  return text;
}

/** A table; a column is [heading, isNumber]. Cells are text or nodes. */
function table(caption, columns, rows, totals = []) {
  const row = (cells, className) => h(
      'tr', {className},
      cells.map(
          (cell, i) => h('td', {className: columns[i][1] && 'number'}, cell)));
  return h(
      'table', {}, h('caption', {}, caption),
      h('thead', {},
        h('tr', {},
          columns.map(
              ([name, isNumber]) =>
                  h('th', {scope: 'col', className: isNumber && 'number'},
                    name)))),
      h('tbody', {}, rows.map((cells) => row(cells)),
        totals.map((cells) => row(cells, 'total'))));
}

/** One line of bars: parts are [width, family, isStriped, title]. */
function barLine(name, parts, largest, value) {
  return [
    h('span', {className: 'name'}, name),
    h('span', {className: 'bar', 'aria-hidden': 'true'},
      parts.map(([size, family, striped]) => h('span', {
                  className: `filled ${family}${striped ? ' striped' : ''}`,
                  width: `${(100 * size) / Math.max(largest, 1e-9)}%`
                }))),
    h('span', {className: 'value'}, value)
  ];
}

function fact(name, number, detail) {
  return h(
      'div', {className: 'fact'}, h('div', {className: 'name'}, name),
      h('div', {className: 'number'}, number),
      h('div', {className: 'detail'}, detail));
}

const badge = (kind, text) => h('span', {className: `badge ${kind}`}, text);
