#!/usr/bin/env python3
"""`layline run` with inputs that are cut, missing or wrong: exit 2 and a message
that names the file and the tensor. Numbers that differ: exit 1.
"""

import json
import struct

from layline_tests import (GOLDEN, Test, each, read_json, read_safetensors, read_tensors,
                           write_safetensors, write_tensors)

test = Test()
MODEL = GOLDEN / "qwen3"  # has a cached prefix
PLAN = test.compile(MODEL / "config.json", test.out / "plan", "--tp", 4, "--target", "cpu",
                    "--tokens", "1:64")
WEIGHTS, RECORD = MODEL / "model.safetensors", MODEL / "golden.safetensors"


def run(weights=WEIGHTS, record=RECORD, check=None, plan=PLAN, *arguments):
    return test.run("run", plan, "--weights", weights, "--input", record,
                    *(["--check", check] if check else []), "--precision", "f64", *arguments)


def target(name):
    return test.out / f"{name.replace(' ', '-')}.safetensors"


def lie(source, name, tensor, **values):
    """A copy of the file whose header says something else of a tensor."""
    header, data = read_safetensors(source)
    header[tensor].update(values)
    write_safetensors(target(name), header, data)
    return target(name)


def edit(source, name, change):
    """A copy of the file, well formed; `change` gets {name: [dtype, shape, bytes]}."""
    tensors = read_tensors(source)
    change(tensors)
    write_tensors(target(name), tensors)
    return target(name)


def without(source, *names):
    return edit(source, f"{source.stem} without {names[0]}", lambda t: [t.pop(n) for n in names])


def turned(source, tensor):
    shape = read_tensors(source)[tensor][1]
    return lie(source, f"{tensor} turned", tensor, shape=shape[::-1] if shape != shape[::-1]
               else [1, *shape])


def expect_good(done, what):
    test.expect(done.status == 0 and not done.stderr, what, done)


def unusable(done, what, *words):
    test.refused(done, what, 2, *words)


expect_good(run(check=RECORD), "the model as it is")
expect_good(run(edit(WEIGHTS, "rewritten", lambda t: None), check=RECORD), "weights rewritten")

# ---- Cut anywhere -----------------------------------------------------------
def cut(case):
    source, at = case
    path = test.out / f"{source.stem}-cut-{at}.safetensors"
    path.write_bytes(source.read_bytes()[:at])
    done = run(path) if source == WEIGHTS else run(record=path)
    unusable(done, f"{source.name} cut at {at}", path.name)
    if source == RECORD:
        unusable(run(check=path), f"--check {source.name} cut at {at}", path.name)
    path.unlink()


