// The head of the page, its notes, and the first drawing.

function drawOverview() {
  const {plan, proof, memory} = numbers;
  const mesh =
      plan.mesh.map(([axis, size]) => `${axis} ${size}`).join(' \u00d7 ');
  byId('title').textContent = plan.config;
  byId('subtitle').textContent =
      `${plan.model_type}, ${count(plan.layers, 'layer')}, ${plan.dtype}, on ${
          count(plan.ranks, 'rank')} (${mesh}) of ${plan.target}, for ${
          whole(plan.min)} to ${whole(plan.max)} tokens of a step`;
  const best = numbers.variants.findLast((own) => own.applied > 0) ||
      numbers.variants[numbers.variants.length - 1];
  const last = best.points[best.points.length - 1];
  const facts = [fact(
      'Boundaries by rows', `${whole(best.applied)} of ${whole(best.sites)}`,
      `at ${whole(best.min)} to ${whole(best.max)} tokens; ${
          count(numbers.variants.length, 'token range')} in all`)];
  if (last.today !== undefined)
    facts.push(fact(
        'Boundaries of a step',
        `${time(last.today)} \u2192 ${time(last.chosen)}`,
        `at ${whole(last.tokens)} tokens, estimated by the cost model, ${
            bases[last.confidence]}`));
  facts.push(fact(
      'Weights of a rank', bytes(memory.weight_bytes),
      `and ${bytes(memory.cache_bytes_per_token)} of caches for each token`));
  if (proof) {
    const holding = proof.proofs.filter((each) => each.holds).length;
    facts.push(fact(
        'Proofs', `${holding} of ${proof.proofs.length} hold`,
        'every one is listed below'));
  }
  if (numbers.run) {
    const busy = sum(numbers.run.devices.map((device) => device.busy));
    facts.push(fact(
        'Recorded run', time(busy / 1000),
        `of device time, ${numbers.run.devices[0].file}`));
  }
  if (numbers.budget && numbers.budget.passes && numbers.budget.passes.length) {
    const pass = numbers.budget.passes[0];
    facts.push(fact(
        'This plan would save', signed(pass.gain[0]).replace('+', ''),
        `${between(pass.gain)} of a pass of ${
            count(pass.tokens, 'token')}; see the budget`));
  }
  fill('facts', facts);
  fill(
      'assumptions', (plan.assumptions || []).map((text) => h('li', {}, text)));
}

function drawSources() {
  const list = [
    'Layers, steps, layouts, owed sums, memory, bytes and reasons are read from plan.json, which the runtime executes. Bytes are its expressions, of the rank that sends most.',
    numbers.has_decisions ?
        'Times of boundaries before and after are the planner\u2019s, from decisions.json: by the cost model, each tagged measured (a row of its tables), interpolated or formula.' :
        '',
    numbers.has_decisions ?
        'A boundary\u2019s price has in it the small products that its form lets run by rows, a router\u2019s for example: in both forms, so the difference is the boundary\u2019s own. The timeline shows such products as steps of their own.' :
        '',
    numbers.estimates ?
        `Steps have no estimates: ${numbers.estimates}.` :
        'Times of single steps are the cost model\u2019s for the first rank, products at the roofline. Attention has none: it depends on what is cached.',
    numbers.proof ?
        'Proofs are those of proof.json, whose digest the plan names.' :
        '',
    numbers.run ?
        'Times of kernels are the profiler\u2019s. What is waiting and what is moving is told apart as docs/traces.md says.' :
        'No run was given: nothing on this page was measured on the cards of the plan.',
  ];
  fill('sources', list.filter(Boolean).map((text) => h('li', {}, text)));
  fill('left-out', (numbers.left_out.length ? numbers.left_out : [
                     'Nothing.'
                   ]).map((text) => h('li', {}, text)));
}

startRun();
startBudget();
startChoices();
startStack();
startTimeline();
startTables();
startValues();
drawOverview();
drawSources();
draw();
addEventListener(
    'beforeprint',
    () => document.querySelectorAll('details').forEach((each) => {
      each.open = true;
    }));
