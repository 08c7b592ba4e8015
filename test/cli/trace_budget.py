#!/usr/bin/env python3
"""layline trace budget: sums, nothing counted twice, refusals, and runs of known gain.

What a run of a plan gains by that plan itself is nothing; what it gains by another is only what
the two do differently. The recordings are those of test/traces/README.md, and such as are written
from plans.
"""

import collections
import csv
import gzip
import io
import json
import math
import random

from layline_tests import GOLDEN, MODELS, ROOT, Test, each, read_json
from plan_traces import apart, engine, flat, launched, record

test = Test()
B200 = ROOT / "test" / "traces" / "b200_tp8_vllm_gptoss120b_prefill888.json.gz"
CONFIG = MODELS / "gpt-oss-120b.json"
GPT_OSS = ("--model", CONFIG, "--tp", 8, "--target", "b200x8")
LINES = ["repeated_work", "copies", "communication", "layout_conversion", "fusion", "transport"]
SCENARIOS = ("us", "low", "high")


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=0.5)  # of hundreds of roundings


def check(what, budget):
    """What holds of every budget."""
    posted = collections.Counter((p["trace"], p["event"]) for p in budget["postings"])
    test.expect(all(n == 1 for n in posted.values()), f"{what}: no kernel in two lines",
                posted.most_common(1))
    time = collections.Counter()
    for posting in budget["postings"]:
        time[posting["line"]] += posting["ns"] / 1000
    for name in LINES:
        measured = sum(p["lines"][name]["measured"] * p["passes"] for p in budget["passes"])
        test.expect(near(measured, time[name]), f"{what}: {name}: the time of its kernels",
                    (measured, time[name]))
    for own in budget["passes"]:
        name = f"{what}, {own['kind']} of {own['tokens']}"
        for s in SCENARIOS:
            lines = [own["lines"][line]["gain"][s] for line in LINES]
            test.expect(near(sum(lines), own["gain"][s]), f"{name}: lines are the total", lines)
            test.expect(near(sum(b["gain"][s] for b in own["boundaries"]), own["gain"][s]),
                        f"{name}: boundaries are the total")
            test.expect(own["gain"][s] <= own["bound"]["changing"] + 0.5,
                        f"{name}: gain {own['gain'][s]} within {own['bound']['changing']}")
        for line in LINES:
            entry = own["lines"][line]
            test.expect(all(near(entry["measured"] - entry["after"][s], entry["gain"][s])
                            for s in SCENARIOS), f"{name}: {line}: gain", entry)
        bound, here = own["bound"], own["here"]
        test.expect(near(bound["changing"] + bound["unchanged"], own["busy"])
                    and bound["products"] + bound["attention"] + own["waiting"]
                    <= bound["unchanged"] + 0.5, f"{name}: the bound", bound)
        sharding = sum(own["lines"][line]["gain"]["us"] for line in LINES[:4])
        test.expect(near(here["today"] - here["unfused"], sharding)
                    and near(here["today"] - here["chosen"], own["gain"]["us"]),
                    f"{name}: baselines", here)


def budget_of(what, *arguments):
    run = test.run("trace", "budget", *arguments, "--json", "-")
    if not test.expect(run.status == 0, f"budget of {what}", run):
        return None
    budget = json.loads(run.stdout)
    check(what, budget)
    return budget


# The B200 run against the planner's choice. B200 has no kernel that does gpt-oss's biases between a
# reduce-scatter and an all-gather: but for the embedding everything stays.
budget = budget_of("B200, planner", B200, *GPT_OSS)
own, = budget["passes"]
changed = [b["place"] for b in own["boundaries"] if b["was"]]
test.expect(changed == ["embedding"] and 0 < own["gain"]["us"] < 0.01 * own["busy"],
            "B200: one boundary changes", (changed, own["gain"]))
test.expect(own["kind"] == "prefill" and own["tokens"] == 888, "B200: the pass", own["kind"])
# The first all-reduce waited for 198.2 us: in no line.
test.expect(near(own["waiting"], 198.2)
            and [p["ns"] for p in budget["postings"] if p["wait_ns"]] == [25024],
            "B200: waiting is no cost", own["waiting"])
