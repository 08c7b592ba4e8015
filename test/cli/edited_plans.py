#!/usr/bin/env python3
"""A written plan that a person or another tool has edited wrongly.

`layline verify` must refuse each edit and name its place; `layline run` and
`layline inspect` must refuse the same. The plan as written must pass, and so
must edits that change nothing: each fault has its good neighbour.
"""

import copy
import json
import random

from layline_tests import GOLDEN, Test, each, read_json

test = Test()
MODEL = GOLDEN / "qwen3_moe"
plan_path = test.compile(MODEL / "config.json", test.out / "good", "--tp", 4, "--target", "cpu",
                         "--tokens", "1:64", "--boundaries", "whole:7,rows") / "plan.json"
PLAN = read_json(plan_path)
TEXT = plan_path.read_text()
phi3 = read_json(test.compile(GOLDEN / "phi3" / "config.json", test.out / "phi3", "--tp", 4,
                              "--target", "cpu", "--tokens", "1:64", "--boundaries", "whole:7,rows") / "plan.json")


def by_id(entries, name):
    return next(e for e in entries if e["id"] == name)


def rows(plan):
    """The variant with boundaries by rows."""
    return next(v for v in plan["variants"] if v["boundaries"] == "rows")


def step(plan, kind, number=0):
    return [s for s in rows(plan)["steps"] if s["kind"] == kind][number]


def inner(plan, kind, number=0):
    return [s for f in rows(plan)["steps"] for s in f.get("body", []) if s["kind"] == kind][number]


def buffer(plan, name):
    return by_id(rows(plan)["buffers"], name)


def owing(plan):
    return next(b for b in rows(plan)["buffers"] if b["layout"].get("owes"))


def token_range(plan):
    return by_id(plan["ranges"], "tokens/tp")["segments"][0]


def weight(plan, end, number=0):
    return [w for w in plan["weights"] if w["key"].endswith(end)][number]


def plus(place, key, amount):
    place[key] = ["add", place[key], amount]


def overlap(plan):
    """Two buffers that live at the same time, moved onto each other."""
    buffers, order = rows(plan)["buffers"], [s["id"] for s in rows(plan)["steps"]]
    floats = [b for b in buffers if b.get("arena") == "float"]
    for a in floats:
        for b in floats:
            begin, end = (max(order.index(a["live"][0]), order.index(b["live"][0])),
                          min(order.index(a["live"][1]), order.index(b["live"][1])))
            if a is not b and begin < end and a["offset"] != b["offset"]:
                a["offset"] = b["offset"]
                return
    raise LookupError("no two buffers live at once")


def swap(entries, first, second, key):
    entries[first][key], entries[second][key] = entries[second][key], entries[first][key]


def swap_steps(plan):
    steps = rows(plan)["steps"]
    at = next(i for i, s in enumerate(steps) if s["kind"] == "rope")
    steps[at], steps[at - 1] = steps[at - 1], steps[at]
    feeds = next(i for i, s in enumerate(steps) if s["kind"] == "attention")
    steps[feeds], steps[feeds + 1] = steps[feeds + 1], steps[feeds]


