// The recorded run: time by module, collectives with their waiting apart, and
// what is not as the plan says.

function drawRunFacts(run) {
  const busy = sum(run.devices.map((device) => device.busy));
  const roles = (names) => sum(run.devices.map(
      (device) => sum(names.map((name) => device.roles[name]))));
  const assigned = roles(['does', 'goes_on', 'beside']);
  const sure = sum(run.devices.map((device) => device.certainty.high));
  const wait = sum(run.collectives.map((each) => each.wait));
  const transfer = sum(run.collectives.map((each) => each.transfer));
  fill(
      'run-facts',
      fact(
          'Device time', time(busy / 1000),
          `${
              count(
                  sum(run.devices.map((device) => device.events)),
                  'event')} of ${count(run.devices.length, 'device')}${
              run.devices[0].name ? `, ${run.devices[0].name}` : ''}`),
      fact(
          'Assigned to the plan', share(assigned, busy),
          `${share(sure, busy)} with high certainty`),
      fact(
          'Collectives moved', time(transfer / 1000),
          `${share(transfer, busy)} of device time`),
      fact(
          'Collectives waited', time(wait / 1000),
          `${share(wait, busy)}: for other ranks, no cost of communication`),
      fact(
          'Of no known kind', share(roles(['unknown']), busy),
          `${share(roles(['extra']), busy)} known, but without a place`));
}

function passesTable(run) {
  const rows = run.passes.flatMap(
      (passes, device) => passes.map(
          (pass, i) =>
              [run.devices[device].file, whole(i), whole(pass.events),
               pass.tokens === null ? '\u2013' : whole(pass.tokens),
               pass.batch ?
                   `${pass.batch[0]} prefill, ${pass.batch[1]} decode` :
                   '\u2013',
               `${pass.layers} of ${pass.expected}`,
               `${pass.variant}, order: ${pass.order}`, whole(pass.missing),
               pass.whole ? 'whole' : badge('keep', 'a part')]));
  return table(
      'Forward passes that were found',
      [
        ['File'], ['Pass', true], ['Events', true], ['Tokens', true],
        ['Requests'], ['Layers'], ['Plan'], ['Steps without kernel', true],
        ['Recorded']
      ],
      rows);
}

function collectivesTable(run) {
  const longest =
      Math.max(1, ...run.collectives.map((each) => each.wait + each.transfer));
  const bar = (each) =>
      h('span', {className: 'bar', 'aria-hidden': 'true'}, h('span', {
          className: 'filled communication',
          width: `${(100 * each.transfer) / longest}%`
        }),
        h('span', {
          className: 'filled communication striped',
          width: `${(100 * each.wait) / longest}%`
        }));
  const padding = (each) =>
      (each.padding > 0 ?
           [
             bytes(each.padding),
             h('span', {className: 'sub'},
               `${whole(each.moved)} columns, the model has ${
                   whole(each.needed)}`)
           ] :
           'none known');
  return table(
      'Collectives of all layers; plain: moving, striped: waiting',
      [
        ['Place'], ['Kind'], ['Calls', true], ['Bytes a call', true],
        ['Moving', true], ['Waiting', true], ['Moving, waiting'],
        ['Cost model', true], ['Told apart by'], ['Padding', true]
      ],
      run.collectives.map(
          (each) =>
              [each.place, each.kind, whole(each.calls), bytes(each.bytes),
               time(each.transfer / 1000), time(each.wait / 1000), bar(each),
               each.model_us === undefined ? '\u2013' : time(each.model_us),
               each.basis
                   .map((basis) => ({
                          ranks: 'other ranks',
                          same_calls: 'calls of the same size',
                          model: 'the cost model',
                          none: 'nothing'
                        }[basis]))
                   .join(', '),
               padding(each)]));
}

function startRun() {
  const {run} = numbers;
  if (!run) return;
  byId('run').hidden = false;
  byId('run-text').textContent =
      `Every kernel of the recording is given its step of a plan by layline trace map. Mapped onto: ${
          run.onto}.`;
  drawRunFacts(run);
  const busy = sum(run.modules.map((each) => each.ns));
  const most = Math.max(1, ...run.modules.map((each) => each.ns));
  const scroll = (name, content) =>
      h('div',
        {className: 'scroll', tabindex: 0, role: 'region', 'aria-label': name},
        content);
  const parts = [
    h('h3', {}, 'Time by part of the model'),
    h('div', {className: 'bars', id: 'module-bars'},
      run.modules.flatMap(
          (each) => barLine(
              moduleName(each.module), [[each.ns, familyOf(each.module)]], most,
              `${time(each.ns / 1000)}  (${share(each.ns, busy)})`))),
    h('h3', {}, 'Collectives'), scroll('Collectives', collectivesTable(run)),
    h('h3', {}, 'Passes'), scroll('Passes', passesTable(run)),
    h('h3', {}, 'Not as expected')
  ];
  parts.push(
      run.deviations.length ?
          h('ul', {className: 'notes', id: 'deviations'},
            run.deviations.map(
                (each) =>
                    h('li', {},
                      `${run.devices.length > 1 ? `${each.file}, ` : ''}${
                          each.pass === null ? '' : `pass ${each.pass}: `}${
                          each.text}`))) :
                                               h('p', {id: 'deviations'},
                                                 'Nothing: every step has its kernels, and every kernel its place.'));
  if (run.waiting.length)
    parts.push(
        h('h3', {}, 'Waiting by rank'),
        scroll(
            'Waiting by rank',
            table(
                'Who waited',
                [['File'], ['Rank', true], ['Waiting', true], ['Moving', true]],
                run.waiting.map(
                    (each) =>
                        [each.file,
                         each.rank === null ? '\u2013' : whole(each.rank),
                         time(each.wait / 1000),
                         time(each.transfer / 1000)]))));
  if (run.unknown.length)
    parts.push(
        h('h3', {}, 'Kernels of no known kind'),
        scroll(
            'Kernels of no known kind',
            table(
                'By time', [['Name'], ['Events', true], ['Time', true]],
                run.unknown.map(
                    (each) =>
                        [h('code', {}, each.name), whole(each.events),
                         time(each.ns / 1000)]))));
  byId('run-parts').replaceChildren(...parts);
}
