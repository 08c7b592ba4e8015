#!/usr/bin/env python3
"""`layline verify` against the program that a plan or an edited program has to
compute: `--against`, `--exact`, `--proof`. A number that is legal and wrong is
seen here and nowhere else; each message names the place in the model.
"""

import copy
import json
import re

from layline_tests import GOLDEN, Test, each, read_json

test = Test()
MODEL = GOLDEN / "qwen3_moe"
CONFIG = MODEL / "config.json"
IR = test.out / "ir"
folder = test.compile(CONFIG, test.out / "plan", "--tp", 4, "--cp", 2, "--target", "cpu",
                      "--tokens", "1:64", "--dump-ir", IR)
PLAN = read_json(folder / "plan.json")
PLANNED = (IR / "3-planned.mlir").read_text()


def verify(path, *arguments):
    return test.run("verify", path, *arguments)


def good(run, what, *proofs):
    missing = [p for p in proofs if not re.search(rf"^ *{p} +yes", run.stdout, re.MULTILINE)]
    test.expect(run.status == 0 and not missing, what, f"missing: {missing}; {run}")


# ---- What compile wrote ------------------------------------------------------
good(verify(folder, "--against", CONFIG), "the plan against its config", "loader", "exact")
good(verify(folder, "--against", IR / "1-decoder.mlir"), "the plan against the imported IR",
     "exact")
STATIC = ["types", "partitions", "coverage", "positions", "sums", "consumers", "order"]
good(verify(IR / "3-planned.mlir"), "the planned program alone", *STATIC, "equivalence")
good(verify(IR / "3-planned.mlir", "--exact"), "... exactly", *STATIC, "equivalence", "exact")
good(verify(IR / "3-planned.mlir", "--against", CONFIG), "... against the config", "exact")
good(verify(IR / "2-placed.mlir", "--against", CONFIG), "the placed program", "exact")
good(verify(IR / "4-launch.mlir", "--against", IR / "1-decoder.mlir"), "the launch IR", "launch",
     "loader", "exact")
good(verify(IR / "1-decoder.mlir"), "the imported program alone", *STATIC)

# ---- proof.json --------------------------------------------------------------
run = verify(IR / "3-planned.mlir", "--exact", "--proof", test.out / "proofs")
good(run, "with --proof", "exact")
proof = read_json(test.out / "proofs" / "proof.json")
test.expect(proof["schema"] == "layline.proof" and
            [p["name"] for p in proof["proofs"]] == [*STATIC, "equivalence", "exact"] and
            all(p["holds"] and p["covers"] and p["method"] for p in proof["proofs"]),
            "proof.json lists every proof", proof)
test.expect(read_json(folder / "proof.json")["digest"] == PLAN["proof"]["digest"],
            "the plan carries the digest of compile's proof.json", PLAN["proof"])

# ---- Plans with another number -----------------------------------------------


def steps(plan, kind):
    """Of the last variant, also inside fused steps."""
    for step in plan["variants"][-1]["steps"]:
        for s in [step, *step.get("body", [])]:
            if s["kind"] == kind:
                yield s


def first(plan, kind):
    return next(steps(plan, kind))


def last(plan, kind):
    return list(steps(plan, kind))[-1]


def set_attr(step, name, value):
    assert step["attrs"][name] != value
    step["attrs"][name] = value


def swap(step, a, b):
    step["args"][a], step["args"][b] = step["args"][b], step["args"][a]


PLAN_FAULTS = [
    ("eps of the first norm", lambda p: set_attr(first(p, "norm"), "eps", 1e-5),
     "layer.0.input_norm"),
    ("eps of the last norm", lambda p: set_attr(last(p, "norm"), "eps", 1e-5), "final_norm"),
    ("1 + w", lambda p: set_attr(last(p, "norm"), "weight_offset", 1.0), "final_norm"),
    ("scale of the scores", lambda p: set_attr(last(p, "attention"), "scale", 0.125), "layer.1."),
    ("the mask", lambda p: set_attr(first(p, "attention"), "causal", False), "layer.0."),
    ("a window that nobody asked for",
     lambda p: first(p, "attention")["attrs"].update(window=3), "layer.0."),
    ("renormalized weights of experts", lambda p: set_attr(
        first(p, "router"), "renormalize", not first(p, "router")["attrs"]["renormalize"]),
     "layer.1."),
    ("scale of the experts' weights", lambda p: set_attr(first(p, "router"), "scale", 2.5),
     "layer.1."),
    ("the function of a gate",
     lambda p: set_attr(first(p, "gated_activation"), "function", "gelu"), "layer.0."),
    ("gate and up", lambda p: swap(first(p, "gated_activation"), "gate", "up"), "layer.0."),
    ("pairs of RoPE", lambda p: set_attr(first(p, "rope"), "style", "interleaved"), "layer.0."),
    ("a frequency", lambda p: p["tables"][0]["inv_freq"].__setitem__(1, 0.25), "layer.0."),
    ("a stored tensor of the other layer", lambda p: next(
        w for w in p["weights"] if w["key"].endswith("layers.1.self_attn.v_proj.weight")
    ).update(key="model.layers.0.self_attn.v_proj.weight"), "layer.1.v_proj"),
]