# (what, edit, words that the message must hold)
FAULTS = [
    ("another schema", lambda p: p.update(schema="layline.lunch_plan"), ["schema"]),
    ("version 2", lambda p: p["version"].update(major=2), ["version", "2"]),
    ("a feature that is not known", lambda p: p["requires"].append("telepathy"), ["telepathy"]),
    ("a key that is not known", lambda p: p.update(extra=1), ["extra"]),
    ("no mesh", lambda p: p.pop("mesh"), ["mesh"]),
    ("a mesh of another size", lambda p: p["mesh"][0].update(size=5), []),
    ("a mesh of no ranks", lambda p: p["mesh"][0].update(size=0), ["mesh"]),
    ("a group of fewer ranks", lambda p: p["groups"][0].update(ranks=3), ["group"]),
    ("a group over no axis", lambda p: p["groups"][0].update(axes=["pp"]), ["pp"]),
    ("rows that begin one late", lambda p: plus(token_range(p), "begin", 1), ["tokens/tp"]),
    ("a row too many each", lambda p: plus(token_range(p), "size", 1), ["tokens/tp"]),
    ("a row too few each", lambda p: plus(token_range(p), "size", -1), ["tokens/tp"]),
    ("a range that rank 0 holds alone", lambda p: token_range(p).update(begin=0, size="tokens"),
     ["tokens/tp"]),
    ("rows lost at 33 tokens only", lambda p: token_range(p).update(size=["sub", token_range(p)[
        "size"], ["floordiv", ["mod", ["mul", "tokens", 31], 1024], 1023]]), ["tokens/tp"]),
    ("KV heads that nobody's query heads read", lambda p: by_id(p["ranges"], "kv4of8/tp")[
        "segments"][0].update(begin=["sub", 3, "rank.tp"]), ["kv4of8/tp"]),
    ("an expression that is none", lambda p: token_range(p).update(size=["pow", "tokens", 2]),
     ["pow"]),
    ("a symbol that is none", lambda p: token_range(p).update(size="rank.pp"), ["rank.pp"]),
    ("division by zero", lambda p: token_range(p).update(size=["floordiv", "tokens", 0]),
     ["tokens/tp"]),
    ("a weight of another shape", lambda p: weight(p, "q_proj.weight").update(shape=[64, 32]),
     ["w2"]),
    ("a weight split the other way", lambda p: weight(p, "o_proj.weight")["layout"]["dims"]
     .reverse(), ["w7"]),
    ("two weights exchanged in place", lambda p: swap(p["weights"], 2, 7, "layout"), []),
    ("a weight given twice", lambda p: p["weights"].append(p["weights"][0]), ["w0"]),
    ("a cache of other heads", lambda p: p["caches"][1].update(row_shape=[8, 8]), ["layer.0.key"]),
    ("a variant that begins late", lambda p: p["variants"][1]["tokens"].update(
        min=p["variants"][1]["tokens"]["min"] + 1), ["tokens", "v1"]),
    ("variants that overlap", lambda p: p["variants"][1]["tokens"].update(
        min=p["variants"][1]["tokens"]["min"] - 1), ["v1"]),
    ("variants that end early", lambda p: p["variants"][1]["tokens"].update(max=63), ["64"]),
    ("no variant", lambda p: p.update(variants=[]), ["variants"]),
    ("a kind of step that is none", lambda p: step(p, "linear").update(kind="magic"),
     ["variants[1].steps[3].kind"]),
    ("a buffer that is none", lambda p: step(p, "linear")["args"].update(input="b999"), ["b999"]),
    ("a weight that is none", lambda p: step(p, "linear")["args"].update(weight="w999"), ["w999"]),
    ("a kernel that is none", lambda p: step(p, "fused")["attrs"].update(kernel="k99"), ["k99"]),
    ("a missing argument", lambda p: step(p, "linear")["args"].pop("weight"), ["weight"]),
    ("a missing attribute", lambda p: step(p, "attention")["attrs"].pop("heads"), ["heads"]),
    ("a sum forgotten: the buffer owes nothing", lambda p: owing(p)["layout"].pop("owes"), ["s1"]),
    ("a sum owed by a norm's input", lambda p: buffer(p, inner(p, "norm")["args"]["input"])[
        "layout"].update(owes=["tp"]), []),
    ("logits that owe a sum", lambda p: buffer(p, rows(p)["outputs"][0]["buffer"])[
        "layout"].update(owes=["tp"]), []),
    ("a reduce_scatter in the place of an all_reduce", lambda p: inner(p, "all_gather").update(
        kind="reduce_scatter"), []),
    ("a collective of no group", lambda p: inner(p, "all_gather")["attrs"].update(group="pp"),
     ["pp"]),
    ("a collective without its flag", lambda p: step(p, "all_gather").pop("flag"), ["flag"]),
    ("a fused collective without its flag", lambda p: step(p, "fused").pop("flag"), ["flag"]),
    ("a kernel of another body", lambda p: p["kernels"][-1].update(ops=["add"]), ["kernel"]),
    ("bytes of a weight that are not so", lambda p: p["weights"][2].update(bytes_per_rank=1),
     ["w2", "bytes_per_rank"]),
    ("two steps of one name", lambda p: step(p, "linear").update(names=["layer.0.input"]),
     ["layer.0.input", "twice"]),
    ("a site that no step serves", lambda p: rows(p)["sites"][0].update(step="s999"), ["s999"]),
    ("an odd rotation", lambda p: step(p, "rope")["attrs"].update(rotary=7), ["rotates 7"]),
    ("an event that nobody signals", lambda p: step(p, "linear").update(waits=["e1"]), ["e1"]),
    ("an all_gather of the other dimension", lambda p: inner(p, "all_gather")["attrs"].update(
        dim=1), []),
    ("a boundary that forgets its all_gather", lambda p: step(p, "fused")["body"].pop(), []),
    ("steps out of order", swap_steps, []),
    ("a step that is gone", lambda p: rows(p)["steps"].remove(step(p, "rope")), []),
    ("a result that is used without after", lambda p: step(p, "attention").update(after=[]),
     ["after"]),
    ("buffers on each other", overlap, ["in one place"]),
    ("a buffer beyond its arena", lambda p: owing(p).update(offset=10**9), []),
    ("a buffer before its arena", lambda p: owing(p).update(offset=-64), ["offset"]),
    ("a buffer too small for its rows", lambda p: owing(p).update(bytes=64), ["bytes"]),
    ("a life that ends early", lambda p: owing(p).update(live=["s1", "s1"]),
     ["outside its life"]),
    ("an arena too small", lambda p: rows(p)["arenas"][0].update(bytes=128), ["float"]),
    ("a norm over no numbers: eps of a string", lambda p: inner(p, "norm")["attrs"].update(
        eps="small"), ["eps"]),
    ("heads that do not divide", lambda p: step(p, "attention")["attrs"].update(heads=6), []),
    ("more experts chosen than there are", lambda p: step(p, "router")["attrs"].update(top_k=9),
     ["9 largest of 8"]),
    ("a view of other bytes", lambda p: next(
        s for s in rows(p)["steps"] if isinstance(s["args"].get("input"), dict))["args"]["input"]
     .update(shape=["tokens", 8, 7]), []),
    ("no output", lambda p: rows(p).update(outputs=[]), ["outputs"]),
    ("an output that is none", lambda p: rows(p)["outputs"][0].update(buffer="b999"), ["b999"]),
]
PHI3_FAULTS = [
    ("a window beyond the fused weight", lambda p: weight(p, "qkv_proj.weight", 2).update(
        rows=[96, 9999]), ["rows"]),
    ("an empty window", lambda p: weight(p, "qkv_proj.weight").update(rows=[8, 8]), ["rows"]),
    ("a window of another size", lambda p: weight(p, "qkv_proj.weight").update(rows=[0, 32]), []),
]
# Edits that a loader has to take.
NEIGHBOURS = [
    ("as written", lambda p: None),
    ("keys of tomorrow's tools", lambda p: (p.update({"x-note": "hello"}),
                                            step(p, "linear").update({"x-tile": [64, 128]}))),
    ("a later minor version", lambda p: p["version"].update(minor=7)),
    ("the same rows by another expression", lambda p: token_range(p).update(
        size=["floordiv", ["sub", ["add", "tokens", 3], "rank.tp"], 4])),
    ("a larger arena", lambda p: rows(p)["arenas"][0].update(
        bytes=2 * rows(p)["arenas"][0]["bytes"])),
]

