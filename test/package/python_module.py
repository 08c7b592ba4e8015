#!/usr/bin/env python3
"""The Python module over the C API: the golden llama through it.

python_module.py ROOT PLAN    with PYTHONPATH at the module, and numpy

PLAN: a plan of test/golden/llama on two ranks at least.
"""
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

import layline

ROOT = pathlib.Path(sys.argv[1])
PLAN = sys.argv[2]
GOLDEN = ROOT / "test" / "golden" / "llama"
wrong = []


def expect(good, what):
    if not good:
        wrong.append(what)
        print(f"WRONG: {what}")


def refused(what, words, call, *arguments, error=layline.Error):
    try:
        call(*arguments)
    except error as found:
        text = str(found)
        expect(all(word in text for word in words), f"{what}: says {text!r}")
        return found
    expect(False, f"{what}: is not refused")


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    dtypes = {"F32": np.float32, "F64": np.float64, "I64": np.int64}
    return {name: np.frombuffer(
        data[8 + size:][slice(*entry["data_offsets"])],
        dtypes[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()}


golden = read_safetensors(GOLDEN / "golden.safetensors")
weights = read_safetensors(GOLDEN / "model.safetensors")
ids, positions = golden["input_ids"][0], golden["position_ids"][0]


def started(precision="f64"):
    engine = layline.Engine(precision)
    engine.load_plan(PLAN)
    engine.load_weights(GOLDEN / "model.safetensors")
    return engine


def run(engine, first=0, end=len(ids)):
    engine.bind_input("input_ids", ids[first:end])
    engine.bind_input("positions", positions[first:end])
    engine.run(end - first)
    return engine.output("logits", dtype=np.float64)


def error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


# What a plan says of itself.
with started() as engine:
    expect(engine.ranks >= 2, "ranks")
    expect(set(engine.ids("inputs")) == {"input_ids", "positions"}, "inputs")
    expect(set(engine.ids("weights")) <= set(weights), "weights")
    expect(engine.ids("outputs") == ["logits"], "outputs")
    least, largest = engine.symbol("tokens")
    expect(engine.variant(largest) in engine.ids("variants"), "variants")
    expect({c.plane for c in engine.caches()} == {"key", "value", "positions"},
           "caches")

    # The golden logits; some rows of them.
    logits = run(engine)
    expect(error(logits, golden["logits"][0]) < 1e-10, "logits in f64")
    expect(engine.past == len(ids), "past grows")
    expect((engine.output("logits", len(ids) - 1, 1, np.float64)
            == logits[-1:]).all(), "the last row")
    expect((engine.output("logits", 3, dtype=np.float64) == logits[3:]).all(),
           "rows from the fourth on")

    # Rewound, in two steps; rows of a cache out and in again.
    engine.past = 0
    parts = [run(engine, 0, 11), run(engine, 11)]
    expect(error(np.concatenate(parts), logits) < 1e-12, "in two steps")
    kept = {c.id: engine.read_cache(c.id)[:11] for c in engine.caches()}
    engine.past = 0
    for name, rows in kept.items():
        engine.bind_cache(name, rows)
    engine.past = 11
    expect((run(engine, 11) == parts[1]).all(), "from bound rows")

# Weights as arrays.
with layline.Engine("f32") as engine:
    engine.load_plan(PLAN)
    refused("no weights", ["is not given"], engine.check_weights)
    for key, values in weights.items():
        if key in engine.ids("weights"):
            engine.bind_weight(key, values)
    engine.check_weights()
    expect(error(run(engine), golden["logits"][0]) < 5e-6, "logits in f32")

# A GEMM of numpy's, of several ranks' threads.
with started() as engine:
    calls = []

    def gemm(call):
        calls.append((call.weight, call.rank, call.place))
        if "down_proj" in call.weight:
            return layline.DECLINED
        call.c[...] = call.a @ call.b.T

    engine.set_gemm(gemm)
    expect(error(run(engine), golden["logits"][0]) < 1e-10, "numpy's products")
    expect(len(calls) == engine.ranks * 15, f"15 products a rank: {len(calls)}")
    expect({rank for _, rank, _ in calls} == set(range(engine.ranks)), "ranks")
    expect(any(place for _, _, place in calls), "places")

    def fails(call):
        raise ValueError(f"no room for {call.weight}")

    engine.past = 0
    engine.set_gemm(fails)
    found = refused("a function that raises",
                    ["on rank 0", "ValueError: no room for model."],
                    run, engine)
    expect(found and found.status == "run failure", "status of a failed run")

    def writes_input(call):
        call.a[0, 0] = 1

    engine.set_gemm(writes_input)
    refused("an input that is written", ["read-only"], run, engine)
    engine.set_gemm(None)
    calls.clear()
    run(engine)
    expect(not calls, "the runtime's own products again")
    # No array is made over memory of a card; there need be none to say so.
    host, engine._device = engine._device, b"cuda"
    for call in (lambda: engine.set_gemm(gemm), lambda: engine.set_attention(gemm),
                 lambda: engine.set_cache_hooks(pages=gemm)):
        refused("a function on device cuda", ["devices of the host"], call,
                error=ValueError)
    engine.set_gemm(None)
    engine._device = host

# Attention of numpy's, over the rows that the runtime keeps.
def attend(call):
    seen.add((call.rank, call.place))
    if call.rank == 1:
        return layline.DECLINED
    late = call.key_positions[None, :] > call.positions[:, None]
    for head in range(call.query.shape[1]):
        scores = call.query[:, head] @ call.keys[:, call.key_head[head]].T * call.scale
        scores = np.where(late & call.causal, -np.inf, scores)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        call.output[:, head] = weights @ call.values[:, call.value_head[head]]


with started() as engine:
    seen = set()
    engine.set_attention(attend)
    parts = [run(engine, 0, 11), run(engine, 11)]
    expect(error(np.concatenate(parts), golden["logits"][0]) < 1e-10,
           "numpy's attention")
    expect({rank for rank, _ in seen} == set(range(engine.ranks)), "all ranks attend")

    def fails_to_attend(call):
        raise KeyError(call.place)

    engine.past = 0
    engine.set_attention(fails_to_attend)
    refused("attention that raises", ["(attention", "on rank 0", "KeyError: 'layer.0"],
            run, engine)
    engine.set_attention(None)
    engine.past = 0
    seen.clear()
    expect(error(run(engine), golden["logits"][0]) < 1e-10 and not seen,
           "the runtime's own attention again")


class PagedCache:
    """Pages of 4 rows in the order they are asked for, of one sequence each."""

    def __init__(self, by_head=False):
        self.by_head, self.planes, self.sequence = by_head, {}, 0

    def pages(self, request):
        shape = (64, 4, request.items, request.item_elements)
        if self.by_head:
            shape = (64, request.items, 4, request.item_elements)
        memory, tables = self.planes.setdefault(
            (request.cache, request.rank), (np.full(shape, -7, request.dtype), {}))
        table = tables.setdefault(self.sequence, [])
        while len(table) * 4 < request.rows:
            table.append(37 * sum(map(len, tables.values())) % 64)
        return layline.Pages(memory.swapaxes(1, 2) if self.by_head else memory, table)


for by_head in (False, True):
    with started("f32") as engine, started("f32") as own:
        cache = PagedCache(by_head)
        engine.set_cache_hooks(pages=cache.pages)
        for sequence, ids_of in ((0, (0, 9)), (1, (5, 12))):
            cache.sequence = sequence
            engine.past = own.past = 0
            expect((run(engine, *ids_of) == run(own, *ids_of)).all(),
                   f"a paged cache, sequence {sequence}")
        cache.sequence, engine.past = 0, 9
        own.past = 0
        run(own, 0, 9)
        expect((run(engine, 9, 14) == run(own, 9, 14)).all(), "the first goes on")

# Rows behind functions; of one cache only.
with started("f32") as engine, started("f32") as own:
    rows = {}

    def append(request, values):
        held = rows.get(request.rank, values[:0].copy())
        rows[request.rank] = np.concatenate([held[:request.first], values])

    def read(request, values):
        values[...] = rows[request.rank][request.first:request.first + request.rows]

    engine.set_cache_hooks("layer.0.key", append=append, read=read)
    for first, end in ((0, 6), (6, 7)):
        expect((run(engine, first, end) == run(own, first, end)).all(),
               "a cache behind functions")
    expect(len(rows) == engine.ranks and all(len(r) == 7 for r in rows.values()),
           "every rank's rows")

    def reads_too_little(request, values):
        values[...] = rows[request.rank][:1, :, :3]

    engine.set_cache_hooks("layer.0.key", append=append, read=reads_too_little)
    refused("a read that raises", ["(attention", "read hook", "ValueError"], run, engine, 0, 3)
    engine.set_cache_hooks("layer.0.key", pages=lambda request: layline.Pages(
        np.zeros((4, 4, request.items, request.item_elements)), [0, 1, 2, 3]))
    refused("pages of another type", ["cache 'layer.0.key' on rank 0", "pages hook",
                                      "TypeError", "float32 is expected"], run, engine, 0, 3)
    engine.set_cache_hooks("layer.0.key", pages=lambda request: layline.Pages(
        np.zeros((4, 4, request.items, request.item_elements), request.dtype), [0, 9]))
    refused("a page that is not there", ["ValueError", "pages 0 to 9 of 4"], run, engine, 0, 3)
    engine.set_cache_hooks()
    own.past = 0
    expect((run(engine, 0, 6) == run(own, 0, 6)).all(), "the runtime's own rows again")

# Traces, and what is refused.
with started() as engine, tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "trace.json")
    refused("no trace", ["no trace was begun"], engine.write_trace, path)
    engine.begin_trace()
    run(engine)
    engine.end_trace()
    engine.write_trace(path)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    expect({e["pid"] for e in events} == set(range(engine.ranks)), "traced ranks")

    refused("an unknown output", ["no output 'z'"], engine.output, "z")
    refused("too many rows", ["rows"], engine.output, "logits", 0, 1000)
    refused("a plan that is not there", ["/nowhere"], engine.load_plan, "/nowhere")
    refused("no plan any more", ["no plan"], engine.run, 1)
    refused("floats as ids", ["integers"], engine.bind_input, "input_ids",
            np.zeros(3), error=TypeError)
    refused("integers as a weight", ["float32"], engine.bind_weight, "w",
            np.zeros(3, np.int32), error=TypeError)
refused("a closed engine", [], engine.run, 1)
refused("an unknown device", ["tpu"], layline.Engine, "f32", "tpu")
refused("an unknown precision", ["f64"], layline.Engine, "f8", error=ValueError)
expect(layline.check_plan(PLAN) == [], "a good plan")
expect(any("/nowhere" in line for line in layline.check_plan("/nowhere")),
       "a plan that is not there, checked")

print("python module:", "wrong: " + ", ".join(wrong) if wrong else "all right")
sys.exit(1 if wrong else 0)
