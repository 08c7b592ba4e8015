#!/usr/bin/env python3
"""Where there is no GPU, what wants one says so and ends; what it would run
it can still say.

without_gpu.py GPU_TESTS GPU_BENCH

With a GPU there is nothing to check here: ends with 77.
"""
import ctypes
import subprocess
import sys


def has_gpu():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(
        ctypes.byref(count)) == 0 and count.value > 0


if has_gpu():
    print("SKIPPED: this machine has a GPU; make gpu-test tests it")
    sys.exit(77)
failed = False
for program, text in zip(sys.argv[1:], ["gpu-test: nothing was tested: ",
                                        "gpu-bench: nothing was measured: "]):
    done = subprocess.run([program], capture_output=True, text=True)
    line = done.stderr.strip()
    good = (done.returncode == 77 and "\n" not in line and
            line.startswith(text + "no CUDA device: ") and not done.stdout)
    print(("  " if good else "FAILED: ") + f"exit {done.returncode}: {line}")
    failed |= not good
for option, status, text in (("--list", 0, "broadcast: from one rank"), ("--fast", 2, "--help")):
    done = subprocess.run([sys.argv[1], option], capture_output=True, text=True)
    good = done.returncode == status and text in done.stdout + done.stderr
    print(("  " if good else "FAILED: ") + f"{option}: exit {done.returncode}")
    failed |= not good
sys.exit(failed)
