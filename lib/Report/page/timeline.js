// One layer in time: a lane for each family of modules. Measured where a run
// was recorded, otherwise as the cost model estimates the plan's steps.

const timeline = {
  measured: false,
  events: [],
  chosen: 0,
  pauses: 0,
  end: 0
};
// What an attention is drawn with, whose time no plan tells: a part of the
// rest.
const unknownShare = 0.06;

function measuredLayer() {
  const layers = numbers.run.timeline.layers;
  const wanted = state.layer;
  return layers.find((each) => each.layer === wanted) ||
      layers.reduce(
          (best, each) =>
              (Math.abs(each.layer - wanted) < Math.abs(best.layer - wanted) ?
                   each :
                   best));
}

function measuredEvents() {
  const {names} = numbers.run.timeline;
  const own = measuredLayer();
  const first =
      own.events.length ? Math.min(...own.events.map((event) => event.at)) : 0;
  // What stands behind the layers starts long after what stands before them:
  // long pauses are drawn short.
  let cut = 0;  // ns
  let end = 0;
  const pause = 50e3;
  timeline.pauses = 0;
  return own.events.map((event) => {
    const at = event.at - first;
    if (at - end > pause) {
      cut += at - end - pause / 10;
      timeline.pauses += 1;
    }
    end = Math.max(end, at + event.ns);
    const facts = [
      [
        'Part',
        event.place ? `${event.place} (${moduleName(event.module)})` :
                      'not assigned'
      ],
      ['Boundary', event.boundary], ['Kernel', names[event.name]],
      ['Kind', event.family.replace(/_/g, ' ')],
      [
        'Time',
        event.wait ?
            `${time(event.ns / 1000)}: ${
                time(event.wait / 1000)} waiting for other ranks, ${
                time((event.ns - event.wait) / 1000)} moving (told apart by ${
                event.basis.replace(/_/g, ' ')})` :
            time(event.ns / 1000)
      ],
      [
        'Begins',
        `${time(at / 1000)} after the layer's first kernel, stream ${
            event.stream}`
      ],
      ['Why', `${names[event.why]} (${certainties[event.sure]})`]
    ];
    return {
      at: (at - cut) / 1000,
      us: event.ns / 1000,
      family: familyOf(event.module),
      label: event.place ? lastPart(event.place) : names[event.name],
      wait: (event.wait || 0) / event.ns,
      facts
    };
  });
}

function estimatedEvents() {
  const kind = kindOf(variant(), state.layer);
  if (!kind.steps.length || !kind.steps[0].us) return [];
  const steps = kind.steps.map(
      (step) =>
          ({step, begin: step.begin[state.point], us: step.us[state.point]}));
  const nominal = unknownShare *
      Math.max(1, ...steps.map(({begin, us}) => begin + (us || 0)));
  let moved = 0;
  return steps.map(({step, begin, us}) => {
    const ops =
        opsOf(step).map(([name, where]) => `${name} ${lastPart(where)}`);
    const isMoving = opsOf(step).some(([name]) => isCollective(name));
    const facts = [
      [
        'Part', `${place(step.place, state.layer)} (${moduleName(step.module)})`
      ],
      ['Boundary', step.boundary && place(step.boundary, state.layer)],
      [
        'Does',
        ops.join(', ') + (step.body ? ' in one kernel' : '') +
            (step.note ? ` (${step.note})` : '')
      ],
      [
        'Time',
        us === null ?
            'not estimated: it depends on what is cached, or on the routing, which no plan says' :
            `${time(us)}, ${step.source[state.point]}`
      ],
      [
        'Begins',
        `${time(begin)} after the layer's first step, stream ${step.stream}`
      ]
    ];
    const event = {
      at: begin + moved,
      us,
      family: isMoving ? 'communication' : familyOf(step.module),
      label: lastPart(step.place),
      wait: 0,
      facts,
      nominal
    };
    if (us === null) moved += nominal;
    return event;
  });
}

const describe = (event) => event.facts.filter(([, text]) => text)
                                .map(([name, text]) => `${name}: ${text}`)
                                .join('. ');

function chooseKernel(index) {
  timeline.chosen = index;
  const lanes = byId('lanes');
  for (const element of lanes.querySelectorAll('[aria-selected="true"]'))
    element.setAttribute('aria-selected', 'false');
  const event = timeline.events[index];
  if (!event) {
    fill('kernel', h('p', {}, 'There is nothing to show here.'));
    lanes.removeAttribute('aria-activedescendant');
    return;
  }
  const element = byId(`kernel-${index}`);
  element.setAttribute('aria-selected', 'true');
  lanes.setAttribute('aria-activedescendant', element.id);
  fill(
      'kernel',
      h('dl', {},
        event.facts.filter(([, text]) => text)
            .flatMap(
                ([name, text]) => [h('dt', {}, name), h('dd', {}, text)])));
}