def plan_fault(case):
    number, (what, change, place) = case
    plan = copy.deepcopy(PLAN)
    change(plan)
    path = test.out / f"plan-{number}.json"
    path.write_text(json.dumps(plan))
    alone = verify(path)
    test.expect(alone.status == 0, f"{what}: nothing is wrong with the plan alone", alone)
    test.refused(verify(path, "--against", CONFIG), what, 1, "differs from the imported program",
                 place, "tokens (past", "rank ")


each(plan_fault, enumerate(PLAN_FAULTS))

# ---- Programs that a person edited -------------------------------------------


def edit(pattern, replacement, count=1):
    """The last places where the pattern stands in the planned programs."""
    places = list(re.finditer(pattern, PLANNED))
    assert len(places) >= count, pattern
    text = PLANNED
    for place in reversed(places[-count:]):
        text = text[:place.start()] + place.expand(replacement) + text[place.end():]
    return text


# what, text, the nets that have to see it, words of the messages
PROGRAM_FAULTS = [
    ("eps", edit(r"eps = 9\.9+[0-9]*E-7", "eps = 1.0e-5"), ["equivalence", "exact"], "final_norm"),
    ("scale", edit(r"scale = 0\.3535[0-9]*", "scale = 0.5"), ["equivalence", "exact"], "layer.1."),
    ("a sum paid over nothing", edit(r'over \["tp"\]', 'over ["cp"]'), ["types", "exact"],
     'owes no sum'),
    ("another weight", edit(r"layers\.1\.self_attn\.v_proj\.weight",
                            "layers.1.self_attn.k_proj.weight"), ["equivalence", "exact"],
     "layer.1."),
]


def program_fault(case):
    number, (what, text, nets, words) = case
    path = test.out / f"program-{number}.mlir"
    path.write_text(text)
    run = verify(path, "--against", CONFIG)
    test.refused(run, f"program: {what}", 1, words)
    for net in nets:
        test.expect(re.search(rf"^ *{net} +NO", run.stdout, re.MULTILINE),
                    f"program: {what}: {net} sees it", run.stdout)


each(program_fault, enumerate(PROGRAM_FAULTS))

# ---- Inputs that are none ----------------------------------------------------
test.refused(verify(folder, "--exact"), "--exact of a plan without a program", 2, "--against")
test.refused(verify(folder, "--proof", test.out), "--proof without a program", 2, "--against")
test.refused(verify(IR / "1-decoder.mlir", "--exact"), "a program without a reference", 2,
             "--against")
test.refused(verify(folder, "--against", test.out / "none.json"), "a config that is not there", 2,
             "none.json")
test.refused(verify(folder, "--against", folder / "plan.json"), "a config that is a plan", 2,
             "plan.json")
test.refused(verify(folder, "--against", IR / "4-launch.mlir"), "no decoder to compare with", 2,
             "found no decoder")
test.refused(verify(IR / "none.mlir"), "a program that is not there", 2, "none.mlir")
test.refused(verify(folder, "--against", GOLDEN / "llama" / "config.json"), "another model", 1,
             "shape", "expected")
(test.out / "empty.mlir").write_text("module {}")
test.refused(verify(test.out / "empty.mlir"), "a module without a program", 2, "found no program")


def cut(at):
    path = test.out / f"cut-{at}.mlir"
    path.write_text(PLANNED[:at])
    test.refused(verify(path), f"a program cut at {at}", 2, path.name)


each(cut, range(1, len(PLANNED) - 40, len(PLANNED) // 40))
test.finish("against")