RUN = ["--weights", MODEL / "model.safetensors", "--input", MODEL / "golden.safetensors",
       "--precision", "f64"]


def edited(number, base, edit):
    plan = copy.deepcopy(base)
    edit(plan)
    path = test.out / f"edit-{number}.json"
    path.write_text(json.dumps(plan))
    return path


def check_fault(entry):
    number, base, (what, edit, words) = entry
    path = edited(number, base, edit)
    for command in (["verify", path], ["run", path, *RUN], ["inspect", path]):
        # A range that is wrong at token counts a loader does not try is for the proof.
        if what.endswith("33 tokens only") and command[0] != "verify":
            continue
        run = test.run(*command)
        test.refused(run, f"{command[0]}: {what}", 1, path.name, *words)
        if command[0] == "verify":
            print(f"{what}: {run.stderr.strip().splitlines()[0] if run.stderr else ''}"[:170]
                  .replace(str(test.out) + "/", ""))


def check_neighbour(entry):
    number, (what, edit) = entry
    path = edited(f"good-{number}", PLAN, edit)
    for command in (["verify", path], ["run", path, *RUN, "--check", MODEL / "golden.safetensors"],
                    ["inspect", path]):
        run = test.run(*command)
        test.expect(run.status == 0, f"{command[0]}: {what}", run)


