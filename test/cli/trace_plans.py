#!/usr/bin/env python3
"""Recordings written from plans: every kernel must come back to its own step.

Two passes of each plan, with random times, no link to the host and no sizes, but
the batch in an annotation, which tells variants apart that launch the same, in
two styles: "apart", a kernel for each step, in the plan's order; and "engine",
where one kernel does what engines do in one: the products of one value, the
rotation of queries and keys, the store of keys and values, the sum with the
norm behind it or the norm with the add in front of it.
"""

import json
import random

from layline_tests import GOLDEN, MODELS, Test, each, read_json
from plan_traces import apart, engine, flat, record

test = Test()


def check(case):
    config, *arguments = case
    name = f"{config.parent.name if config.name == 'config.json' else config.stem} " + " ".join(
        map(str, arguments))
    plan = test.compile(config, test.out / name.replace(" ", "_").replace(":", "-"), "--target",
                        "h200x8", *arguments)
    document = read_json(plan / "plan.json")
    wrong = total = 0
    for variant in document["variants"]:
        steps = flat(variant)
        for style in (apart, engine):
            rng = random.Random(f"{name} {variant['id']} {style.__name__}")
            path = plan / f"{variant['id']}-{style.__name__}.json"
            known = record(path, [(variant["tokens"]["max"], steps)] * 2, style, rng)
            run = test.run("trace", "map", path, "--plan", plan, "--json", "-")
            if not test.expect(run.status == 0, f"{name}, {style.__name__}", run):
                continue
            device, = json.loads(run.stdout)["devices"]
            found = [k.get("steps") for k in device["kernels"]]
            bad = [(i, device["kernels"][i]["name"][:50], f, k)
                   for i, (f, k) in enumerate(zip(found, known)) if f != k]
            test.expect(len(found) == len(known) and not bad,
                        f"{name}, {variant['id']}, {style.__name__}: {len(known)} kernels",
                        f"{len(bad)} wrong: {bad[:3]}")
            passes = device["passes"]
            test.expect(len(passes) == 2 and all(not p["missing"] for p in passes),
                        f"{name}, {style.__name__}: two whole passes",
                        [p["missing"][:2] for p in passes])
            wrong, total = wrong + len(bad), total + len(known)
    return wrong, total


golden = {m: GOLDEN / m / "config.json" for m in
          ("llama", "qwen3", "qwen3_moe", "deepseek_v3", "deepseek_v32", "cohere", "gpt_neox",
           "gemma2", "gpt_oss", "granite", "olmo2")}
cases = [(golden[m], "--tp", 2, "--boundaries", form)
         for m in golden for form in ("whole", "rows")]
cases += [(golden["llama"], "--tp", 2, "--cp", 2, "--boundaries", form)
          for form in ("whole", "rows")]
cases += [(golden["qwen3_moe"], "--tp", 4, "--ep", 4, "--experts", how)
          for how in ("gathered", "dispatched")]
cases += [(golden["llama"], "--tp", 2, "--boundaries", "whole:64,rows"),
          (golden["llama"], "--tp", 1),
          (MODELS / "qwen3-235b-a22b.json", "--tp", 8),
          (MODELS / "deepseek-v3.json", "--tp", 8, "--boundaries", "rows"),
          (MODELS / "command-r-35b.json", "--tp", 4, "--boundaries", "whole")]
sums = each(check, cases)
test.expect(sum(total for _, total in sums) > 10000, "kernels enough", sums)
test.finish(f"{sum(t for _, t in sums)} kernels of {len(cases)} plans")
