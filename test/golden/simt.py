#!/usr/bin/env python3
"""Golden models on emulated GPUs: `layline run --device simt`.

    simt.py LAYLINE OUT [every]

Families are compiled for 2, 3, 4 or 8 ranks and run in three ways: every recorded
tensor within the float32 bound; the same with another mode of the emulator and
another seed, which must give the same bits; the outputs within the bound while
nothing else is asked for, so that no step runs in pieces for that. The run itself
compares what ranks hold alike. Rows in fp8 are compared with the device cpu, whose
payloads they must equal. A step that runs on the cpu although kernels are looked for
must say one of the reasons below. With `every`: each model on 2, 3, 4 and 8 ranks,
once.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from layline_tests import GOLDEN, Test  # noqa: E402

MODES = ["weak", "race", "starve", "residency"]
#: Model, ranks of tensor parallelism, options of the compiler.
CASES = [("llama", 4, ()), ("llama", 8, ()), ("qwen3_moe", 2, ()), ("qwen3_moe", 8, ()),
         ("gemma2", 2, ()), ("gemma2", 3, ()), ("gpt_neox", 3, ()), ("gpt_neox", 4, ()),
         ("gpt_oss", 2, ()), ("gpt_oss", 4, ()), ("deepseek_v3", 3, ()),
         ("deepseek_v3", 8, ()), ("olmo2", 2, ())]
CASES += [("llama", 2, ("--cp", 2)), ("deepseek_v32", 2, ("--cp", 2)),
          ("qwen3_moe", 2, ("--cp", 2, "--cp-split", "contiguous")),
          ("qwen3_moe", 3, ("--ep", 3, "--experts", "dispatched")),
          ("qwen3_moe", 4, ("--activations", "fp8")),
          ("qwen3_moe", 3, ("--activations", "fp8:group16")),
          ("llama", 8, ("--boundaries", "whole"))]
REASONS = [
    r"'[\w.]+' is asked for, which the kernel keeps to itself",
    r"no kernel of rows does (dispatch|combine|add_expert_bias|slice_columns|norm_by)",
    r"no kernel of rows takes (i64|f8E4M3FN|fp8_e4m3|values with scales)",
    r"(\w+: )?(it takes another value|the kernel's order is another one)",
    r".*: width \d+, expected a multiple of 8 elements",
    r"member \d holds \d+ of \d+ (columns|rows), kernels .*",
    r"a weight of \d+ elements for rows of \d+",  # each head's own
    r"no kernel is (row_collective|one_shot) f32 .*",
    r"rows leave it that are gathered quantized",
    r"a value leaves it that a kernel keeps in registers",
]

test = Test()


def run(plan, model, *arguments):
    return test.run("run", plan, "--weights", GOLDEN / model / "model.safetensors",
                    "--input", GOLDEN / model / "golden.safetensors", "--tokens", 13, *arguments)


def good(what, done):
    return test.expect(done.status == 0, what, f"{done}\n{done.stdout[-3000:]}")


def check_reasons(what, done):
    launched = 0
    for line in done.stdout.split("against ")[0].splitlines():
        found = re.match(r" +(\d+)  \S+ +(.*)", line)
        if not found or found[2] == "the engine's own, on the cpu":
            continue
        reason = re.match(r"(?:on the cpu|its pieces): (.*)", found[2])
        launched += 0 if reason else int(found[1])
        test.expect(not reason or any(re.fullmatch(r, reason[1]) for r in REASONS),
                    f"{what}: a reason that is known", line)
    test.expect(launched >= 10, f"{what}: steps are launched", done.stdout)


def compile_plan(number, model, tp, options):
    folder = test.out / str(number)
    boundaries = () if "--boundaries" in options else ("--boundaries", "rows")
    return test.compile(GOLDEN / model / "config.json", folder, "--tp", tp, "--target",
                        "cpu", "--tokens", "1:64", *boundaries, *options)


def check_once(number, model, tp):
    """Every recorded tensor, in one mode of the emulator."""
    mode = f"{MODES[(number + number // 4) % len(MODES)]},seed={number + 1}"
    plan = compile_plan(number, model, tp, ())
    done = run(plan, model, "--device", "simt", "--simt", mode, "--check",
               GOLDEN / model / "golden.safetensors")
    if good(f"{model} TP {tp}, {mode}", done):
        check_reasons(f"{model} TP {tp}, {mode}", done)


def check_case(number, model, tp, options):
    what = " ".join(map(str, (model, "TP", tp, *options)))
    folder = test.out / str(number)
    plan = compile_plan(number, model, tp, options)
    reference = GOLDEN / model / "golden.safetensors"
    if "--activations" in options:
        reference = folder / "cpu.safetensors"
        good(f"{what}: on the cpu", run(plan, model, "--save", reference))
    mode = MODES[number % len(MODES)]
    saved = [folder / "plain.safetensors", folder / "hard.safetensors"]
    modes = ("plain,seed=1", f"{mode},seed={number + 2}")
    for path, options in zip(saved, modes):
        done = run(plan, model, "--device", "simt", "--simt", options, "--check", reference,
                   "--save", path)
        if good(f"{what}, {options}", done):
            check_reasons(f"{what}, {options}", done)
    done = run(plan, model, "--device", "simt", "--simt", modes[1], "--check", reference,
               "--outputs-only")
    good(f"{what}, {modes[1]}, outputs", done)
    test.expect("is asked for" not in done.stdout, f"{what}: nothing is asked for",
                done.stdout)
    if saved[1].exists():
        test.expect(saved[0].read_bytes() == saved[1].read_bytes(),
                    f"{what}: the bits of plain and {mode}")


if sys.argv[3:] == ["every"]:
    models = sorted(path.parent.name for path in GOLDEN.glob("*/golden.safetensors"))
    for number, (model, tp) in enumerate((m, tp) for m in models for tp in (2, 3, 4, 8)):
        check_once(number, model, tp)
else:
    for number, case in enumerate(CASES):
        check_case(number, *case)

test.finish("golden models on emulated GPUs")
