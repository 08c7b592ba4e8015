#!/usr/bin/env python3
"""layline trace map --perfetto: the recording with its places, for Perfetto.

What is written is read again and compared with the recording itself and with
`layline trace map --json`.
"""

import collections
import gzip
import json
import os
import subprocess

from layline_tests import MODELS, ROOT, Test, snapshot

test = Test()
B200 = ROOT / "test" / "traces" / "b200_tp8_vllm_gptoss120b_prefill888.json.gz"
GPT_OSS = ("--model", MODELS / "gpt-oss-120b.json", "--tp", 8)
FIRST_STREAM = 100


def read(path):
    data = path.read_bytes()
    test.expect((data[:2] == b"\x1f\x8b") == path.name.endswith(".gz"), f"{path.name}: compression")
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)["traceEvents"]


def check_tracks(events, what):
    """Slices of a track above the streams follow each other: Perfetto would draw others nested or
    not at all. On a stream they are as recorded, and kernels may begin before the last has ended."""
    tracks = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            tracks[e["pid"], e["tid"]].append((round(e["ts"] * 1000), round(e["dur"] * 1000)))
    names = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    test.expect(set(tracks) <= names, f"{what}: tracks have names", set(tracks) - names)
    for track, slices in tracks.items():
        slices.sort()
        if track[1] >= FIRST_STREAM:
            continue
        over = [(a, b) for a, b in zip(slices, slices[1:]) if a[0] + a[1] > b[0]]
        test.expect(not over, f"{what}: slices of track {track} do not overlap", over[:1])