function drawAxis() {
  const {end} = timeline;
  const steps = [1, 2, 5]
                    .flatMap(
                        (n) => [0.01, 0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6].map(
                            (size) => n * size))
                    .sort((a, b) => a - b);
  // As many as there is room for.
  const most = Math.max(1, Math.floor(byId('axis').clientWidth / 90));
  const step = steps.find((size) => end / size <= most) || end;
  const ticks = [];
  for (let at = 0; at <= end * 1.0001; at += step)
    ticks.push(
        h('span',
          {className: at > 0.97 * end && 'end', left: `${(100 * at) / end}%`},
          at ? time(at) : '0'));
  fill('axis', ticks);
}

function drawTimeline() {
  const {run} = numbers;
  const measured = timeline.measured && run && run.timeline;
  timeline.events = measured ? measuredEvents() : estimatedEvents();
  const width = (event) => (event.us === null ? event.nominal : event.us);
  const end = Math.max(
      1e-3, ...timeline.events.map((event) => event.at + width(event)));
  const shown = Object.entries(families).filter(
      ([family]) => timeline.events.some((event) => event.family === family));
  fill(
      'lanes',
      shown.map(
          ([family, [name]]) => h(
              'div',
              {className: `lane ${family}`, role: 'group', 'aria-label': name},
              h('span', {className: 'lane-name', 'aria-hidden': 'true'},
                h('i', {}), name),
              h('div', {className: 'track', role: 'presentation'},
                timeline.events.map((event, i) => {
                  if (event.family !== family) return '';
                  const part = (100 * width(event)) / end;
                  return h(
                      'div', {
                        className:
                            `event${event.us === null ? ' unknown-time' : ''}`,
                        id: `kernel-${i}`,
                        role: 'option',
                        'aria-selected': 'false',
                        'aria-label': describe(event),
                        left: `${(100 * event.at) / end}%`,
                        width: `${part}%`,
                        onclick: () => chooseKernel(i)
                      },
                      event.wait > 0 ? h('span', {
                        className: 'wait',
                        width: `${100 * event.wait}%`
                      }) :
                                       '',
                      part > 6 && event.wait < 0.1 ?
                          h('span', {className: 'text', 'aria-hidden': 'true'},
                            event.label) :
                          '');
                })))));
  timeline.end = end;
  drawAxis();
  const which = state.layer < 0 ?
      'What is outside of layers' :
      `Layer ${measured ? measuredLayer().layer : state.layer}`;
  byId('timeline-text').textContent = measured ?
      `${which} as it ran: ${numbers.run.timeline.file}, pass ${
          numbers.run.timeline.pass}${
          numbers.run.timeline.tokens === null ?
              '' :
              `, ${
                  whole(numbers.run.timeline
                            .tokens)} tokens`}. Times were measured.` :
      timeline.events.length ?
      `${which} as the cost model estimates it at ${
          whole(point().tokens)} tokens: nothing here was measured. ${
          run ? '' : 'Give layline report a recording to see a run.'}` :
      `There are no estimates: ${numbers.estimates || 'nothing runs here'}.`;
  fill(
      'timeline-choice',
      run && run.timeline ?
          h('label', {}, 'Times ',
            h('select', {
              id: 'timeline-source',
              onchange: (event) => {
                timeline.measured = event.target.value === 'measured';
                drawTimeline();
                byId('timeline-source').focus();
              }
            },
              h('option', {value: 'measured', selected: measured},
                'measured in the run'),
              h('option', {value: 'estimated', selected: !measured},
                'estimated of this plan'))) :
          '',
      h('span', {className: 'legend'},
        timeline.events.some((event) => event.us === null) ?
            h('span', {}, h('i', {className: 'dashed'}),
              'time not estimated, drawn at a fixed width') :
            '',
        timeline.events.some((event) => event.wait > 0) ?
            h('span', {}, h('i', {className: 'waits'}),
              'waiting for other ranks') :
            '',
        measured && timeline.pauses ?
            h('span', {},
              `${
                  count(
                      timeline.pauses,
                      'pause')} of the device of more than 50 \u00b5s cut to 5 \u00b5s`) :
            '',
        h('span', {}, 'Arrow keys go from kernel to kernel.')));
  byId('kernel-list')
      .querySelector('.scroll')
      .replaceChildren(table(
          `${which}, ${count(timeline.events.length, 'kernel')}`,
          [['Begins', true], ['Time', true], ['Family'], ['Part'], ['What']],
          timeline.events.map(
              (event) =>
                  [time(event.at), time(event.us), families[event.family][0],
                   event.facts[0][1], event.facts[2][1]])));
  const longest = timeline.events.reduce(
      (best, event, i) =>
          (event.family === 'communication' &&
                   (best < 0 || width(event) > width(timeline.events[best])) ?
               i :
               best),
      -1);
  chooseKernel(Math.max(longest, 0));
}

function startTimeline() {
  addEventListener('resize', drawAxis);
  timeline.measured = Boolean(numbers.run && numbers.run.timeline);
  byId('lanes').addEventListener('keydown', (event) => {
    const last = timeline.events.length - 1;
    const order =
        timeline.events.map((each, i) => i)
            .sort(
                (a, b) =>
                    timeline.events[a].at - timeline.events[b].at || a - b);
    const at = order.indexOf(timeline.chosen);
    const to = {
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      Home: 0,
      End: last
    }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    chooseKernel(order[Math.min(Math.max(to, 0), last)]);
  });
  drawers.push(drawTimeline);
}
