#!/usr/bin/env python3
"""What the runtime spends outside matrix products, for a tiny and a middle-sized Llama.

Compiles both for one and for four ranks and hands the plans to runtime_overhead, which
says what its figures mean.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "test/golden/llama/config.json"
MIDDLE = {"hidden_size": 1024, "num_hidden_layers": 4, "intermediate_size": 2816,
          "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 64,
          "vocab_size": 4096, "max_position_embeddings": 4096}
# model, ranks, boundaries, token counts
SETUPS = [("golden", 1, "whole", [1, 24]),
          ("golden", 4, "whole", [1, 24]),
          ("golden", 4, "rows", [24]),
          ("middle", 1, "whole", [1, 64, 256]),
          ("middle", 4, "whole", [64]),
          ("middle", 4, "rows", [64])]


def best_blas_core():
    """The OpenBLAS kernels for this processor.

    OpenBLAS falls back to SSE kernels on a processor that is younger than itself; against
    those every engine would look good.
    """
    if os.environ.get("OPENBLAS_CORETYPE"):
        return os.environ["OPENBLAS_CORETYPE"]
    try:
        flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return "auto"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        return "SkylakeX"
    return "Haswell" if {"avx2", "fma"} <= flags else "auto"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layline", default=ROOT / "build/bin/layline", type=pathlib.Path)
    parser.add_argument("--benchmark", default=ROOT / "build/bin/runtime_overhead", type=pathlib.Path)
    parser.add_argument("--model", choices=["golden", "middle"], help="only this one")
    parser.add_argument("--blas-core", default=best_blas_core(),
                        help="OPENBLAS_CORETYPE, or auto: what OpenBLAS takes by itself; here %(default)s")
    parser.add_argument("--rounds", default=31, type=int)
    args = parser.parse_args()
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    if args.blas_core != "auto":
        environment["OPENBLAS_CORETYPE"] = args.blas_core
    golden = json.loads(GOLDEN.read_text())
    models = {"golden": golden, "middle": {**golden, **MIDDLE}}

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for model, tp, boundaries, token_counts in SETUPS:
            if args.model not in (None, model):
                continue
            config, plan = scratch / f"{model}.json", scratch / f"{model}-{tp}-{boundaries}"
            config.write_text(json.dumps(models[model]))
            command = [args.layline, "compile", config, "--tp", str(tp), "--target", "cpu",
                       "--tokens", "1:64" if model == "golden" else "1:256",
                       "--boundaries", boundaries, "-o", plan]
            compiled = subprocess.run(command, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
            if compiled.returncode != 0:
                sys.exit(f"{compiled.stdout}{' '.join(map(str, command))}: exit {compiled.returncode}")
            for tokens in token_counts:
                print(f"{model}, --tp {tp} --boundaries {boundaries}", flush=True)
                subprocess.run([args.benchmark, plan / "plan.json", str(tokens), str(args.rounds)],
                               check=True, env=environment)


if __name__ == "__main__":
    main()
