#!/usr/bin/env python3
"""How long `layline compile` takes, by number of layers and by phase.

The model is Qwen3-235B-A22B with its num_hidden_layers changed. Each row is the median
of several runs of the tool, each a process of its own: `total` is the process from start
to exit, the phases are what the tool's --timing reports.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PHASE = re.compile(r"^phase\s+(\S+)\s+([0-9.]+)", re.MULTILINE)


def compile_once(layline, config, out, options):
    """Compiles `config` once; returns {phase: ms}, with "total" the whole process."""
    command = [layline, "compile", config, "--timing", "-o", out, *options]
    start = time.perf_counter()
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    total = (time.perf_counter() - start) * 1e3
    if run.returncode != 0:
        sys.exit(f"{run.stdout}{' '.join(map(str, command))}: exit {run.returncode}")
    phases = {name: float(ms) for name, ms in PHASE.findall(run.stdout)}
    if not phases:
        sys.exit(f"{run.stdout}{layline} --timing: no line 'phase <name> <ms>'")
    phases.pop("total", None)
    return {"total": total, **phases}


def median_of(runs):
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layline", default=ROOT / "build/bin/layline", type=pathlib.Path)
    parser.add_argument("--config", default=ROOT / "data/models/qwen3-235b-a22b.json", type=pathlib.Path)
    parser.add_argument("--layers", default=[1, 8, 32, 94], type=int, nargs="+")
    parser.add_argument("--repeat", default=9, type=int)
    parser.add_argument("--tp", default=8, type=int)
    parser.add_argument("--target", default="h200x8")
    parser.add_argument("--tokens", default="1:8192")
    args = parser.parse_args()
    options = ["--tp", str(args.tp), "--target", args.target, "--tokens", args.tokens]
    model = json.loads(args.config.read_text())

    rows = {}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for layers in args.layers:
            config = scratch / f"{layers}.json"
            config.write_text(json.dumps({**model, "num_hidden_layers": layers}))
            runs = [compile_once(args.layline, config, scratch / "plan", options)
                    for _ in range(args.repeat)]
            rows[layers] = median_of(runs)

    print(f"{args.config.stem}, {' '.join(options)}: milliseconds, median of {args.repeat}")
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    width = [max(9, len(name)) for name in columns]
    print("layers", *(name.rjust(w) for name, w in zip(columns, width)), sep="  ")
    for layers, row in rows.items():
        cells = (f"{row[name]:.1f}" if name in row else "-" for name in columns)
        print(f"{layers:6}", *(cell.rjust(w) for cell, w in zip(cells, width)), sep="  ")


if __name__ == "__main__":
    main()
