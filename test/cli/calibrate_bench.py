#!/usr/bin/env python3
"""What `make gpu-bench` prints becomes a calibration, and a plan rests on it.

calibrate_bench.py LAYLINE OUT EMULATED_BENCH

The bench runs on emulated cards: its times are the fake driver's, its text is
what a machine with GPUs prints.
"""

import re
import subprocess
import sys

from layline_tests import MODELS, ROOT, Test, read_json

test = Test()
TARGET, KERNELS = "h200x8", ROOT / "examples" / "kernels" / "layline.h200x8.json"


def bench(cards):
    done = subprocess.run([sys.argv[3], str(cards)], capture_output=True, text=True)
    test.expect(done.returncode == 0, f"the bench on {cards} cards",
                f"exit {done.returncode}: {done.stderr[-400:]}")
    path = test.out / f"bench{cards}.csv"
    path.write_text(done.stdout)
    return path, done.stdout


def calibrate(path, out):
    return test.run("calibrate", path, "--target", TARGET, "--date", "2026-11-30", "-o", out)


def rows_of(text):
    """Of the table: (op, ranks, algorithm) -> [[bytes, us], ...]."""
    curves = {}
    for line in text.splitlines():
        if line.startswith("#") or line.startswith("op,"):
            continue
        op, ranks, size, us, algorithm = line.split(",")
        curves.setdefault((op, int(ranks), algorithm), []).append([int(size), float(us)])
    return curves


# ---- Four cards: ranks with a card each ---------------------------------------
path, text = bench(4)
printed = rows_of(text)
out = test.out / "four.json"
run = calibrate(path, out)
if test.expect(run.status == 0 and not run.stderr, "what four cards print is read", run):
    made = {(c["op"], c["ranks"], c["algorithm"]): c["points"] for c in read_json(out)["curves"]}
    kept = {key: sorted(points) for key, points in printed.items()
            if not key[2].endswith(":one_card")}
    test.expect(made == kept, "every row of ranks with a card each is in the calibration",
                sorted(set(map(str, kept.items())) ^ set(map(str, made.items())))[:4])
    left = len(printed) - len(kept)
    test.expect(left > 0 and f"left out {left} curves of ranks that share a card" in run.stdout,
                "rows of ranks that share a card are left out, and it says so", run)
    for op in ("all_reduce", "reduce_scatter", "all_gather", "reduce_scatter_epilogue",
               "epilogue_all_gather", "reduce_scatter_epilogue_all_gather", "all_reduce_epilogue"):
        test.expect(any(key[:2] == (op, 4) for key in made), f"{op} on 4 ranks is measured",
                    sorted(made))
    test.expect(("all_reduce", 4, "nccl") in made, "NCCL too", sorted(made))

# ---- A plan rests on it -------------------------------------------------------
MODEL = MODELS / "llama-3.1-8b.json"


def sources(name, *options):
    plan = test.compile(MODEL, test.out / name, "--tp", 4, "--target", TARGET, "--tokens", "1:8",
                        *options)
    return {site["source"] for price in read_json(plan / "decisions.json")["prices"]
            for site in price["sites"].values()}


before = sources("before")
test.expect(not any("calibration" in s for s in before), "a plan without it", before)
after = sources("after", "--calibration", out, "--kernels", KERNELS)
test.expect(any(re.search(r"calibration 2026-11-30 H200.* layline_", s) for s in after),
            "with it, prices name Layline's kernels and the calibration", after)

# ---- One card: no link is in any group's time ----------------------------------
path, one = bench(1)
run = calibrate(path, test.out / "one.json")
if test.expect(run.status == 0, "what one card prints is read", run):
    made = read_json(test.out / "one.json")["curves"]
    test.expect({c["op"] for c in made} == {"row_kernel"}, "of one card row kernels are kept", made)

# ---- What is not whole --------------------------------------------------------
never = test.out / "never.json"


def refused(name, changed, *words):
    bad = test.out / f"{name}.csv"
    bad.write_text(changed)
    test.refused(calibrate(bad, never), name, 2, f"{name}.csv:", *words)
    test.expect(not never.exists(), f"{name} writes nothing")


lines = text.splitlines(keepends=True)
half = len(lines) // 2
refused("cut-line", "".join(lines[:half]), "found the end of the file", "expected '# end: ",
        "was the file cut?")
refused("cut-cell", "".join(lines[:half]) + lines[half][:9], "cells, expected 5")
refused("cut-end", text[:-6], "was the file cut?")
refused("cut-head", "".join(lines[:2]), "found the end of the file",
        "expected op,ranks,bytes,us,algorithm")
refused("dropped-row", "".join(lines[:half] + lines[half + 1:]), "found '# end: ",
        "expected '# end: ")
refused("no-bytes", "".join(line if line[0] == "#" else ",".join(
    cell for i, cell in enumerate(line.split(",")) if i != 2) for line in lines),
    "found 'op,ranks,us,algorithm'", "expected op,ranks,bytes,us,algorithm")
cells = lines[half].split(",")
for us, words in ((f"-{cells[3]}", "expected microseconds above 0"),
                  ("0", "expected microseconds above 0"), ("nan", "expected microseconds above 0")):
    refused("us" + us.replace(".", "_"), "".join(lines[:half] + [",".join(
        [*cells[:3], us, cells[4]])] + lines[half + 1:]), f"us: found '{us}'", words)
test.finish("calibrate-bench")