out = test.out / "b200.json"
run = test.run("trace", "map", B200, *GPT_OSS, "--target", "b200x8", "--perfetto", out, "--json", "-")
test.expect(run.status == 0, "map with --perfetto", run)
device, = json.loads(run.stdout)["devices"]
kernels = device["kernels"]
events = read(out)
check_tracks(events, "B200")
original = [e for e in json.loads(gzip.open(B200).read())["traceEvents"]
            if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
shown = [e for e in events if e["ph"] == "X" and e["tid"] >= FIRST_STREAM]


def key(e, stream, begin=0):
    return round(e["ts"] * 1000) - begin, round(e["dur"] * 1000), e["name"], stream


begin = min(round(e["ts"] * 1000) for e in original)
test.expect(sorted(key(e, e["tid"] - FIRST_STREAM) for e in shown)
            == sorted(key(e, e["args"]["stream"], begin) for e in original),
            "every device event as it was", [len(shown), len(original)])
by_event = {e["args"]["event"]: e for e in shown}
wrong = [k for k in kernels
         if any(by_event[k["event"]]["args"].get(a) != k[b]
                for a, b in (("place", "place"), ("module", "module"), ("steps", "steps"),
                             ("reason", "reason"), ("certainty", "certainty"), ("role", "role")))
         or by_event[k["event"]]["args"].get("boundary", "") != k["boundary"]
         or by_event[k["event"]]["args"].get("layer") != k["layer"]
         or by_event[k["event"]]["cat"] != k["family"]]
test.expect(len(by_event) == len(kernels) == 929 and not wrong, "places of all events", wrong[:1])


def track(number):
    return [e for e in events if e["ph"] == "X" and e["tid"] == number]


passes, layers, modules, boundaries, collectives = map(track, range(1, 6))
test.expect([e["name"] for e in passes] == ["pass 0"], "one pass")
numbers = [e["name"] for e in layers if e["name"].startswith("layer ")]
test.expect(numbers == [f"layer {i}" for i in range(36)], "36 layers in order", numbers)
test.expect(len(boundaries) == 73 and {e["name"] for e in boundaries}
            == {k["boundary"] for k in kernels} - {""}, "73 boundaries", len(boundaries))
test.expect({e["name"] for e in modules} == {k["module"] for k in kernels}, "modules")
# A layer's slice is as long as its kernels are apart.
for layer in (0, 17, 35):
    own = [k for k in kernels if k["layer"] == layer]
    slice_ = next(e for e in layers if e["name"] == f"layer {layer}")
    begin = min(k["start_ns"] for k in own)
    end = max(k["start_ns"] + k["ns"] for k in own)
    test.expect(round(slice_["dur"] * 1000) == end - begin, f"layer {layer} from its first to its last",
                [slice_["dur"], end - begin])
waits = [e for e in collectives if e["cat"] == "waiting"]
moves = [e for e in collectives if e["cat"] == "moving"]
test.expect(len(moves) == len(device["collectives"])
            and round(sum(e["dur"] for e in moves) * 1000)
            == sum(c["transfer_ns"] for c in device["collectives"])
            and round(sum(e["dur"] for e in waits) * 1000)
            == sum(c["wait_ns"] for c in device["collectives"]) > 0, "waiting and moving")
test.expect(sum(e["args"].get("padding_bytes", 0) for e in moves)
            == sum(c["padding_bytes"] for c in device["collectives"]), "padding")

# Compressed, the same; the report writes the same too; equal runs, equal bytes.
packed = test.out / "b200.json.gz"
run = test.run("report", B200, *GPT_OSS, "--target", "b200x8", "--perfetto", packed, "-o",
               test.out / "b200.html")
test.expect(run.status == 0 and read(packed) == events, "compressed, from the report", run)
test.run("trace", "map", B200, *GPT_OSS, "--target", "b200x8", "--perfetto", test.out / "again.json")
test.expect((test.out / "again.json").read_bytes() == out.read_bytes(), "the same bytes again")

# Two ranks are two processes; names that are no text; kernels that no plan knows.
other = json.loads(gzip.open(B200).read())
other["distributedInfo"]["rank"] = 1
strange = next(e for e in other["traceEvents"] if "topk" in e["name"].lower() and e["cat"] == "kernel"
               or "finalize" in e["name"] and e["cat"] == "kernel")
strange["name"] = "na\"me</script>\u0001\u20ac"
(test.out / "rank1.json").write_text(json.dumps(other))
both = test.out / "both.json.gz"
run = test.run("trace", "map", B200, test.out / "rank1.json", *GPT_OSS, "--perfetto", both)
test.expect(run.status == 0, "two ranks", run)
events = read(both)
check_tracks(events, "two ranks")
test.expect([e["args"]["name"] for e in events if e["name"] == "process_name"]
            == ["rank 0 (NVIDIA B200)", "rank 1 (NVIDIA B200)"], "a process for each rank")
unknown = [e for e in events if e.get("cat") == "unknown"]
test.expect(len(unknown) == 1 and unknown[0]["name"] == strange["name"]
            and unknown[0]["args"]["role"] == "unknown" and "layer" not in unknown[0]["args"],
            "an unknown kernel stays one", unknown)

# What cannot be written leaves nothing, and what was there stays.
folder = test.out / "kept"
folder.mkdir()
(folder / "a.json").write_text("as before")
before = snapshot(folder)
for what, path, words in (("a folder", folder, "found a folder"),
                          ("no folder", folder / "none" / "a.json", "No such file"),
                          ("below a file", folder / "a.json" / "b.json", "Not a directory")):
    run = test.run("trace", "map", B200, *GPT_OSS, "--perfetto", path, "--json", folder / "map.json")
    test.refused(run, f"--perfetto {what}", 2, str(path), words)
    test.expect(snapshot(folder) == before and not run.stdout, f"--perfetto {what}: no output")
if os.path.exists("/dev/full"):
    (folder / "full.json.part").symlink_to("/dev/full")
    run = test.run("trace", "map", B200, *GPT_OSS, "--perfetto", folder / "full.json")
    test.refused(run, "--perfetto on a full disk", 2, "full.json", "No space left")
    test.expect(snapshot(folder) == before and not os.path.lexists(folder / "full.json.part"),
                "--perfetto on a full disk: no output")
bad = test.run("trace", "map", B200, "--model", MODELS / "command-r-35b.json", "--tp", 8,
               "--perfetto", folder / "a.json")
test.refused(bad, "another model's run", 1, "another model's")
test.expect(snapshot(folder) == before, "another model's run: no output")
test.refused(test.run("report", folder, "--perfetto", folder / "x.json", "-o", folder / "y.html"),
             "no plan", 2, "plan.json")

# Memory does not grow with what is written: twelve passes, 6 MB. A plan that is there already,
# for compiling one takes more memory than all this.
trace = json.loads(gzip.open(B200).read())
times = [e["ts"] for e in trace["traceEvents"]]
trace["traceEvents"] = [{**e, "ts": e["ts"] + i * (max(times) - min(times) + 1e4)}
                        for i in range(12) for e in trace["traceEvents"]
                        if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset", "user_annotation")]
(test.out / "twelve.json").write_text(json.dumps(trace))
plan = test.compile(MODELS / "gpt-oss-120b.json", test.out / "plan", "--tp", 8, "--target", "b200x8",
                    "--boundaries", "whole")


def memory(*arguments):
    process = subprocess.Popen([test.layline, "trace", "map", test.out / "twelve.json", "--plan",
                                plan, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    test.expect(process.returncode == 0, "map for its memory")
    return usage.ru_maxrss / 1024


small, large = memory(), memory("--perfetto", test.out / "memory.json")
size = (test.out / "memory.json").stat().st_size / (1 << 20)
test.expect(size > 5 and large - small < size / 2, "written event by event",
            f"{small:.1f} MB, {large:.1f} MB with a file of {size:.1f} MB")
test.finish("runs for Perfetto")
