#!/usr/bin/env python3
"""Recordings on the plans of other models and layouts: each is refused with its reason.

The B200 run states its operators' dimensions; the graphs that are replayed state
none, so that only the number and the kinds of kernels tell their models apart.
"""

from layline_tests import MODELS, ROOT, Test, each

test = Test()
TRACES = ROOT / "test" / "traces"
B200 = TRACES / "b200_tp8_vllm_gptoss120b_prefill888.json.gz"
VLLM = TRACES / "mi300x_vllm_gptoss20b_decode32.json.gz"
SGLANG = TRACES / "mi300x_sglang_qwen3_8b_decode32.json.gz"
HEADS = "tell a rank's KV heads contradict the plan: layer.0.key: found 1 x 64 heads"
# Recording, model, ranks, and what is said; nothing: it is that run.
CASES = [
    (B200, "gpt-oss-120b", 8),
    (B200, "qwen3-30b-a3b", 8, "found 2880 columns, expected 2048",
     "logits: found 201088 elements, expected a multiple of 151936",
     "found kernels of 36 layers in it, expected 48"),
    (B200, "qwen3-235b-a22b", 8, "found 2880 columns, expected 4096",
     "found kernels of 36 layers in it, expected 94"),
    (B200, "gpt-oss-20b", 8, "found 2880 x 128 (aten::addmm), expected 2880 x 32", "expected 24"),
    (B200, "command-r-35b", 8),
    (B200, "gpt-oss-120b", 1, "found 74 collectives in the run", HEADS),
    (B200, "gpt-oss-120b", 2, "found 2880 x 640 (aten::addmm), expected 2880 x 2560", HEADS),
    (B200, "gpt-oss-120b", 4, "found 2880 x 640 (aten::addmm), expected 2880 x 1280",
     "found 8 x 64 heads (vllm::unified_attention_with_output), expected 16 x 64", HEADS),
    (B200, "gpt-oss-120b", 16, "found 512 x 2880 (aten::addmm), expected 256 x 2880",
     "found 8 ranks in all, expected 16"),
    (VLLM, "gpt-oss-20b", 1),
    (VLLM, "gpt-oss-120b", 1, "found kernels of 24 layers in it, expected 36"),
    (VLLM, "qwen3-30b-a3b", 1, "expected"),
    (VLLM, "gpt-oss-20b", 2, "found kernels of 0 collectives of the plan, expected 50"),
    (SGLANG, "qwen3-8b", 1),
    (SGLANG, "qwen3-32b", 1, "found kernels of 36 layers in it, expected 64"),
    (SGLANG, "qwen3-0.6b", 1, "expected 28"),
    (SGLANG, "llama-3.1-70b", 1),
    (SGLANG, "qwen3-8b", 2, "found kernels of 0 collectives of the plan, expected 74"),
]
OWN = {CASES[0], (VLLM, "gpt-oss-20b", 1), (SGLANG, "qwen3-8b", 1)}


def plan_of(model, tp):
    return "--model", MODELS / f"{model}.json", "--tp", tp


def check(case):
    recording, model, tp, *words = case
    what = f"{recording.name.split('_')[0]} on {model} at TP {tp}"
    run = test.run("trace", "map", recording, *plan_of(model, tp))
    if case in OWN:
        test.expect(run.status == 0, what, run)
    else:
        test.refused(run, what, 1, f"{recording}: device", "another model's or layout's run", *words)
        test.expect(not run.stdout, f"{what}: no output", run.stdout)


each(check, CASES)
# The other commands that map refuse it as well, also a plan from a folder, and write nothing.
plan = test.compile(MODELS / "qwen3-30b-a3b.json", test.out / "plan", "--tp", 8, "--target",
                    "b200x8", "--boundaries", "whole")
page = test.out / "page.html"
for what, arguments in {
        "map": ("trace", "map", B200, "--plan", plan),
        "budget": ("trace", "budget", B200, "--plan", plan, "--what-if", plan,
                   "--target", "b200x8"),
        "report": ("report", plan, "--trace", B200, "-o", page)}.items():
    test.refused(test.run(*arguments), f"{what} of another model's plan", 1,
                 "144 of 144 places that tell the width of rows contradict the plan",
                 "another model's or layout's run")
test.expect(not page.exists(), "no page is written")
test.finish("recordings on other plans")
