#!/usr/bin/env python3
"""How long `layline compile` takes, by number of layers and by phase.

The model is Qwen3-235B-A22B with its num_hidden_layers changed. Each row is the median
of several runs of the tool, each a process of its own. `process` is its wall time from
start to exit, `cpu` its processor time on all threads, which other work on the machine
disturbs less; the phases are wall times that the tool's --timing reports. `per layer` is
process / layers; `added` is what each layer more than in the row above adds to cpu.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PHASE = re.compile(r"^phase\s+(\S+)\s+([0-9.]+)", re.MULTILINE)

SETUPS = {
    "one variant": ["--boundaries", "rows"],
    "two variants": ["--boundaries", "auto"],
    "two variants, CP 4": ["--boundaries", "auto", "--cp", "4"],
}

# tool, ms a layer, 94 layers. Not measured here: the project's own measurements of
# November 2026, on a machine of the same kind (2 cores). Read as orders of magnitude:
# none of them does the same work.
QUOTED = [
    ("vLLM 0.31.0, sequence-parallel pass + no-op pass", "36-50", "4.08 s",
     "rewrites AR + norm in FX graphs; builds its patterns in another 2.2-4.5 s"),
    ("XLA, CPU, jit of a sharded model", "25", "about 3.1 s",
     "partitions and compiles to machine code; lowering takes another 8 ms a layer"),
    ("Shardy alone", "4.6", "about 0.43 s",
     "propagates shardings, inserts collectives; leaves AR + norm as it is"),
]


def run_once(command):
    """Runs a command once; returns its output and {"process": ms, "cpu": ms}."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        run = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(run.pid, 0)
        process = (time.perf_counter() - start) * 1e3
        run.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if run.returncode != 0:
        sys.exit(f"{text}{' '.join(map(str, command))}: exit {run.returncode}")
    return text, {"process": process, "cpu": (usage.ru_utime + usage.ru_stime) * 1e3}


def compile_once(layline, config, out, options):
    """Compiles `config` once; returns {column: ms}."""
    text, times = run_once([layline, "compile", config, "--timing", "-o", out, *options])
    phases = {name: float(ms) for name, ms in PHASE.findall(text)}
    if not phases:
        sys.exit(f"{text}{layline} --timing: no line 'phase <name> <ms>'")
    total = phases.pop("total", None)
    # What --timing prints has two decimals.
    if total is not None and abs(total - sum(phases.values())) > 0.01 * (len(phases) + 1):
        sys.exit(f"{text}{layline} --timing: the phases do not add up to their total")
    return {**times, **phases}


def median_of(runs):
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def print_table(rows):
    """`rows` is {layers: {column: ms}}, layers ascending."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    columns += ["per layer", "added"]
    width = [max(9, len(name)) for name in columns]
    print("layers", *(name.rjust(w) for name, w in zip(columns, width)), sep="  ")
    above = None
    for layers, row in rows.items():
        row = {**row, "per layer": row["process"] / layers}
        if above is not None and layers > above:
            row["added"] = (row["cpu"] - rows[above]["cpu"]) / (layers - above)
        above = layers
        cells = (f"{row[name]:.2f}" if name in row else "-" for name in columns)
        print(f"{layers:6}", *(cell.rjust(w) for cell, w in zip(cells, width)), sep="  ")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layline", default=ROOT / "build/bin/layline", type=pathlib.Path)
    parser.add_argument("--config", default=ROOT / "data/models/qwen3-235b-a22b.json", type=pathlib.Path)
    parser.add_argument("--layers", default=[1, 8, 32, 94], type=int, nargs="+")
    parser.add_argument("--repeat", default=15, type=int)
    parser.add_argument("--tp", default=8, type=int)
    parser.add_argument("--target", default="h200x8")
    parser.add_argument("--tokens", default="1:8192")
    args = parser.parse_args()
    options = ["--tp", str(args.tp), "--target", args.target, "--tokens", args.tokens]
    model = json.loads(args.config.read_text())

    runs = {setup: {layers: [] for layers in sorted(args.layers)} for setup in SETUPS}
    start = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        # By turns, so that what else the machine does meets all rows alike.
        for _ in range(args.repeat):
            start.append(run_once([args.layline, "compile", "--help"])[1])
            for layers in args.layers:
                config = scratch / f"{layers}.json"
                config.write_text(json.dumps({**model, "num_hidden_layers": layers}))
                for setup, boundaries in SETUPS.items():
                    runs[setup][layers].append(
                        compile_once(args.layline, config, scratch / "plan", options + boundaries))

    for setup, boundaries in SETUPS.items():
        print(f"{args.config.stem}, {' '.join(options + boundaries)} ({setup}): "
              f"milliseconds, median of {args.repeat}")
        print_table({layers: median_of(of) for layers, of in runs[setup].items()})

    print("Of every process, starting it (as --help does): "
          "process {process:.2f}, cpu {cpu:.2f}\n".format(**median_of(start)))
    print("Quoted, not measured in this run (bench/README.md):")
    for tool, per_layer, whole, does in QUOTED:
        print(f"  {tool}: {per_layer} ms a layer, {whole} for 94")
        print(f"    {does}")
    print(flush=True)


if __name__ == "__main__":
    main()
