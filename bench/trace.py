#!/usr/bin/env python3
"""Reading a large recording: `layline trace` beside Python's json.load.

The file is generated: the B200 pass of test/traces again and again, each time
later and with numbers of its own, with as many Python frames around it as the
torch profiler wrote into the original (five of eight events). It lies in a
temporary folder and is removed.
"""

import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TRACE = ROOT / "test" / "traces" / "b200_tp8_vllm_gptoss120b_prefill888.json.gz"
FRAMES = 15230  # in the original
FRAME = ('{"ph": "X", "cat": "python_function", "name": "vllm/model_executor/models/gpt_oss.py'
         '(%d): forward", "pid": 6583, "tid": 6583, "ts": %.3f, "dur": 172.568, "args": {"Python '
         'parent id": %d, "Python id": %d, "Python module id": 7, "Ev Idx": %d}},\n')


def generate(path, megabytes):
    """Passes until the file is large enough; how many."""
    trace = json.loads(gzip.open(TRACE).read())
    events = trace.pop("traceEvents")
    begin = min(e["ts"] for e in events)
    passes = 0
    with open(path, "w") as out:
        out.write(json.dumps(trace)[:-1] + ', "traceEvents": [\n')
        while passes == 0 or out.tell() < megabytes << 20:
            later, more = passes * 100000.0, passes * 100000
            frames = "".join(FRAME % (i % 900, begin + later + i * 5, i, i + 1, i)
                             for i in range(FRAMES))
            own = []
            for e in events:
                args = dict(e.get("args", {}))
                for key in ("External id", "correlation"):
                    if key in args:
                        args[key] += more
                own.append(json.dumps({**e, "ts": e["ts"] + later, "args": args}))
            out.write(("" if passes == 0 else ",\n") + frames + ",\n".join(own))
            passes += 1
        out.write("\n]}\n")
    return passes


def measure(command):
    """Wall and processor seconds and largest memory in MB of a process."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layline", required=True)
    parser.add_argument("--megabytes", type=int, default=1024)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, plan = pathlib.Path(folder) / "trace.json", pathlib.Path(folder) / "plan.json"
        passes = generate(path, arguments.megabytes)
        plan.write_bytes(gzip.open(ROOT / "test" / "traces" /
                                   "gpt-oss-120b_tp8_whole.plan.json.gz").read())
        size = path.stat().st_size / (1 << 20)
        print(f"{size:.0f} MB, {passes} passes of 929 events")
        print(f"{'':28}{'wall s':>8}{'cpu s':>8}{'MB/s':>8}{'memory MB':>11}")
        layline = os.path.abspath(arguments.layline)
        for name, command in (
                ("layline trace summary", [layline, "trace", "summary", path]),
                ("layline trace map", [layline, "trace", "map", path, "--plan", plan]),
                ("python json.load", [sys.executable, "-c", "import json, sys; "
                                      "json.load(open(sys.argv[1]))", path])):
            wall, cpu, memory = measure(command)
            print(f"{name:28}{wall:8.2f}{cpu:8.2f}{size / wall:8.0f}{memory:11.0f}", flush=True)


main()
