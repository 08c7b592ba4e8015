#!/usr/bin/env python3
"""Golden models on so many ranks, as threads and as processes.

    golden.py LAYLINE OUT RANKS

Both must reproduce the reference, and every value that a run names must have the
same bits in both: f32 within 5e-6, f64 within 1e-10; bf16, emulated, within its
bound where the model makes no choice that rounding may turn (docs/numerics.md).
On 3 ranks f64, on the others bf16.
"""

import json
import re
import sys

from mpi_tests import GOLDEN, Test, read_json, read_tensors, skip_without_mpi

test = Test()
skip_without_mpi(test.layline)
RANKS = int(sys.argv[3])
MODELS = ("llama qwen2 qwen3 qwen3_moe phi3 cohere gemma2 granite phi olmo2 glm4_moe gpt_oss "
          "deepseek_v3 deepseek_v32").split()
# In f32 only.
MORE_MODELS = ("deepseek_v2 falcon falcon_multi_query gemma3_text glm_moe_dsa gpt_neox "
               "gpt_neox_sequential gptj kimi_k2 minimax_m2 stablelm").split()
# Rounding may choose another expert or another key.
CHOOSING = "qwen3_moe glm4_moe gpt_oss deepseek_v3 deepseek_v32".split()
WITH_EXPERTS = "qwen3_moe glm4_moe gpt_oss deepseek_v3 kimi_k2 minimax_m2".split()
# mpirun forwards what ranks print in blocks, so such a line may stand inside
# another rank's.
READ = re.compile(r"rank (\d+) read (\d+) bytes of weights\n")


def options(model):
    """Meshes and boundaries that differ with the number of ranks."""
    if RANKS == 3 and model in WITH_EXPERTS:
        return ["--tp", 3, "--ep", 3, "--experts", "gathered"]
    if RANKS == 4 and model in WITH_EXPERTS:
        return ["--tp", 4, "--ep", 4, "--experts", "dispatched"]
    return {2: ["--tp", 2], 3: ["--tp", 3, "--boundaries", "rows"],
            4: ["--tp", 2, "--cp", 2], 8: ["--tp", 8, "--boundaries", "rows"]}[RANKS]


def run(plan, model, precision, transport, saved):
    return test.run("run", plan, "--weights", GOLDEN / model / "model.safetensors",
                    "--input", GOLDEN / model / "golden.safetensors",
                    "--check", GOLDEN / model / "golden.safetensors", "--save", saved,
                    "--precision", precision, "--transport", transport,
                    *(["--chunk", 7] if RANKS == 2 else []))


def compare(plan, model, precision):
    what = f"{model}, {RANKS} ranks, {precision}"
    saved = {t: test.out / f"{model}-{precision}-{t}.safetensors" for t in ("threads", "mpi")}
    runs = {t: run(plan, model, precision, t, saved[t]) for t in saved}
    for transport, done in runs.items():
        # Of a model that chooses, only that both are off alike is asked in bf16.
        good = (0, 1) if precision == "bf16" and model in CHOOSING else (0,)
        said = re.sub(READ, "", done.stdout)
        test.expect(done.status in good and "tensors compared" in said,
                    f"{what}: {transport}", done)
    if all(path.exists() for path in saved.values()):
        threads, mpi = (read_tensors(path) for path in saved.values())
        differing = [name for name in threads if threads[name] != mpi.get(name)]
        test.expect(threads.keys() == mpi.keys() and not differing and len(threads) > 10,
                    f"{what}: bits over threads and processes", differing or len(threads))
    # Each process looked at its own slices only.
    read = dict(re.findall(READ, runs["mpi"].stdout))
    test.expect(read.keys() == {str(r) for r in range(RANKS)} and len(read) == RANKS,
                f"{what}: every rank read weights", read)


models = {path.parent.name for path in GOLDEN.glob("*/golden.safetensors")}
unlisted = models ^ {*MODELS, *MORE_MODELS}
test.expect(not unlisted, f"the lists have every model of {GOLDEN} and no other", sorted(unlisted))
for model in MODELS + MORE_MODELS:
    plan = test.compile(GOLDEN / model / "config.json", test.out / model, *options(model),
                        "--target", "cpu", "--tokens", "1:64")
    compare(plan, model, "f32")
    if model in MORE_MODELS:
        continue
    if RANKS == 3:
        compare(plan, model, "f64")
        continue
    config = dict(read_json(GOLDEN / model / "config.json"), dtype="bfloat16")
    config.pop("torch_dtype", None)
    (test.out / f"{model}-bf16.json").write_text(json.dumps(config))
    plan = test.compile(test.out / f"{model}-bf16.json", test.out / f"{model}-bf16",
                        *options(model), "--target", "cpu", "--tokens", "1:64")
    compare(plan, model, "bf16")
test.finish(f"{len(MODELS + MORE_MODELS)} models on {RANKS} ranks, as threads and as processes")