planner = read_json(test.compile(CONFIG, test.out / "planner", *GPT_OSS[2:], "--tokens", "888:888")
                    / "decisions.json")["prices"][0]
test.expect(all(near(own["planner"][k], planner[f"{k}_us"]) for k in own["planner"]),
            "B200: the planner's baselines", own["planner"])

# Against a plan by rows: figures that are counted here from the mapping and the tables.
rows = test.compile(CONFIG, test.out / "rows", *GPT_OSS[2:], "--boundaries", "rows", "--tokens",
                    "1:2048")
budget = budget_of("B200, rows", B200, *GPT_OSS, "--what-if", rows)
own, = budget["passes"]
kernels = json.loads(test.run("trace", "map", B200, *GPT_OSS, "--json", "-").stdout)["devices"][0][
    "kernels"]
lines = collections.defaultdict(set)
for posting in budget["postings"]:
    lines[posting["line"]].add(posting["event"])
of = {family: {k["event"] for k in kernels if k["family"] == family}
      for family in ("all_reduce", "memcpy_dtod", "norm", "add_norm")}
test.expect(lines["communication"] == of["all_reduce"] and lines["copies"] == of["memcpy_dtod"]
            and lines["repeated_work"] == of["norm"] | of["add_norm"],
            "B200, rows: which kernels are in which line", {k: len(v) for k, v in lines.items()})
copies = sum(kernels[e]["ns"] for e in of["memcpy_dtod"]) / 1000
test.expect(near(own["lines"]["copies"]["gain"]["us"], copies) and copies > 700,
            "B200, rows: all copies go", copies)
# inputs.md, 6.1: reduce-scatter and all-gather take 2.3 times an all-reduce of 4 MiB on 8 B200; the
# kernel of norms alone has an eighth of the rows, but no eighth of its time.
ratio = own["lines"]["communication"]["after"]["us"] / own["lines"]["communication"]["measured"]
test.expect(2 < ratio < 2.8, "B200, rows: two collectives for one", ratio)
norms = own["lines"]["repeated_work"]
test.expect(norms["measured"] / 8 < norms["after"]["us"] < norms["measured"], "B200, rows: norms",
            norms)
here = own["here"]
test.expect(here["unfused"] > here["today"] > here["chosen"], "B200, rows: opposite signs", here)
test.expect(any("add_bias" in note for note in own["notes"]),
            "B200, rows: no such kernel is told", own["notes"])

# CSV and text say the same.
table = list(csv.DictReader(io.StringIO(test.run(
    "trace", "budget", B200, *GPT_OSS, "--what-if", rows, "--csv", "-").stdout)))
for line in LINES:
    test.expect(near(sum(float(r["gain_us"]) for r in table if r["line"] == line),
                     own["lines"][line]["gain"]["us"]), f"CSV as JSON: {line}")
run = test.run("trace", "budget", B200, *GPT_OSS, "--what-if", rows)
for words in ("prefill of 888 tokens", "copies that go", "bound", "(a) today us", "layer.*.o_proj",
              "198.2 us of it waiting", "which no plan saves"):
    test.expect(words in run.stdout, f"text has '{words}'", run)

# A boundary that lost its all-reduce is left as it is.
events = json.loads(gzip.open(B200).read())
lost = json.loads(json.dumps(events))
reduce = [e for e in lost["traceEvents"]
          if e["cat"] == "kernel" and "multimem_all_reduce" in e["name"]][5]
lost["traceEvents"].remove(reduce)
(test.out / "lost.json").write_text(json.dumps(lost))
budget = budget_of("B200 without an all-reduce", test.out / "lost.json", *GPT_OSS, "--what-if", rows)
left = [b for b in budget["passes"][0]["boundaries"] if b["is_incomplete"]]
test.expect(len(left) == 1 and left[0]["place"] == "layer.2.o_proj" and left[0]["gain"]["us"] == 0
            and not any(p["boundary"] == left[0]["place"] for p in budget["postings"]),
            "a boundary without its all-reduce is left", [b["place"] for b in left])


