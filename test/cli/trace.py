#!/usr/bin/env python3
"""layline trace: recorded runs on their plans, files of both profilers, bad files.

The recordings are those of test/traces/README.md. How many kernels of which
kind they have, and the shares of busy time, were counted from the files by
hand, not by this tool.
"""

import collections
import csv
import gzip
import io
import json
import os
import pty
import re
import sqlite3
import subprocess

from layline_tests import MODELS, ROOT, Test, read_json

test = Test()
TRACES = ROOT / "test" / "traces"
B200 = TRACES / "b200_tp8_vllm_gptoss120b_prefill888.json.gz"
GPT_OSS = ("--model", MODELS / "gpt-oss-120b.json", "--tp", 8)


def mapped(what, *arguments):
    run = test.run("trace", "map", *arguments, "--json", "-")
    test.expect(run.status == 0, f"map {what}", run)
    return json.loads(run.stdout)["devices"]


# The B200 run: 36 layers of 25 kernels.
device, = mapped("B200", B200, *GPT_OSS, "--target", "b200x8")
kernels = device["kernels"]
passed, = device["passes"]
test.expect(passed["layers"] == 36 and passed["tokens"] == 888
            and passed["batch"]["prefill_requests"] == 1, "B200: one pass of 36 layers", passed)
test.expect(device["period"]["events"] == 25 and device["period"]["repeats"] == 36,
            "B200: period", device["period"])
test.expect(device["deviations"] == [], "B200: as expected", device["deviations"])
reduces = [k for k in kernels if k["family"] == "all_reduce"]
places = collections.Counter(re.sub(r"layer\.\d+\.", "", k["place"]) for k in reduces)
test.expect(places == {"embedding": 1, "o_proj": 36, "experts": 36}, "B200: 73 all-reduces", places)
for own in reduces:
    norm = kernels[own["event"] + 2]
    layer = own["layer"]
    expected = ("layer.0.input_norm" if own["place"] == "embedding"
                else f"layer.{layer}.post_attn_norm" if own["place"].endswith("o_proj")
                else f"layer.{layer + 1}.input_norm" if layer < 35 else "final_norm")
    test.expect(norm["place"] == expected and norm["boundary"] == own["place"],
                f"B200: the norm behind {own['place']}", norm)
families = collections.Counter(k["family"] for k in kernels)
test.expect(families["add_norm"] == 72 and families["norm"] == 1, "B200: norms", families)
copies = collections.Counter(k["place"] for k in kernels if k["family"] == "memcpy_dtod")
test.expect(sum(copies.values()) == 146 and set(copies.values()) == {2}
            and set(copies) == {k["place"] for k in reduces},
            "B200: two copies on each all-reduce", copies)
ropes = [k for k in kernels if k["family"] == "rope"]
test.expect(len(ropes) == 36 and all(len(k["steps"]) == 2 for k in ropes),
            "B200: one rotation for queries and keys", len(ropes))
busy = device["busy_ns"]
assigned = sum(device["time_ns"][r] for r in ("does", "goes_on", "beside"))
test.expect(assigned >= 0.99 * busy, "B200: assigned time", assigned / busy)
collectives = device["collectives"]
first = collectives[0]
test.expect(first["ns"] == 223200 and first["wait_ns"] + first["transfer_ns"] == 223200
            and 24000 < first["transfer_ns"] < 26000, "B200: the first all-reduce waits", first)
test.expect(all(c["moved_columns"] == (3072 if c["place"].endswith("experts") else 2880)
                and c["needed_columns"] == 2880 for c in collectives if c["kind"] == "all_reduce"),
            "B200: 3072 columns for 2880")
test.expect(all(c["model_us"] > 0 for c in collectives), "B200: the cost model is asked")
# inputs.md, section 3.3, percent of busy time.
shares = {group: 100 * share["ns"] / busy for group, share in device["shares"].items()}
reduce_time = sum(k["ns"] for k in reduces)
shares["all-reduce"] = 100 * reduce_time / busy
shares["all-reduce without the first"] = 100 * (reduce_time - 223200) / (busy - 223200)
for group, percent in {"MoE GEMM": 44.7, "all-reduce": 18.2, "dense GEMM": 6.7,
                       "device copies": 6.7, "attention": 4.2, "norm": 3.9, "routing": 3.8,
                       "quantisation": 2.3, "all-reduce without the first": 16.6}.items():
    test.expect(abs(shares[group] - percent) <= 0.2, f"B200: share of {group}",
                f"{shares[group]:.2f}, not {percent}")

