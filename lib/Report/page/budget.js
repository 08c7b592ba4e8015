// What the plan of the page would save of the run: six lines that are never
// mixed, each microsecond in one of them.

const lineNames = {
  repeated_work:
      ['Work no longer repeated', 'every rank did all rows, now its own'],
  copies: ['Copies', 'of values to and from a collective\u2019s memory'],
  communication:
      ['Communication', 'measured transfers against other collectives'],
  layout_conversion:
      ['Layout conversion', 'slices, joins, gathers of a second value'],
  fusion: ['Fusion', 'the same sharding and transport in one kernel'],
  transport: ['Transport', 'the fused kernel moves data another way'],
};
const basisNames = {
  measured: 'measured here',
  table: 'a measured table',
  formula: 'a formula'
};
const signed = (us) =>
    (Math.abs(us) < 0.05 ? '0' :
                           `${us > 0 ? '+' : '\u2212'}${time(Math.abs(us))}`);
// Sums hold under each assumption; a single line need not be the largest with
// the least costs.
const assumed = ([, low, high]) => `${signed(low)}, ${signed(high)}`;
const between = ([, low, high]) =>
    `${signed(Math.min(low, high))} to ${signed(Math.max(low, high))}`;

function budgetLines(pass) {
  const largest =
      Math.max(1e-9, ...pass.lines.map((line) => Math.abs(line.gain[0])));
  const bar = (us) => h('span', {
    className: `inline-bar filled ${us < 0 ? 'unplaced striped' : 'experts'}`,
    'aria-hidden': 'true',
    width: `${(100 * Math.abs(us)) / largest}%`
  });
  const rows = pass.lines.map(
      (line) => [
          [
            lineNames[line.line][0],
            h('span', {className: 'sub'}, lineNames[line.line][1])
          ],
          whole(line.kernels), time(line.measured), time(line.after[0]),
          [signed(line.gain[0]), bar(line.gain[0])], assumed(line.gain),
          line.kernels || line.sources.length ?
              [
                basisNames[line.basis],
                h('span', {className: 'sub'}, line.sources.join('; '))
              ] :
              '\u2013']);
  const total = (name) => sum(pass.lines.map(
      (line) => (Array.isArray(line[name]) ? line[name][0] : line[name])));
  return table(
      'Where the time of one pass goes, and what takes its place; a gain below zero is a cost',
      [
        ['Line'], ['Kernels', true], ['Measured', true], ['After', true],
        ['Gain', true], ['with low, high costs', true],
        ['What the later figure rests on']
      ],
      rows, [[
        'All', whole(total('kernels')), time(total('measured')),
        time(total('after')), signed(pass.gain[0]), assumed(pass.gain), ''
      ]]);
}

function budgetBoundaries(pass) {
  return table(
      'By boundary, sums over the layers',
      [
        ['Boundary'], ['Count', true], ['Was \u2192 becomes'],
        ['Measured', true], ['Gain', true], ['with low, high costs', true],
        ['Waiting, in no line', true]
      ],
      pass.boundaries.map(
          (each) =>
              [each.place, whole(each.count),
               [
                 each.was || 'nothing changes',
                 each.becomes && each.becomes !== each.was ?
                     h('span', {className: 'sub'}, `\u2192 ${each.becomes}`) :
                     '',
                 each.incomplete ?
                     h('span', {className: 'sub'},
                       `${
                           whole(
                               each.incomplete)} incomplete: left as they are`) :
                     ''
               ],
               time(each.measured), signed(each.gain[0]), assumed(each.gain),
               time(each.waiting)]));
}

function drawBudget(index) {
  const {budget} = numbers;
  const pass = budget.passes[index];
  const share1 =
      pass.busy ? pass.busy / Math.max(1e-9, pass.busy - pass.gain[0]) : 1;
  const scroll = (name, content) =>
      h('div',
        {className: 'scroll', tabindex: 0, role: 'region', 'aria-label': name},
        content);
  fill(
      'budget-parts',
      h('div', {className: 'facts', id: 'budget-facts'},
        fact(
            'Gain of a pass', signed(pass.gain[0]),
            `${between(pass.gain)}, of ${
                time(pass.busy)} of device time: \u00d7${share1.toFixed(3)}`),
        fact(
            'At most', `\u00d7${pass.bound.this_plan.toFixed(3)}`,
            `if all that this plan changes took no time; \u00d7${
                pass.bound.any_plan.toFixed(
                    3)} if all did but products, attention and waiting`),
        fact(
            'Unchanged', time(pass.bound.unchanged),
            `products and experts ${time(pass.bound.products)}, attention ${
                time(pass.bound.attention)}`),
        fact('Waiting', time(pass.waiting), 'for other ranks; in no line')),
      h('h3', {}, 'Lines'), scroll('Lines of the budget', budgetLines(pass)),
      h('h3', {}, 'Baselines of all boundaries'),
      h('div', {className: 'bars'},
        [
          ['as measured', 0], ['this sharding, a kernel for each thing', 1],
          ['this plan', 2]
        ]
            .flatMap(
                ([name, i]) => barLine(
                    name, [[pass.here[i], 'communication']],
                    Math.max(...pass.here),
                    `${time(pass.here[i])}${
                        pass.planner ? `  (planner: ${time(pass.planner[i])})` :
                                       ''}`))),
      h('h3', {}, 'Boundaries'),
      scroll('Boundaries of the budget', budgetBoundaries(pass)),
      h('ul', {className: 'notes'}, pass.notes.map((note) => h('li', {}, note)),
        pass.copies_left ?
            h('li', {},
              `${time(pass.copies_left)} of copies stay, since the collective that they serve stays.`) :
            '',
        budget.partial_passes ?
            h('li', {},
              `${count(budget.partial_passes, 'pass', 'passes')} of ${
                  time(
                      budget
                          .partial_us)} were recorded in part and are left out.`) :
            ''));
}

function startBudget() {
  const {budget} = numbers;
  if (!budget) return;
  byId('budget').hidden = false;
  if (budget.refused) {
    byId('budget-text').textContent = `There is no budget: ${budget.refused}`;
    return;
  }
  byId('budget-text').textContent =
      `The recorded run against the plan of this page, on ${
          budget.target}, as layline trace budget counts. ` +
      'Each measured microsecond is in one line. What was not measured here is given as a range.';
  if (!budget.passes.length) {
    fill('budget-parts', h('p', {}, 'No pass was recorded from begin to end.'));
    return;
  }
  fill(
      'budget-choice',
      h('label', {}, 'Passes ',
        h('select', {
          id: 'budget-pass',
          onchange: (event) => drawBudget(Number(event.target.value))
        },
          budget.passes.map(
              (pass, i) =>
                  h('option', {value: i},
                    `${pass.kind}, ${count(pass.tokens, 'token')}, ${
                        count(pass.passes, 'pass', 'passes')}`)))));
  drawBudget(0);
}