def own_plan(case):
    """Runs of a plan, as it launches: nothing is left to gain by it."""
    config, *arguments = case
    name = f"{config.parent.name} " + " ".join(map(str, arguments))
    plan = test.compile(config, test.out / name.replace(" ", "_").replace(":", "-"), "--target",
                        "h200x8", *arguments)
    variant = read_json(plan / "plan.json")["variants"][-1]
    tokens = variant["tokens"]["max"]
    path = plan / "own.json"
    style, left = launched(variant)
    record(path, [(tokens, flat(variant))] * 2, style, random.Random(name))
    budget = budget_of(name, path, "--plan", plan, "--what-if", plan, "--target", "h200x8")
    if not budget:
        return
    gone = {line: own["lines"][line] for own in budget["passes"] for line in LINES
            if any(own["lines"][line]["gain"].values())}
    # What these kernels cannot do in one launch ran apart: that is left to fuse.
    expected = {"copies", "fusion", "transport"} if left else set()
    test.expect(set(gone) <= expected, f"{name}: nothing to gain by itself", gone)
    test.expect(left or not budget["postings"], f"{name}: no kernel is in a line")
    return len(left)


golden = {m: GOLDEN / m / "config.json" for m in
          ("llama", "deepseek_v3", "gpt_oss", "cohere", "qwen3_moe", "gemma2", "olmo2")}
cases = [(golden[m], "--tp", 2, "--boundaries", form) for m in golden for form in ("whole", "rows")]
cases += [(golden["qwen3_moe"], "--tp", 4, "--ep", 4, "--experts", "dispatched"),
          (golden["llama"], "--tp", 2, "--cp", 2, "--boundaries", "rows")]
without = sum(left == 0 for left in each(own_plan, cases))
test.expect(without >= 6, "plans whose launches are kernels of an engine", without)


# A kernel for each step of a plan that has adds and norms in one: only that is left to gain.
config = golden["llama"]
plan = test.compile(config, test.out / "apart", "--tp", 2, "--target", "h200x8", "--boundaries",
                    "whole", "--tokens", "1:4096")
variant = read_json(plan / "plan.json")["variants"][-1]
path = test.out / "apart.json"
known = record(path, [(4096, flat(variant))], apart, random.Random(5), staged=0)
budget = budget_of("apart", path, "--plan", plan, "--what-if", plan, "--target", "h200x8")
fused = {s["id"] for launch in variant["steps"] for s in launch.get("body", [])}
test.expect({p["event"] for p in budget["postings"]}
            == {i for i, ids in enumerate(known) if fused & set(ids)},
            "run apart: the kernels that would be one", len(budget["postings"]))
own = budget["passes"][0]["lines"]
test.expect(0 < own["fusion"]["gain"]["us"] < own["fusion"]["measured"]
            and not any(own[line]["gain"]["us"] for line in LINES[:4]), "run apart: fusion alone", own)

# Both kinds of passes in one file, run apart; an all-reduce is there for reduce-scatters.
whole = test.compile(config, test.out / "whole", "--tp", 2, "--target", "h200x8", "--boundaries",
                     "whole")
steps = flat(read_json(whole / "plan.json")["variants"][0])
both = test.out / "both.json"
record(both, [(512, steps), (16, steps, "decode"), (512, steps), (16, steps, "decode"),
              (300, steps)], engine, random.Random(3), staged=1)
budget = budget_of("prefill and decode", both, "--plan", whole, "--what-if",
                   test.compile(config, test.out / "mixed", "--tp", 2, "--target", "h200x8",
                                "--boundaries", "whole:63,rows"), "--target", "h200x8")
kinds = [(p["kind"], p["tokens"], p["passes"]) for p in budget["passes"]]
test.expect(kinds == [("prefill", 300, 1), ("prefill", 512, 2), ("decode", 16, 2)],
            "a budget for each kind of pass", kinds)