faults = [(PLAN, f) for f in FAULTS] + [(phi3, f) for f in PHI3_FAULTS]
each(check_fault, [(n, base, fault) for n, (base, fault) in enumerate(faults)])
each(check_neighbour, list(enumerate(NEIGHBOURS)))


# Cut short, and no JSON at all: unreadable.
def check_text(entry):
    name, text = entry
    path = test.out / f"{name}.json"
    path.write_text(text)
    for command in (["verify", path], ["run", path, *RUN], ["inspect", path]):
        test.refused(test.run(*command), f"{command[0]}: {name}", 2, path.name)


cuts = sorted({0, 1, 2, len(TEXT) - 3, *range(0, len(TEXT) - 3, len(TEXT) // 60)})
each(check_text, [(f"cut-{at}", TEXT[:at]) for at in cuts]
     + [("blank", " \n"), ("words", "a plan"), ("comma", TEXT.replace("{", "{,", 1))])
for name, text in [("list", "[]"), ("number", "1")]:
    (test.out / f"{name}.json").write_text(text)
    test.refused(test.run("verify", test.out / f"{name}.json"), f"verify: {name}", (1, 2),
                 f"{name}.json")


# One random value exchanged, removed or doubled: whatever it does, no crash and
# no refusal without a message. The seed makes every run the same.
def places(value, found):
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((value, key))
        if isinstance(entry, (dict, list)):
            places(entry, found)
    return found


def mutate(plan, seed):
    dice = random.Random(seed)
    found = places(plan, [])
    # Every depth as likely, lest numbers of buffers crowd out the rest.
    shallow = {k: v for k, v in plan.items() if k not in ("variants", "weights")}
    place, key = dice.choice(found if seed % 2 else places(shallow, []))
    action = dice.choice(["remove", "double", "value", "other"])
    if action == "remove":
        del place[key]
    elif action == "double" and isinstance(place, list):
        place.insert(key, copy.deepcopy(place[key]))
    elif action == "other":
        other, name = dice.choice(found)
        place[key] = copy.deepcopy(other[name])
    else:
        place[key] = dice.choice([-1, 0, 1, 2**31, 2**63 - 1, -2**63, 2**64, 1e308, "", "tokens",
                                  "b0", "w0", None, True, [], {}, [[]], ["add", 1],
                                  ["size", "tokens/tp"]])


def check_mutant(seed):
    path = edited(f"mutant-{seed}", PLAN, lambda p: mutate(p, seed))
    run = test.run("verify", path)
    test.expect(run.status in (0, 1) and (run.status == 0) == (not run.stderr.strip()),
                f"verify: mutant {seed}, {path}", run)
    # What passes is run as well, and only ends in a plain way.
    if run.status == 0:
        done = test.run("run", path, *RUN)
        test.expect(done.status in (0, 1, 2) and (done.status == 0 or done.stderr.strip()),
                    f"run: mutant {seed}, {path}", done)
    if not test.wrong:
        path.unlink()
    return run.status


refused = sum(each(check_mutant, range(400)))
test.finish(f"{len(faults)} planted faults, {len(NEIGHBOURS)} good edits, {len(cuts)} cuts, "
            f"{refused} of 400 mutants refused")
