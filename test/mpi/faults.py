#!/usr/bin/env python3
"""One rank goes wrong: every other one ends with an error that names it, none
waits for ever, and nothing is written.

    faults.py LAYLINE OUT RANK_FAULTS
"""

import json
import os
import re
import sys

from mpi_tests import (GOLDEN, Run, Test, mpirun, read_json, read_tensors, script,
                       skip_without_mpi, write_tensors)

test = Test()
skip_without_mpi(test.layline)
FAULTS = os.path.abspath(sys.argv[3])
MODEL = GOLDEN / "llama"
WEIGHTS, RECORD = MODEL / "model.safetensors", MODEL / "golden.safetensors"
PLAN = test.compile(MODEL / "config.json", test.out / "plan", "--tp", 4, "--target", "cpu",
                    "--tokens", "1:64", "--boundaries", "rows")
BAD = 2  # the rank that goes wrong


# ---- In the middle of a run --------------------------------------------------
def fault(kind, transport, timeout):
    command = [FAULTS, PLAN / "plan.json", WEIGHTS, transport, timeout, kind, BAD]
    done = mpirun(4, *command) if transport == "mpi" else Run(command)
    lines = dict(re.findall(r"rank (\d): (.*)", done.stdout))
    return done, {int(rank): text for rank, text in lines.items()}


def told(kind, timeout, *words, silent=()):
    """All ranks but the `silent` ones fail, and say all `words`."""
    done, lines = fault(kind, "mpi", timeout)
    for rank in set(range(4)) - set(silent):
        text = lines.get(rank, "nothing")
        test.expect("without an output" in text and "ok" not in text.split(":")[0]
                    and all(word in text for word in words),
                    f"{kind}: what rank {rank} says", f"{text}; {done}")
    test.expect(done.status != 0, f"{kind}: mpirun's status", done)
    return lines


for kind in ("none", "late"):
    for transport in ("threads", "mpi"):
        done, lines = fault(kind, transport, 300)
        test.expect(done.status == 0 and len(lines) == (4 if transport == "mpi" else 1)
                    and all("ok with an output" in text for text in lines.values()),
                    f"{kind}, {transport}", f"{lines}; {done}")
# The timeout is far off: it is seen, not waited for.
for kind in ("kill", "exit"):
    told(kind, 300, f"rank {BAD} (process ", "has ended", silent=[BAD])
lines = told("fail", 300, "(linear", f"on rank {BAD}: ", "the card is lost")
test.expect(all(f"rank {BAD} (process " in text for rank, text in lines.items() if rank != BAD),
            "fail: others name the rank", lines)
told("memory", 300, "allocator has no", f"of rank {BAD}")
# It sleeps while the others give up; mpirun may end it before it wakes.
told("hang", 5, "waited 5 s for", f"rank {BAD} (process ", silent=[BAD])

done, lines = fault("fail", "threads", 300)
test.expect(done.status == 1 and f"on rank {BAD}: " in lines.get(0, "")
            and "the card is lost" in lines[0] and "without an output" in lines[0],
            "fail, threads", f"{lines}; {done}")
done, lines = fault("memory", "threads", 300)
test.expect(done.status == 1 and f"of rank {BAD}" in lines.get(0, ""), "memory, threads", done)
done, lines = fault("hang", "threads", 3)
test.expect(done.status == 1 and "waited 3 s for" in lines.get(0, "")
            and f"rank {BAD}" in lines[0] and "without an output" in lines[0],
            "hang, threads", f"{lines}; {done}")


# ---- What one rank alone is given --------------------------------------------
def ranks(count, name, **given):
    """`layline run` on so many processes; rank BAD gets what is `given`."""
    usual = {"plan": PLAN, "weights": WEIGHTS, "input": RECORD, "more": ""}
    saved = test.out / f"{name}.saved"

    def command(plan, weights, input, more):
        return (f"exec {test.layline} run {plan} --weights {weights} --input {input} {more} "
                f"--save {saved} --transport mpi\n")
    done = mpirun(count, script(
        test.out / f"{name}.sh", f"[ $OMPI_COMM_WORLD_RANK = {BAD} ] && "
        + command(**{**usual, **given}) + command(**usual)))
    left = [str(path) for path in test.out.glob(f"{name}.saved*")]
    test.expect(done.status == 0 or not left, f"{name}: nothing is written", left)
    return done, saved