test.expect(budget["passes"][2]["lines"]["communication"]["kernels"] == 0
            and budget["passes"][1]["lines"]["communication"]["kernels"] > 0,
            "rows from 64 tokens on", budget["passes"][2]["lines"])


def other_sharding(case):
    """Plain runs of other models against plans by rows: sums hold, and each line is there."""
    config, *arguments = case
    name = f"{config.stem if config.stem != 'config' else config.parent.name} by rows"
    folder = test.out / name.replace(" ", "_")
    whole = test.compile(config, folder / "whole", "--target", "h200x8", "--boundaries", "whole",
                         *arguments)
    rows = test.compile(config, folder / "rows", "--target", "h200x8", "--boundaries", "rows",
                        *arguments)
    path = folder / "run.json"
    record(path, [(256, flat(read_json(whole / "plan.json")["variants"][0]))], apart,
           random.Random(name), staged=0.3)
    return budget_of(name, path, "--plan", whole, "--what-if", rows, "--target", "h200x8")


models = [(golden[m], "--tp", 2) for m in ("deepseek_v3", "cohere", "gemma2", "olmo2", "gpt_oss")]
seen = collections.Counter(
    line for budget in each(other_sharding, models) if budget
    for line in LINES if budget["passes"][0]["lines"][line]["sources"])
test.expect(seen["repeated_work"] == seen["communication"] == len(models) and seen["copies"],
            "lines of other models", seen)

# What cannot be budgeted.
test.refused(test.run("trace", "budget", B200, *GPT_OSS[:4]), "no target", 2, "--target")
test.refused(test.run("trace", "budget", B200, *GPT_OSS[:4], "--target", "abacus"),
             "unknown target", 2, "--target", "abacus", "b200x8")
test.refused(test.run("trace", "budget", B200, "--target", "b200x8"), "no plan", 2, "--plan",
             "--model")
test.refused(test.run("trace", "budget", both, "--plan", whole, "--target", "h200x8"),
             "no other plan", 2, "--what-if")
test.refused(test.run("trace", "budget", B200, *GPT_OSS, "--what-if", test.out / "nowhere"),
             "no such plan", 2, "nowhere")
(test.out / "cut").mkdir()
(test.out / "cut" / "plan.json").write_text((rows / "plan.json").read_text()[:3000])
test.refused(test.run("trace", "budget", B200, *GPT_OSS, "--what-if", test.out / "cut"),
             "a cut plan", 2, "cut/plan.json")
four = test.compile(CONFIG, test.out / "four", "--tp", 4, "--target", "b200x8")
test.refused(test.run("trace", "budget", B200, *GPT_OSS, "--what-if", four), "a plan of another TP",
             1, "four/plan.json", "found a mesh of tp=4, expected tp=8")
test.refused(test.run("trace", "budget", both, "--plan", whole, "--what-if", test.compile(
    golden["qwen3_moe"], test.out / "moe", "--tp", 2, "--target", "h200x8"), "--target", "h200x8"),
    "a plan of another model", 1, "moe/plan.json", "expected")
small = test.compile(CONFIG, test.out / "small", *GPT_OSS[2:], "--tokens", "1:64")
test.refused(test.run("trace", "budget", B200, *GPT_OSS, "--what-if", small),
             "a plan for other token counts", 1, "1 to 64", "888 tokens")
unknown = json.loads(both.read_text())
unknown["traceEvents"] = [e for e in unknown["traceEvents"] if "execute" not in e["name"]]
(test.out / "unknown.json").write_text(json.dumps(unknown))
out = test.out / "kept.json"
out.write_text("as before")
test.refused(test.run("trace", "budget", test.out / "unknown.json", "--plan", whole, "--what-if",
                      whole, "--target", "h200x8", "--json", out), "an unknown batch", 1,
             "unknown.json", "batch")
test.expect(out.read_text() == "as before", "nothing is written")
test.finish("budgets")
