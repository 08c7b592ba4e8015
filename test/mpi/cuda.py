#!/usr/bin/env python3
"""Device cuda in several processes, on emulated cards: NCCL between them, kernels
inside, the bits of one process; and what every process is told when one of them
goes wrong.

    cuda.py LAYLINE OUT CUDA_RANKS
"""

import os
import re
import shutil
import sys

from mpi_tests import Run, Test, mpirun, skip_without_mpi

test = Test()
skip_without_mpi(test.layline)
RANKS = os.path.abspath(sys.argv[3])
# Where the emulated NCCL leaves its messages.
messages = test.out / "messages"
shutil.rmtree(messages, ignore_errors=True)
messages.mkdir(parents=True)
os.environ["TMPDIR"] = str(messages.resolve())
LONG = 300  # seconds: nothing here takes them


def run(processes, plan, model, *, cards, island=0, machines="each", fault="none", bad=0,
        timeout=LONG):
    """What each process says, by its number, and how the whole ended. One
    process: all ranks in it."""
    command = [RANKS, plan, model, "mpi" if processes > 1 else "threads", timeout, cards, island,
               machines, fault, bad]
    done = mpirun(processes, *command) if processes > 1 else Run(command)
    lines = re.findall(r"process (\d): (?:ranks (\d+) to (\d+))?: (.*)", done.stdout)
    return done, {int(process): (first, last, said) for process, first, last, said in lines}


# ---- The values of one process ------------------------------------------------
def bits(processes, plan, model, by_nccl, fused, **given):
    what = f"{model}, {processes} processes, {given}"
    done, said = run(processes, plan, model, **given)
    test.expect(done.status == 0 and said.keys() == set(range(processes)), what, done)
    found = set()
    for first, last, text in said.values():
        match = re.fullmatch(r"ok: bits (\w+), by NCCL (\d+), for processes (\d+), "
                             r"waited \d+, fused (\d+)", text)
        test.expect(match, what, text)
        if match:
            found.add(match[1])
            test.expect((int(match[2]) > 0) == by_nccl and (int(match[4]) > 0) == fused,
                        f"{what}: by NCCL {by_nccl}, fused kernels {fused}", text)
            # Why a step of theirs has no kernel is said.
            test.expect((int(match[3]) > 0) == (by_nccl and processes > 1), f"{what}: why", text)
    test.expect(len(found) == 1, f"{what}: all processes have one result", said)
    ranges = [(int(first or -1), int(last or -1)) for _, (first, last, _) in sorted(said.items())]
    each = (ranges[-1][1] + 1) // processes
    test.expect(ranges == [(p * each, (p + 1) * each - 1) for p in range(processes)],
                f"{what}: whose ranks are where", ranges)
    return found


LLAMA = ("v1.0/llama-tp4", "llama")
# No two cards reach one another: NCCL brings everything together, in one process too.
apart = bits(1, *LLAMA, True, False, cards=4, island=1)
test.expect(bits(4, *LLAMA, True, False, cards=1) == apart, "a machine for each rank", apart)
test.expect(bits(2, *LLAMA, True, False, cards=2) == apart, "two ranks on each machine", apart)
# All see the same four cards, and each takes its own.
test.expect(bits(4, *LLAMA, True, False, cards=4, machines="one") == apart,
            "processes of one machine", apart)

# tp is inside a machine, where kernels do it; cp is over both.
NODES = ("v1.1/llama-tp2-cp2", "llama")
together = bits(1, *NODES, False, True, cards=4)
for cards in (2, 1):
    test.expect(bits(2, *NODES, True, True, cards=cards) == together,
                f"tp inside, cp across, {cards} cards each", together)
# Each rank by itself: rows are in the same order, sums of rows are not.
bits(4, *NODES, True, False, cards=1)

# Processes that no axis fits, and groups that cross in them: cp has the ranks 0 3, 1 4
# and 2 5, and every two processes wait for one another at different ones first.
CROSSED = ("v1.1/qwen3_moe-tp3-cp2", "qwen3_moe")
test.expect(bits(3, *CROSSED, True, False, cards=2) ==
            bits(1, *CROSSED, True, False, cards=6, island=1), "groups that cross", CROSSED)
bits(2, *CROSSED, True, True, cards=3)

MIXTURE = ("v1.2/qwen3_moe-tp3-ep3", "qwen3_moe")
test.expect(bits(3, *MIXTURE, True, False, cards=1) ==
            bits(1, *MIXTURE, True, False, cards=3, island=1), "experts over processes", MIXTURE)
bits(2, "v1.2/deepseek_v32-tp2-cp2", "deepseek_v32", True, True, cards=2)

# ---- One process goes wrong ----------------------------------------------------
BAD = 2


def told(fault, *words, timeout=LONG, silent=False, own=None):
    """All processes fail, with all `words`; BAD with its `own`."""
    done, said = run(4, *LLAMA, cards=1, fault=fault, bad=BAD, timeout=timeout)
    for process in range(4):
        if process == BAD and silent:
            continue
        expected = own if process == BAD else words
        _, _, text = said.get(process, ("", "", "nothing"))
        test.expect(text.startswith("failed: ") and "ran again" not in text
                    and all(word in text for word in expected),
                    f"{fault}: what process {process} says", f"{expected}; {text}; {done}")
    test.expect(done.status != 0, f"{fault}: mpirun's status", done)


NAME = f"rank {BAD} (process "
done, said = run(4, *LLAMA, cards=1, fault="late", bad=BAD)
test.expect(done.status == 0 and all(text.startswith("ok: ") for _, _, text in said.values()),
            "late", f"{said}; {done}")
# The timeout is far off: it is seen, not waited for.
for fault in ("kill", "exit", "join"):
    told(fault, NAME, "has ended while it was waited for", silent=True)
for fault, reason in (("launch", "cuLaunchKernelEx says"), ("network", "NCCL says"),
                      ("group", "ncclGroupEnd says"), ("memory", "cuMemAlloc says")):
    told(fault, NAME, "failed: ", reason, own=[reason])
# It sleeps while the others give up; mpirun may end it before it wakes.
told("hang", "step '", "waited 3 s for one of the ranks ", str(BAD), "by NCCL", timeout=3,
     silent=True)
told("absent", "group 'tp' of ranks 0, 1, 2, 3: waited 3 s for NCCL to reach the other ranks",
     timeout=3, silent=True)

# ---- What NCCL cannot do -------------------------------------------------------
done, said = run(2, *LLAMA, cards=1, machines="one")
for process, (_, _, text) in said.items():
    test.expect("group 'tp': its ranks cannot reach one another's memory, and NCCL wants a card "
                "for each; " in text
                and "has several: ranks 0 and 1; in one process they may share it" in text,
                f"one card: what process {process} says", text)
done, said = run(4, *LLAMA, cards=2, machines="one")
test.expect(done.status != 0 and all("has several: ranks " in text for _, _, text in said.values())
            and said, "two cards for four processes", f"{said}; {done}")
done, said = run(3, *LLAMA, cards=1)
test.expect(done.status != 0 and "the plan is for 4 ranks, 3 processes run" in done.stdout,
            "three processes", done)

test.finish("processes of device cuda")
