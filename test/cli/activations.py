#!/usr/bin/env python3
"""`--activations`: what is quantised, what is refused, and that the proofs see a
plan that quantises otherwise than it should."""

import copy
import json

from layline_tests import GOLDEN, MODELS, Test, read_json

test = Test()
CONFIG = GOLDEN / "qwen3_moe" / "config.json"
SMALL = ["--tp", 4, "--target", "cpu", "--tokens", "1:64"]


def steps(plan):
    for variant in plan["variants"]:
        for step in variant["steps"]:
            yield step
            yield from step.get("body", [])


# ---- What is quantised ------------------------------------------------------

plain = read_json(test.compile(CONFIG, test.out / "plain", *SMALL) / "plan.json")
test.expect("quantized_rows" not in plain["requires"]
            and all(a["id"] != "narrow" for v in plain["variants"] for a in v["arenas"]),
            "by default nothing is quantised", plain["requires"])
folder = test.compile(CONFIG, test.out / "groups", *SMALL, "--boundaries", "whole",
                      "--no-fuse", "--activations", "fp8:group16")
plan = read_json(folder / "plan.json")
quantizers = [s for s in steps(plan) if s["kind"] == "quantize"]
test.expect("quantized_rows" in plan["requires"] and len(quantizers) == 4
            and all(s["attrs"] == {"format": "fp8_e4m3", "group_size": 16} for s in quantizers),
            "rows in front of attention and of the experts of both layers", quantizers)
readers = {s["args"]["input"] if isinstance(s["args"]["input"], str)
           else s["args"]["input"]["buffer"]: s["loc"]
           for s in steps(plan) if s["kind"] in ("linear", "experts")}
numbers = {s["args"]["output"] for s in steps(plan) if s["kind"] == "dequantize"}
for place in ("router", "o_proj", "lm_head"):
    test.expect(not any(loc.endswith(place) and b in numbers for b, loc in readers.items()),
                f"{place} reads the model's type", readers)
said = " ".join(read_json(folder / "decisions.json")["assumptions"])
test.expect("every 16 features" in said and "o_proj and down" in said,
            "decisions.json says what is and what is not", said)

# On cards the payload and its scales are what is gathered, 3072 columns of one
# byte and 24 scales, and what the router makes of the rows that are not: 8
# experts and their weights.
folder = test.compile(MODELS / "minimax-m2.5.json", test.out / "m2", "--tp", 8, "--target",
                      "h200x8", "--tokens", "16384", "--activations", "checkpoint")
widths = {g["row_bytes"] for g in read_json(folder / "decisions.json")["gathers"]}
test.expect({3072, 24 * 4, 8 * 4, 8 * 2} <= widths, "payloads and scales are gathered", widths)

# ---- What is refused --------------------------------------------------------

for how, words in {
        "fp4": ["found 'fp4'", "fp8:groupN"],
        "fp8:group48": ["groups of 48 features", "hidden_size, 64"],
        "fp8:static": ["a static scale is a tensor of a checkpoint"],
        "checkpoint": ["found no quantization_config"]}.items():
    out = test.out / "refused"
    test.refused(test.run("compile", CONFIG, *SMALL, "--activations", how, "-o", out), how, 1,
                 str(CONFIG), "--activations", *words)
    test.expect(not out.exists(), f"{how}: nothing is written")
config = dict(read_json(CONFIG), quantization_config={
    "quant_method": "fp8", "activation_scheme": "static"})
static = test.out / "config.json"
static.write_text(json.dumps(config))
test.refused(test.run("compile", static, *SMALL, "--activations", "checkpoint", "-o",
                      test.out / "refused"), "static scales", 1,
             "quantization_config.activation_scheme", "found static", "expected dynamic")

# ---- What the proofs see ----------------------------------------------------

GROUPS = ["--against", CONFIG, "--activations", "fp8:group16"]
run = test.run("verify", test.out / "groups", *GROUPS)
test.expect(run.status == 0, "the plan is the config's program", run)
test.refused(test.run("verify", test.out / "groups", "--against", CONFIG),
             "it is not that of the model's own type", 1, "differs from the imported program")
test.refused(test.run("verify", test.out / "groups", "--against", CONFIG, "--activations", "fp8"),
             "nor that with a scale for each row", 1, "has the shape [?, 4], expected [?, 1]")
test.refused(test.run("verify", test.out / "groups", "--against", CONFIG, "--activations", "x"),
             "--activations of verify", 2, "found 'x'")


def edited(what, change, *words):
    changed = copy.deepcopy(plan)
    change(changed, [s for s in steps(changed) if s["kind"] == "quantize"],
           [s for s in steps(changed) if s["kind"] == "dequantize"])
    path = test.out / f"{what.replace(' ', '-')}.json"
    path.write_text(json.dumps(changed))
    run = test.run("verify", path, *GROUPS)
    test.expect(run.status == 1 and all(w in run.stderr + run.stdout for w in words), what, run)


def other_format(changed, quantizers, _):
    quantizers[0]["attrs"]["format"] = "fp8_e5m2"
    for variant in changed["variants"]:
        for buffer in variant["buffers"]:
            if buffer["id"] == quantizers[0]["args"]["values"]:
                buffer["dtype"] = "fp8_e5m2"


edited("another format", other_format, "differs from the imported program", "layer.0.attn_rows")
edited("groups of another size",
       lambda _, q, __: q[0]["attrs"].update(group_size=32), "one for every 32 is expected")
edited("scales of other rows", lambda _, q, d: d[1]["args"].update(
    scales=q[0]["args"]["scales"]), "outside its life")
edited("payload taken for numbers",
       lambda _, q, d: d[0].update(kind="cast", args={"input": q[0]["args"]["values"],
                                                      "output": d[0]["args"]["output"]}),
       "only 'dequantize' makes numbers of")
edited("an arena of wider numbers", lambda p, _, __: [
    b.update(arena="float") for v in p["variants"] for b in v["buffers"]
    if b.get("arena") == "narrow"], "'narrow' is expected")

test.finish("quantised activations")