# CSV says the same as JSON, and the text is there.
run = test.run("trace", "map", B200, *GPT_OSS, "--csv", "-")
rows = list(csv.DictReader(io.StringIO(run.stdout)))
test.expect([r["place"] for r in rows] == [k["place"] for k in kernels], "CSV as JSON")
run = test.run("trace", "map", B200, *GPT_OSS)
for words in ("36 of 36", "moves 3072 columns of each row, the model has 2880", "198.2"):
    test.expect(words in run.stdout, f"text has '{words}'", run)
run = test.run("trace", "summary", B200)
test.expect(run.status == 0 and "MoE GEMM" in run.stdout and "44.7 %" in run.stdout,
            "summary", run)

# Another plan than the run's.
test.refused(test.run("trace", "map", B200, "--model", MODELS / "command-r-35b.json", "--tp", 8),
             "another model's plan is refused", 1, "another model's or layout's run")

# Graphs replayed: no kernel is linked to an operator.
for name, model, layers, period in (("mi300x_sglang_qwen3_8b_decode32", "qwen3-8b", 36, 15),
                                    ("mi300x_vllm_gptoss20b_decode32", "gpt-oss-20b", 24, 35)):
    device, = mapped(name, TRACES / f"{name}.json.gz", "--model", MODELS / f"{model}.json",
                     "--tp", 1)
    passed, = device["passes"]
    test.expect(passed["layers"] == layers and not passed["missing"], f"{name}: layers", passed)
    test.expect(passed["batch"]["decode_requests"] == 32, f"{name}: batch", passed)
    test.expect(device["period"]["events"] == period, f"{name}: period", device["period"])
    lost = device["time_ns"]["unknown"] + device["time_ns"]["extra"]
    test.expect(lost < 0.03 * device["busy_ns"], f"{name}: unknown time", lost)