def refused(count, name, everybody, others="", **given):
    done, _ = ranks(count, name, **given)
    for rank in range(count):
        said = [line for line in done.stderr.splitlines() if line.startswith(f"rank {rank}: ")]
        expected = everybody if rank == BAD or not others else (everybody, others)
        expected = (expected,) if isinstance(expected, str) else expected
        test.expect(said and all(word in " ".join(said) for word in expected),
                    f"{name}: what rank {rank} says", f"expected {expected}; {said}; {done}")
    test.expect(done.status != 0, f"{name}: status", done)


done, saved = ranks(4, "good")
test.expect(done.status == 0 and saved.exists(), "nothing wrong", done)
names = f"rank {BAD} (process "
cut = test.out / "cut.safetensors"
cut.write_bytes(WEIGHTS.read_bytes()[:100000])
refused(4, "cut", "cut.safetensors", names, weights=cut)
Q = "model.layers.0.self_attn.q_proj.weight"
tensors = read_tensors(WEIGHTS)
tensors[Q][1] = tensors[Q][1][::-1] if tensors[Q][1][0] != tensors[Q][1][1] else [1, *tensors[Q][1]]
write_tensors(test.out / "turned.safetensors", tensors)
refused(4, "turned", Q, names, weights=test.out / "turned.safetensors")
del tensors[Q]
write_tensors(test.out / "few.safetensors", tensors)
refused(4, "few", Q, names, weights=test.out / "few.safetensors")
refused(4, "none", "nowhere.safetensors", names, weights=test.out / "nowhere.safetensors")
other = test.compile(MODEL / "config.json", test.out / "other", "--tp", 4, "--target", "cpu",
                     "--tokens", "1:64", "--boundaries", "whole")
refused(4, "other-plan", f"rank {BAD} and rank 0 do not have the same plan", plan=other)
refused(4, "other-run", f"rank {BAD} and rank 0 do not have the same run", more="--tokens 5")
refused(4, "other-precision", f"rank {BAD} and rank 0 do not have the same options",
        more="--precision f64")
refused(3, "three-ranks", "the plan is for 4 ranks, 3 processes run")

# ---- What all are given ------------------------------------------------------
# Activations have too little room: the plan is refused by everybody.
small = read_json(PLAN / "plan.json")
for variant in small["variants"]:
    for arena in variant["arenas"]:
        arena["bytes"] //= 2
(test.out / "small.json").write_text(json.dumps(small))
done = test.run("run", test.out / "small.json", "--weights", WEIGHTS, "--input", RECORD,
                "--transport", "mpi")
test.refused(done, "arenas that are too small", 1, "arena")
done = test.run("run", PLAN, "--weights", WEIGHTS, "--input", RECORD, "--check", RECORD,
                "--transport", "mpi", "--rtol", "1e-30")
test.expect(done.status == 1 and done.stdout.count("NOT EQUAL") == 1, "numbers not equal", done)

# ---- Each reads its own slices -----------------------------------------------
# In this model and on 4 ranks all slices of a weight are equally long, and it is
# stored in the type that the plan has.
done = test.run("run", PLAN, "--weights", WEIGHTS, "--input", RECORD, "--transport", "mpi")
read = {int(r): int(b) for r, b in re.findall(r"rank (\d) read (\d+) bytes", done.stdout)}
slices = sum(weight["bytes_per_rank"] for weight in read_json(PLAN / "plan.json")["weights"])
stored = sum(len(data) for _, _, data in read_tensors(WEIGHTS).values())
test.expect(done.status == 0 and read == {rank: slices for rank in range(4)}
            and slices < stored / 2, "every rank reads its slices and no more",
            f"{read}, slices {slices}, stored {stored}; {done}")

# ---- Machines without MPI ----------------------------------------------------
arguments = ["run", PLAN, "--weights", WEIGHTS, "--input", RECORD, "--transport", "mpi"]
done = Run(["env", "PATH=/nonexistent", test.layline, *arguments])
test.refused(done, "no mpirun", 1, "mpirun cannot be started", "openmpi-bin")
alone = test.out / "alone"
alone.mkdir()
os.link(test.layline, alone / "layline")
done = Run(["env", "OMPI_COMM_WORLD_RANK=0", alone / "layline", *arguments])
test.refused(done, "no liblayline_mpi.so", 1, "liblayline_mpi.so is not found", "libopenmpi-dev")
done = Run([test.layline, *arguments[:-1], "smoke"])
test.refused(done, "a transport that is not known", 2, "--transport", "'smoke'", "threads or mpi")
for timeout in ("0", "-1", "x"):
    test.refused(Run([test.layline, *arguments, "--timeout", timeout]), f"--timeout {timeout}", 2,
                 "--timeout", "found")
test.finish("ranks that go wrong")
