#!/usr/bin/env python3
"""Cuts a torch profiler trace to what maps kernels: reduce.py IN.json.gz OUT.json.gz

Kept, word for word: device events, the host operators and launches that they
are linked to, annotations, and the head of the file but for the properties of
devices other than the one used. Left out: Python frames, flows, other
operators, and arguments that nothing reads.
"""

import gzip
import json
import sys

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
LAUNCH = {"cuda_runtime", "cuda_driver"}
KEPT = {"External id", "device", "stream", "correlation", "bytes", "Input Dims", "Input type",
        "Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype"}


def reduced(event):
    event = {k: v for k, v in event.items() if k not in ("pid", "tid")}
    if "args" in event:
        event["args"] = {k: v for k, v in event["args"].items() if k in KEPT}
    return event


def main(source, target):
    trace = json.loads(gzip.open(source).read())
    events = trace["traceEvents"]
    device = [e for e in events if e.get("cat") in DEVICE]
    correlations = {e["args"].get("correlation") for e in device}
    operators = {e["args"].get("External id") for e in device}
    kept = [reduced(e) for e in events
            if e.get("cat") in DEVICE
            or e.get("cat") in LAUNCH and e["args"].get("correlation") in correlations
            or e.get("cat") == "cpu_op" and e["args"].get("External id") in operators
            or e.get("cat", "").endswith("user_annotation")]
    used = {e["args"]["device"] for e in device}
    trace["deviceProperties"] = [p for p in trace.get("deviceProperties", [])
                                 if p.get("id") in used]
    trace["distributedInfo"] = {k: v for k, v in trace.get("distributedInfo", {}).items()
                                if k in ("backend", "rank", "world_size")}
    trace["traceEvents"] = kept
    with open(target, "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as packed:
        packed.write(json.dumps(trace, separators=(",", ":")).encode())


main(*sys.argv[1:])