def write_sqlite(path, trace, *, without=(), version="3.24.14", negative=False, text_names=False):
    """An SQLite file as Nsight Systems exports it, made of a torch profiler's events: a
    synthetic container with real events. Operators become the NVTX ranges that PyTorch emits."""
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    strings = {}

    def string(value):
        return strings.setdefault(value, len(strings) + 1)

    def ns(us):
        return round(us * 1000)

    tables = {
        "META_DATA_EXPORT": "name TEXT, value TEXT",
        "StringIds": "id INTEGER PRIMARY KEY, value TEXT NOT NULL",
        "TARGET_INFO_GPU": "id INTEGER, name TEXT",
        "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER, end INTEGER, deviceId INTEGER, "
        "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
        "demangledName INTEGER, shortName INTEGER",
        "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER, end INTEGER, deviceId INTEGER, "
        "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, "
        "copyKind INTEGER",
        "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, globalTid INTEGER, "
        "correlationId INTEGER, nameId INTEGER",
        "NVTX_EVENTS": "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
        "textId INTEGER, globalTid INTEGER",
    }
    for table, columns in tables.items():
        if table not in without:
            columns = ", ".join(c for c in columns.split(", ")
                                if f"{table}.{c.split()[0]}" not in without)
            db.execute(f"CREATE TABLE {table} ({columns})")

    def insert(table, **row):
        if table in without:
            return
        row = {k: v for k, v in row.items() if f"{table}.{k}" not in without}
        db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES "
                   f"({', '.join('?' * len(row))})", list(row.values()))

    pid, tid = 77 << 24, (77 << 24) + 5
    insert("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value=version)
    for own in trace.get("deviceProperties", []):
        insert("TARGET_INFO_GPU", id=own["id"], name=own["name"])
    kinds = {"HtoD": 1, "DtoH": 2, "DtoD": 8}
    for e in trace["traceEvents"]:
        args, start = e.get("args", {}), ns(e["ts"])
        end = start + ns(e["dur"])
        if e["cat"] == "kernel":
            name = string(e["name"])
            insert("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=start - 5 if negative else end,
                   deviceId=args["device"], contextId=1, streamId=args["stream"],
                   correlationId="first" if text_names else args["correlation"], globalPid=pid,
                   demangledName=name, shortName=name)
        elif e["cat"] == "gpu_memcpy":
            insert("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=end, deviceId=args["device"],
                   streamId=args["stream"], correlationId=args["correlation"], globalPid=pid,
                   bytes=args["bytes"], copyKind=kinds[e["name"].split()[1]])
        elif e["cat"].startswith("cuda_"):
            insert("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, globalTid=tid,
                   correlationId=args["correlation"], nameId=string(e["name"]))
        elif e["cat"] == "cpu_op":
            text = f"{e['name']}, op_id = {args['External id']}, sizes = {args['Input Dims']}"
            insert("NVTX_EVENTS", start=start, end=end, eventType=59, text=text, globalTid=tid)
        elif e["cat"] == "user_annotation":
            insert("NVTX_EVENTS", start=start, end=end, eventType=60, textId=string(e["name"]),
                   globalTid=tid)
    for value, number in strings.items():
        insert("StringIds", id=number, value=value)
    db.commit()
    db.close()
    return path


events = json.loads(gzip.open(B200).read())
# The launch of each kernel lies within its operator, as it does on the host; the operators'
# numbers are not in NVTX.
nsys = write_sqlite(test.out / "b200.sqlite", events)
device, = mapped("SQLite of the B200 events", nsys, *GPT_OSS)
same = ("start_ns", "ns", "stream", "family", "role", "pass", "layer", "module", "place",
        "boundary", "steps")
base = kernels[0]["start_ns"] - device["kernels"][0]["start_ns"]
wrong = [(a, b) for a, b in zip(kernels, device["kernels"])
         if any((a.get(k), a["start_ns"] - base)[k == "start_ns"] != b.get(k) for k in same)]
test.expect(len(kernels) == len(device["kernels"]) and not wrong, "SQLite maps as JSON does",
            wrong[:1])
test.expect(device["passes"][0]["tokens"] == 888
            and device["passes"][0]["batch"]["prefill_tokens"] == 888, "SQLite: batch",
            device["passes"])

# Several ranks: the one that comes late waits least.
late = json.loads(json.dumps(events))
late["distributedInfo"]["rank"] = 1
for e in late["traceEvents"]:
    if "multimem_all_reduce" in e["name"] and e["cat"] == "kernel":
        e["dur"] = 20
(test.out / "rank1.json").write_text(json.dumps(late))
run = test.run("trace", "map", B200, test.out / "rank1.json", *GPT_OSS)
test.expect(run.status == 0 and "waiting by rank" in run.stdout, "two ranks", run)
devices = mapped("two ranks", B200, test.out / "rank1.json", *GPT_OSS)
waits = [sum(c["wait_ns"] for c in d["collectives"] if c["kind"] == "all_reduce") for d in devices]
test.expect(waits[1] == 0 and waits[0] == reduce_time - 73 * 20000, "waiting by rank", waits)


# What cannot be read: exit 2, where and what, and no file is written or changed.
def broken(what, path, *words):
    out = test.out / "kept.json"
    out.write_text("as before")
    for command in (("summary",), ("map", *GPT_OSS)):
        run = test.run("trace", command[0], path, *command[1:], "--json", out)
        test.refused(run, f"{what}, {command[0]}", 2, str(path), *words)
        test.expect(not run.stdout and out.read_text() == "as before",
                    f"{what}, {command[0]}: no output", run.stdout)


def bad(name, text):
    path = test.out / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


whole = B200.read_bytes()
broken("cut gzip", bad("cut.json.gz", whole[:20000]), "the file was cut")
broken("damaged gzip", bad("damaged.json.gz", whole[:20000] + b"\0" * 50 + whole[20050:]),
       "the gzip data are damaged")
text = json.dumps(events)
broken("cut JSON", bad("cut.json", text[:5000]), "the end of the file")
edited = json.loads(text)
kernel = next(e for e in edited["traceEvents"] if e["cat"] == "kernel")
kernel["dur"] = -3
broken("negative duration", bad("negative.json", json.dumps(edited)), "found -3000 ns")
kernel["dur"] = "long"
broken("text for a duration", bad("type.json", json.dumps(edited)), "dur: found the string 'long'")
edited["traceEvents"] = [e for e in edited["traceEvents"] if e["cat"] == "cpu_op"]
broken("no kernels", bad("none.json", json.dumps(edited)), "found no kernel")
broken("no trace", bad("other.json", "{}"), "traceEvents")
broken("no such file", test.out / "nowhere.json", "No such file")
broken("a folder", test.out, "found a folder")
K = "CUPTI_ACTIVITY_KIND_KERNEL"
for without, words in (((K,), f"found no table {K}"), (("StringIds",), "found no table StringIds"),
                       ((f"{K}.streamId",), "found no column streamId"),
                       (("META_DATA_EXPORT",), "found no table META_DATA_EXPORT"),
                       (("NVTX_EVENTS.text",), "found no column text")):
    broken(f"SQLite without {without}",
           write_sqlite(test.out / "part.sqlite", events, without=without), words)
broken("SQLite of another schema", write_sqlite(test.out / "new.sqlite", events, version="9.1"),
       "'9.1'", "expected 2.x or 3.x")
broken("SQLite with negative times",
       write_sqlite(test.out / "negative.sqlite", events, negative=True), "no negative time")
broken("SQLite with text for numbers",
       write_sqlite(test.out / "text.sqlite", events, text_names=True), "found 'first'")
broken("cut SQLite", bad("cut.sqlite", nsys.read_bytes()[:30000]))
# Tables are there only if there was something to write to them.
device, = mapped("SQLite without NVTX", write_sqlite(
    test.out / "few.sqlite", events, without=("NVTX_EVENTS", "TARGET_INFO_GPU")), *GPT_OSS)
test.expect([k["place"] for k in device["kernels"]] == [k["place"] for k in kernels],
            "SQLite without NVTX maps by order")
test.refused(test.run("trace", "map", B200), "no plan", 2, "--plan", "--model")
test.refused(test.run("trace", "map", B200, *GPT_OSS, "--target", "abacus"), "unknown target", 2,
             "--target", "abacus")
test.refused(test.run("trace", "summary", B200, "--families", bad("own.csv", "x")),
             "bad families", 2, "own.csv", "line 1")

# Memory does not grow with what is not kept.
frame = '{"ph": "X", "cat": "python_function", "name": "f", "ts": 1.5, "dur": 2, "args": {}},\n'


def long_file(megabytes, filler=frame, end=None):
    """The B200 events behind so many megabytes of something else; cut off at `end`."""
    path = test.out / "frames.json"
    begin = text.index("[", text.index("traceEvents")) + 1
    with open(path, "w") as out:
        out.write(text[:begin])
        for _ in range(megabytes):
            out.write(filler * ((1 << 20) // len(filler)))
        out.write(text[begin:end])
    return path


def on_terminal(path):
    """Exit status, what the tool says to a terminal while it reads a file, and the most memory
    that it has, in MB."""
    terminal, other = pty.openpty()
    process = subprocess.Popen([test.layline, "trace", "summary", path],
                               stdout=subprocess.DEVNULL, stderr=other)
    os.close(other)
    said = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    os.close(terminal)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, said.decode(), usage.ru_maxrss / 1024


status, said, small = on_terminal(long_file(1))
test.expect((status, said) == (0, ""), "no bar for a short file", said)
status, said, large = on_terminal(long_file(66))
test.expect(large - small < 8, "memory of 65 MB more", f"{small:.0f} MB, then {large:.0f} MB")
shown = [int(p) for p in re.findall(r"\r[^\r]*frames\.json \[=* *\] +(\d+) %", said)]
test.expect(status == 0 and len(shown) > 20 and shown == sorted(set(shown)) and shown[-1] == 100
            and said.endswith("100 %\r\n"), "a bar on a terminal", said[-200:])
status, said, _ = on_terminal(long_file(66, filler=" ", end=-1000))
lines = said.split("\r\n")
test.expect(status == 2 and len(lines) == 3 and re.search(r"\[=+ *\] +\d+ %$", lines[0])
            and lines[1].startswith(str(test.out / "frames.json")) and not lines[2],
            "what is wrong is said behind the bar", said[-300:])
(test.out / "frames.json").unlink()
test.finish("recorded runs")