cuts = []
for source in (WEIGHTS, RECORD):
    size = source.stat().st_size
    header = int.from_bytes(source.read_bytes()[:8], "little") + 8
    cuts += [(source, at) for at in sorted({0, 1, 7, 8, 9, header - 1, header, header + 1, size - 1,
                                            *range(0, header, header // 20),
                                            *range(header, size, (size - header) // 10)})
             if at < size]
each(cut, cuts)

# ---- Headers that lie -------------------------------------------------------
Q = "model.layers.0.self_attn.q_proj.weight"


for source, give in ((WEIGHTS, lambda p: run(p)), (RECORD, lambda p: run(record=p))):
    name = Q if source == WEIGHTS else "input_ids"
    begin, end = read_safetensors(source)[0][name]["data_offsets"]
    for what, values in [("ends before it begins", {"data_offsets": [end, begin]}),
                         ("lies beyond the file", {"data_offsets": [begin, 2**40]}),
                         ("begins before the file", {"data_offsets": [-8, end]}),
                         ("has another size than its shape", {"shape": [7, 7]}),
                         ("has a negative shape", {"shape": [-64, -64]}),
                         ("has an endless shape", {"shape": [2**62, 2**62]}),
                         ("has a shape of words", {"shape": ["many"]}),
                         ("has a dtype that is none", {"dtype": "F7"})]:
        unusable(give(lie(source, f"{source.stem} {what}", name, **values)),
                 f"{source.name}: {name} {what}", name)
for what, text in [("header of no JSON", b"{"), ("header that is a list", b"[]"),
                   ("header that is empty", b"")]:
    path = test.out / f"{what.replace(' ', '-')}.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    unusable(run(path), what, path.name)
(test.out / "huge.safetensors").write_bytes(struct.pack("<Q", 2**63) + b"{}")
unusable(run(test.out / "huge.safetensors"), "a header of 2^63 bytes", "huge.safetensors")

# ---- Weights ----------------------------------------------------------------
names = list(read_tensors(WEIGHTS))
unusable(run(without(WEIGHTS, Q)), "a weight is missing", Q)
unusable(run(turned(WEIGHTS, Q)), "a weight has another shape", Q)
unusable(run(without(WEIGHTS, *names)), "no weight at all", "tensor")
# A model in two files, and one of them alone.
first = edit(WEIGHTS, "shard 1", lambda t: [t.pop(n) for n in names[::2]])
second = edit(WEIGHTS, "shard 2", lambda t: [t.pop(n) for n in names[1::2]])
expect_good(test.run("run", PLAN, "--weights", first, "--weights", second, "--input", RECORD,
                     "--check", RECORD, "--precision", "f64"), "two shards")
unusable(run(first), "one shard of two", "tensor")
unusable(run(GOLDEN / "llama" / "model.safetensors"), "weights of another model", "_norm.weight")

# ---- Quantised weights ------------------------------------------------------
# Planned with a note, and not read: the first such tensor is named.
config = dict(read_json(MODEL / "config.json"), dtype="bfloat16", quantization_config={
    "quant_method": "fp8", "weight_block_size": [128, 128]})
(test.out / "fp8.json").write_text(json.dumps(config))
done = test.run("compile", test.out / "fp8.json", "--tp", 4, "--tokens", "1:64", "-o",
                test.out / "fp8")
note = "weights are stored as fp8 with scales beside them, one for each block of 128 x 128"
test.expect(done.status == 0 and f"note: {note}" in done.stdout, "fp8 weights are planned", done)
test.expect(any(note in a for a in read_json(test.out / "fp8" / "decisions.json")["assumptions"]),
            "decisions.json says so")
narrow = edit(WEIGHTS, "fp8 weights", lambda t: t.update(
    {Q: ["F8_E4M3", t[Q][1], t[Q][2][:len(t[Q][2]) // 4]]}))
unusable(run(narrow, plan=test.out / "fp8"), "fp8 weights are not run", Q, "dtype F8_E4M3",
         "expected")

# ---- Inputs -----------------------------------------------------------------
unusable(run(record=WEIGHTS), "weights as input", "model.safetensors", "input_ids")
unusable(run(record=without(RECORD, "input_ids")), "no input_ids", "input_ids", "expected")
unusable(run(record=lie(RECORD, "ids of floats", "input_ids", dtype="F64")), "input_ids of floats",
         "input_ids")
for name in ("layer.0.past_k", "layer.1.past_v"):
    unusable(run(record=without(RECORD, name)), f"{name} is missing", name, "not found", "expected")
    unusable(run(record=turned(RECORD, name)), f"{name} has another shape", name, "expected")


def set_integer(name, index, value):
    def change(tensors):
        data = bytearray(tensors[name][2])
        data[8 * index:8 * index + 8] = struct.pack("<q", value)
        tensors[name][2] = bytes(data)
    return change


few = edit(RECORD, "few positions", lambda t: t.update(
    position_ids=["I64", [1, 8], t["position_ids"][2][:64]]))
unusable(run(record=few), "too few positions", "position_ids", "8", "expected 24")
for value in (-1, 128, 2**40):
    done = run(record=edit(RECORD, f"id {value}", set_integer("input_ids", 3, value)), check=RECORD)
    test.expect(done.status in (1, 2) and (done.stderr.strip() or "NOT EQUAL" in done.stdout),
                f"token id {value}", done)
    print(f"token id {value}: {done}")
done = run(record=edit(RECORD, "early", set_integer("position_ids", 0, 2)))
unusable(done, "positions that begin before the prefix ends", "prefix_input_ids")

# ---- The command line -------------------------------------------------------
for tokens in ("0", "-1", "25", "65"):
    unusable(run(WEIGHTS, RECORD, None, PLAN, "--tokens", tokens), f"--tokens {tokens}", "--tokens",
             f"found {tokens}", "expected 1 to 24")
for tokens in ("x", "1.5"):
    unusable(run(WEIGHTS, RECORD, None, PLAN, "--tokens", tokens), f"--tokens {tokens}", "--tokens",
             f"found '{tokens}'")
for rtol in ("x", "-1", "0", "nan"):
    unusable(run(WEIGHTS, RECORD, RECORD, PLAN, "--rtol", rtol), f"--rtol {rtol}", "--rtol",
             "found")
unusable(test.run("run", PLAN, "--weights", WEIGHTS, "--input", RECORD, "--precision", "f16"),
         "--precision f16", "--precision", "'f16'", "expected f32, f64 or bf16")
unusable(test.run("run", PLAN, "--input", RECORD), "no --weights", "--weights", "required")
unusable(test.run("run", PLAN, "--weights", WEIGHTS), "no --input", "--input", "required")
none = test.out / "none"
unusable(run(none), "weights that are not there", "none")
unusable(run(record=none), "an input that is not there", "none")
unusable(run(check=none), "a reference that is not there", "none")
unusable(run(plan=none), "a plan that is not there", "none")
unusable(run(MODEL), "a folder as weights", "qwen3")
unusable(run(record=MODEL), "a folder as input", "qwen3")

# ---- Recorded values ---------------------------------------------------------
saved, chunks = test.out / "saved.safetensors", test.out / "chunks.safetensors"
expect_good(run(WEIGHTS, RECORD, None, PLAN, "--save", saved), "--save")
expect_good(run(WEIGHTS, RECORD, None, PLAN, "--save", chunks, "--chunk", "7"), "--save of chunks")
kept = read_tensors(saved)
recorded = {n for n in read_tensors(RECORD) if not n.startswith(("f32.", "prefix_"))
            and n not in ("input_ids", "position_ids") and ".past_" not in n}
test.expect(recorded and recorded <= set(kept), "--save has every recorded tensor",
            recorded - set(kept))
test.expect(kept["logits"][:2] == ["F64", [24, 128]], "--save of the logits", kept["logits"][:2])
test.expect({n: t[:2] for n, t in kept.items()} == {n: t[:2] for n, t in read_tensors(chunks).items()},
            "chunks have the rows of the whole")
done = run(WEIGHTS, RECORD, saved, PLAN, "--rtol", "1e-30")
test.expect(done.status == 0 and "equal:" in done.stdout, "a run against itself", done)
unusable(run(WEIGHTS, RECORD, None, PLAN, "--save", none / "saved"), "--save into no folder",
         "saved", "cannot be written")

# ---- bf16 --------------------------------------------------------------------
done = test.run("run", PLAN, "--weights", WEIGHTS, "--input", RECORD, "--precision", "bf16")
test.refused(done, "a plan of a model in f32 in bf16", 1, "is of a model in f32", "bf16")

# ---- Devices -----------------------------------------------------------------
on = lambda *device: test.run("run", PLAN, "--weights", WEIGHTS, "--input", RECORD, "--device", *device)
test.refused(on("nobody"), "a device of nobody", 1, "device 'nobody' is unknown; ",
             "'cpu' or 'cuda' or 'simt' is expected")
# Collectives and rows by the kernels, on emulated GPUs.
done = on("simt", "--simt", "race,seed=3", "--check", RECORD)
words = " ".join(done.stdout.split())
test.expect(done.status == 0 and "equal:" in words and "on the cpu" in words
            and ("one_shot f32" in words or "row_collective f32" in words), "kernels on the emulator", done)
test.refused(on("simt", "--simt", "raze"), "a mode of nobody", 2, "found 'raze'", "race")
test.refused(on("cpu", "--simt", "race"), "a mode of another device", 2, "found with --device cpu")
test.refused(on("simt", "--precision", "f64"), "f64 on the emulator", 1, "f64")
# Outputs alone: no value inside a step is compared, or asked for.
done = on("simt", "--check", RECORD, "--outputs-only")
test.expect(done.status == 0 and "equal: 1 tensors compared" in done.stdout and "logits" in done.stdout,
            "outputs alone", done)
unusable(on("cpu", "--outputs-only"), "outputs alone of no comparison", "--outputs-only", "--check")

# ---- What ran when -----------------------------------------------------------
for device in ("cpu", "simt"):
    trace = test.out / f"{device}.trace.json"
    done = on(device, "--trace", trace, "--chunk", 12)
    if not test.expect(done.status == 0 and trace.exists(), f"a trace on {device}", done):
        continue
    events = [e for e in read_json(trace)["traceEvents"] if e["ph"] == "X"]
    test.expect({e["pid"] for e in events} == set(range(4)), f"{device}: a track for each rank")
    runs = [[(e["name"], e["args"]["step"]) for e in events if e["pid"] == 0 and e["args"]["run"] == r]
            for r in (0, 1)]
    test.expect(runs[0] and runs[0] == runs[1], f"{device}: both steps of the prefill", runs)
    ends = [e["ts"] + e["dur"] for e in events if e["pid"] == 0]
    test.expect(all(e["ts"] >= 0 and e["dur"] >= 0 for e in events) and ends == sorted(ends),
                f"{device}: times go on")
unusable(on("cpu", "--trace", test.out / "nowhere" / "t.json"), "a trace into no folder", "--trace",
         "nowhere", "cannot be written")

done = on("cuda")
# Where there is a GPU it runs: make gpu-test.
if done.status != 0:
    test.refused(done, "a GPU where there is none", 1, "no CUDA device: ")

# A plan whose variants end below the tokens of the input.
short = test.compile(MODEL / "config.json", test.out / "short", "--tp", 4, "--tokens", "2:8")
for tokens in ("1", "9"):
    done = run(WEIGHTS, RECORD, None, short, "--tokens", tokens)
    unusable(done, f"{tokens} tokens with a plan for 2 to 8", tokens)
expect_good(run(WEIGHTS, RECORD, RECORD, short, "--tokens", "8"), "8 tokens with a plan for 2 to 8")

# ---- Numbers that differ ----------------------------------------------------
done = run(WEIGHTS, RECORD, RECORD, PLAN, "--rtol", "1e-30")
test.expect(done.status == 1 and "NOT EQUAL" in done.stdout, "a bound that nothing keeps", done)
done = run(check=WEIGHTS)
unusable(done, "a reference of other tensors", "no tensor to compare")
more = edit(RECORD, "one more", lambda t: t.update({"layer.7.output": t["layer.1.output"]}))
done = run(check=more)
test.expect(done.status == 1 and "layer.7.output" in done.stdout and "MISSING" in done.stdout,
            "a reference of one tensor more", done)
nothing = [n for n in read_tensors(RECORD) if n not in ("input_ids", "position_ids")]
unusable(run(check=without(RECORD, *nothing)), "a reference without tensors",
         "no tensor to compare")
unusable(run(check=turned(RECORD, "logits")), "a reference of another shape", "logits", "expected")
test.finish(f"{len(cuts)} cuts, inputs and references of `layline run`")
