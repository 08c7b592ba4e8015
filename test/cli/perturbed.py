#!/usr/bin/env python3
"""The comparison with golden tensors can fail.

One value of a reference is moved by 1e-6 of the tensor's largest: beyond the
bound of float64 (1e-10), within that of float32 (5e-6). One chosen expert is
exchanged, one weight moved. Each time only the tensors that are concerned fail.
"""

import struct

from layline_tests import GOLDEN, Test, read_tensors, write_tensors

test = Test()
FORMATS = {"F64": "d", "F32": "f", "I64": "q"}


def perturb(source, out, name, index, move):
    """Copies `source` with element `index` of tensor `name` given to `move`."""
    tensors = read_tensors(source)
    dtype, shape, data = tensors[name]
    form = f"<{len(data) // struct.calcsize(FORMATS[dtype])}{FORMATS[dtype]}"
    values = list(struct.unpack(form, data))
    values[index] = move(values, values[index])
    tensors[name] = [dtype, shape, struct.pack(form, *values)]
    write_tensors(out, tensors)
    return out


def relative(amount):
    return lambda values, value: value + amount * max(map(abs, values))


def failed(run):
    """Names of the tensors that are not within the bound."""
    return {line.split()[0] for line in run.stdout.splitlines() if line.endswith(("NO", "MISSING"))}


for model in ("qwen3_moe", "llama"):
    folder = GOLDEN / model
    weights, record = folder / "model.safetensors", folder / "golden.safetensors"
    plan = test.compile(folder / "config.json", test.out / model, "--tp", 4, "--target", "cpu",
                        "--tokens", "1:64")

    def run(precision, check=record, weights=weights):
        return test.run("run", plan, "--weights", weights, "--input", record, "--check", check,
                        "--precision", precision)

    for precision in ("f64", "f32"):
        test.expect(run(precision).status == 0, f"{model}, {precision}: as recorded")
    names = ["layer.0.input", "layer.0.k_rope", "layer.1.attn_out", "final_norm", "logits"]
    if model == "qwen3_moe":
        names += ["layer.1.router_logits", "layer.1.topk_w"]
    for name in names:
        for index in (0, -1):
            bad = perturb(record, test.out / f"{model}-{name}{index}.safetensors", name, index,
                          relative(1e-6))
            done = run("f64", bad)
            test.expect(done.status == 1 and "NOT EQUAL" in done.stdout and failed(done) == {name},
                        f"{model}: f64 sees {name}[{index}]", f"{failed(done)}, {done}")
            done = run("f32", bad)
            test.expect(done.status == 0, f"{model}: f32 takes {name}[{index}]", done)
            worse = perturb(record, test.out / "worse.safetensors", name, index, relative(1e-4))
            test.expect(failed(run("f32", worse)) == {name}, f"{model}: f32 sees 1e-4 in {name}")
    nan = perturb(record, test.out / "nan.safetensors", "logits", 5, lambda *_: float("nan"))
    test.expect(run("f32", nan).status == 1, f"{model}: a reference that is not a number")
    if model == "qwen3_moe":
        other = perturb(record, test.out / "expert.safetensors", "layer.1.topk_idx", 0,
                        lambda values, value: next(e for e in range(8) if e not in values[:2]))
        done = run("f32", other)
        test.expect(done.status == 1 and "layer.1.topk_idx" in failed(done),
                    "another expert is seen", done)
    moved = perturb(weights, test.out / "weights.safetensors",
                    "model.layers.1.self_attn.o_proj.weight", 7, relative(1e-3))
    done = run("f64", weights=moved)
    bad = failed(done)
    test.expect(done.status == 1 and {"layer.1.attn_out", "layer.1.output", "logits"} <= bad
                and not [n for n in bad if n.startswith("layer.0.")],
                f"{model}: a weight of layer 1 changes what follows it alone", bad)
test.finish("negative control")
