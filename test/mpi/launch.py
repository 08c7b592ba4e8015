#!/usr/bin/env python3
"""`layline run --transport mpi` as a command: what it leaves behind.

    launch.py LAYLINE OUT

A trace is a file for each rank. When mpirun is killed while its ranks hang, no
rank stays.
"""

import json
import os
import pathlib
import signal
import subprocess
import time

from mpi_tests import GOLDEN, Test, skip_without_mpi

RANKS = 2

test = Test()
skip_without_mpi(test.layline)
model = GOLDEN / "llama"
plan = test.compile(model / "config.json", test.out / "plan", "--tp", RANKS, "--target", "cpu",
                    "--tokens", "1:64")
command = ["run", plan, "--weights", model / "model.safetensors", "--input",
           model / "golden.safetensors", "--transport", "mpi"]

# ---- Traces ------------------------------------------------------------------
trace = test.out / "trace.json"
done = test.run(*command, "--trace", trace, "--chunk", 12)
test.expect(done.status == 0, "a trace of every rank", done)
for rank in range(RANKS):
    path = pathlib.Path(f"{trace}.rank{rank}")
    if not test.expect(path.exists(), f"rank {rank} has written its trace", done):
        continue
    events = json.loads(path.read_text())["traceEvents"]
    test.expect({e["pid"] for e in events} == {rank}, f"rank {rank} has its own steps only")
    test.expect(len({e["args"]["run"] for e in events if e["ph"] == "X"}) == 2,
                f"rank {rank}: both runs")
test.expect(not trace.exists(), "no file without a rank")


# ---- mpirun is killed --------------------------------------------------------
def stat(pid):
    """State and parent of a process."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return text[0], int(text[1])


def children(pid):
    """Processes below pid."""
    parents = {}
    for folder in pathlib.Path("/proc").iterdir():
        try:
            parents[int(folder.name)] = stat(folder.name)[1]
        except (ValueError, OSError):
            pass  # no process, or one that has just ended
    found = [pid]
    for above in found:
        found += [child for child, parent in parents.items() if parent == above]
    return found[1:]


def is_alive(pid):
    try:
        return stat(pid)[0] != "Z"
    except OSError:
        return False


def ranks_of(pid):
    found = []
    for child in children(pid):
        try:
            if os.readlink(f"/proc/{child}/exe") == os.path.realpath(test.layline):
                found.append(child)
        except OSError:
            pass
    return found


def has_begun(pid):
    """Whether the rank has loaded what knows MPI, which it does as it runs."""
    try:
        return "liblayline_mpi" in pathlib.Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


# The ranks wait for a file that nobody writes, and then for nothing at all.
fifo = test.out / "weights.safetensors"
os.mkfifo(fifo)
command[3] = fifo
mpirun = subprocess.Popen([test.layline, *map(str, command)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
ranks = []
while mpirun.poll() is None and not (len(ranks) == RANKS and all(map(has_begun, ranks))):
    ranks = ranks_of(mpirun.pid)
    time.sleep(0.05)
test.expect(mpirun.poll() is None and len(ranks) == RANKS, "mpirun has started the ranks",
            f"found {ranks}, exit {mpirun.poll()}")
for rank in ranks:
    os.kill(rank, signal.SIGSTOP)
mpirun.kill()
mpirun.wait()
# ctest's limit ends this where they stay.
while any(map(is_alive, ranks)):
    time.sleep(0.05)
test.expect(True, "no rank outlives mpirun")

test.finish("ranks that the tool launches")
