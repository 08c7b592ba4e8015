#!/usr/bin/env python3
"""Rows in fp8: every number of ranks against one, and one against plain Python.

    fp8.py LAYLINE OUT [--tp N,N,...] MODEL...

Each golden model is compiled with `--activations fp8` (a scale for each row) and
`fp8:group16`. The run on one rank is the reference for the others, by rows,
whole and as they cost least: payloads and scales too, which are recorded. Layer
0 of llama is computed here as well, from the recorded input and the weights, with
a search of all E4M3 numbers for the nearest. The payload must also matter: the
logits are not those of the model that quantises nothing.
"""

import argparse
import array
import bisect
import math
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from layline_tests import read_json, read_tensors, write_tensors  # noqa: E402

KINDS = {"fp8": 0, "fp8:group16": 16}
BOUND = 1e-10  # README.md: float64
# Exponents of 4 bits around 7, mantissas of 3 bits, no infinity: up to 448.
NUMBERS = [(m / 8 if e == 0 else 1 + m / 8) * 2.0 ** (max(e, 1) - 7)
           for e in range(16) for m in range(8)][:-1]


def tool(layline, *arguments):
    done = subprocess.run([layline, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}: exit {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")


def run(layline, model, plan, tp, kind, boundaries, *arguments):
    tool(layline, "compile", HERE / model / "config.json", "--tp", tp, "--target", "cpu",
         "--tokens", "1:64", "--boundaries", boundaries, "--activations", kind, "-o", plan)
    tool(layline, "verify", plan, "--against", HERE / model / "config.json",
         "--activations", kind)
    tool(layline, "run", plan, "--weights", HERE / model / "model.safetensors",
         "--input", HERE / model / "golden.safetensors", "--precision", "f64", *arguments)


def floats(path):
    code = {"F64": "d", "F32": "f"}
    return {name: (shape, array.array(code[dtype], data))
            for name, (dtype, shape, data) in read_tensors(path).items() if dtype in code}


def sort_choices(path):
    """Experts of a row in ascending order, as references have them. What an
    indexer selects stands there for every key: it is left out, attn_out depends
    on it."""
    tensors = {name: tensor for name, tensor in read_tensors(path).items()
               if ".indexer_" not in name}
    for name in [name for name in tensors if name.endswith("topk_idx")]:
        weights = name.replace("topk_idx", "topk_w")
        ids = array.array("q", tensors[name][2])
        shares = array.array("d", tensors[weights][2])
        width = tensors[name][1][-1]
        for begin in range(0, len(ids), width):
            pairs = sorted(zip(ids[begin:begin + width], shares[begin:begin + width]))
            for at, (one, share) in enumerate(pairs):
                ids[begin + at], shares[begin + at] = one, share
        tensors[name][2], tensors[weights][2] = ids.tobytes(), shares.tobytes()
    write_tensors(path, tensors)


def rows_of(tensor):
    shape, data = tensor
    width = shape[-1]
    return [list(data[i:i + width]) for i in range(0, len(data), width)]


def nearest(x):
    """Of two as near the one with an even mantissa: neighbours differ in it."""
    at = min(bisect.bisect_left(NUMBERS, abs(x)), len(NUMBERS) - 1)
    best = min((abs(NUMBERS[i] - abs(x)), i % 2, i) for i in (max(at - 1, 0), at))
    return math.copysign(NUMBERS[best[2]], x)


def quantized(row, size):
    """(payload, scales, the numbers that they stand for)"""
    payload, scales, numbers = [], [], []
    for begin in range(0, len(row), size or len(row)):
        group = row[begin:begin + (size or len(row))]
        scale = max(map(abs, group)) / 448
        values = [nearest(x / scale) if scale else 0.0 for x in group]
        scales.append(scale)
        payload += values
        numbers += [v * scale for v in values]
    return payload, scales, numbers


def product(rows, matrix):
    return [[math.fsum(map(float.__mul__, row, w)) for w in matrix] for row in rows]


def norm(row, weight, eps):
    scale = 1 / math.sqrt(math.fsum(x * x for x in row) / len(row) + eps)
    return [x * scale * w for x, w in zip(row, weight)]


def rotated(row, position, width, frequencies):
    half, out = width // 2, list(row)
    for begin in range(0, len(row), width):
        for i in range(half):
            angle = position * frequencies[i]
            a, b = row[begin + i], row[begin + half + i]
            out[begin + i] = a * math.cos(angle) - b * math.sin(angle)
            out[begin + half + i] = b * math.cos(angle) + a * math.sin(angle)
    return out


def attended(q, k, v, heads, kv_heads, width):
    out = []
    for t, query in enumerate(q):
        row = []
        for h in range(heads):
            at = h * kv_heads // heads * width
            mine = query[h * width:(h + 1) * width]
            scores = [math.fsum(a * b for a, b in zip(mine, key[at:at + width])) / math.sqrt(width)
                      for key in k[:t + 1]]
            weights = [math.exp(s - max(scores)) for s in scores]
            total = math.fsum(weights)
            row += [math.fsum(w * value[at + i] for w, value in zip(weights, v)) / total
                    for i in range(width)]
        out.append(row)
    return out


def llama_layer(config, weights, x, positions, frequencies, size):
    """Recorded values of layer 0, from its input."""
    def weight(name):
        tensor = weights[f"model.layers.0.{name}.weight"]
        return rows_of(tensor) if len(tensor[0]) == 2 else list(tensor[1])

    found = {}

    def narrow(rows, name):
        triples = [quantized(row, size) for row in rows]
        found[name] = [t[0] for t in triples]
        found[name + "_scales"] = [t[1] for t in triples]
        return [t[2] for t in triples]

    eps, heads = config["rms_norm_eps"], config["num_attention_heads"]
    width = config.get("head_dim") or config["hidden_size"] // heads
    y = narrow([norm(row, weight("input_layernorm"), eps) for row in x], "attn_rows")
    q, k, v = (product(y, weight(f"self_attn.{name}_proj")) for name in "qkv")
    q, k = ([rotated(row, p, width, frequencies) for row, p in zip(rows, positions)]
            for rows in (q, k))
    attn = product(attended(q, k, v, heads, config["num_key_value_heads"], width),
                   weight("self_attn.o_proj"))
    h = [[a + b for a, b in zip(*pair)] for pair in zip(x, attn)]
    z = narrow([norm(row, weight("post_attention_layernorm"), eps) for row in h], "mlp_rows")
    gate, up = (product(z, weight(f"mlp.{name}_proj")) for name in ("gate", "up"))
    inner = [[g / (1 + math.exp(-g)) * u for g, u in zip(*pair)] for pair in zip(gate, up)]
    out = product(inner, weight("mlp.down_proj"))
    found["output"] = [[a + b for a, b in zip(*pair)] for pair in zip(h, out)]
    return found


def difference(ours, theirs):
    largest = max(map(abs, theirs))
    return max(abs(a - b) for a, b in zip(ours, theirs)) / largest


def check_layer(plan, saved, size):
    """Problems of the run of llama on one rank. RoPE's frequencies are the plan's:
    the other golden tests have them."""
    config = read_json(HERE / "llama" / "config.json")
    positions = array.array("q", read_tensors(
        HERE / "llama" / "golden.safetensors")["position_ids"][2])
    found = floats(saved)
    expected = llama_layer(config, floats(HERE / "llama" / "model.safetensors"),
                           rows_of(found["layer.0.input"]), positions,
                           read_json(plan / "plan.json")["tables"][0]["inv_freq"], size)
    for name, rows in expected.items():
        ours, theirs = found[f"layer.0.{name}"][1], [x for row in rows for x in row]
        if len(ours) != len(theirs):
            yield f"layer.0.{name}: found {len(ours)} numbers, expected {len(theirs)}"
        elif (error := difference(ours, theirs)) > BOUND:
            yield f"layer.0.{name}: differs by {error:.1e} from the plain form"


def check(layline, out, model, kind, sizes):
    """(problems, comparisons made) of one model with one kind of rows."""
    out = out / f"{model}-{kind.replace(':', '-')}"
    reference, plain = out / "reference.safetensors", out / "plain.safetensors"
    out.mkdir(parents=True)
    run(layline, model, out / "one", 1, kind, "whole", "--save", reference)
    sort_choices(reference)
    run(layline, model, out / "plain", 1, "model", "whole", "--save", plain)
    problems = []
    # Three bits behind the leading one are kept.
    change = difference(floats(reference)["logits"][1], floats(plain)["logits"][1])
    if not 2 ** -10 < change < 1:
        problems.append(f"logits differ by {change:.1e} from those of the model's own type")
    if model == "llama":
        problems += check_layer(out / "one", reference, KINDS[kind])
    for tp in sizes:
        for boundaries in ("rows", "whole", "auto"):
            run(layline, model, out / f"tp{tp}-{boundaries}", tp, kind, boundaries,
                "--check", reference, "--rtol", BOUND)
    return [f"{model}, {kind}: {p}" for p in problems], 3 * len(sizes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("layline")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--tp", default="2,4,8")
    given = parser.parse_args()
    shutil.rmtree(given.out, ignore_errors=True)
    sizes = [int(tp) for tp in given.tp.split(",")]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda case: check(given.layline, given.out, *case, sizes),
                                [(m, kind) for m in given.models for kind in KINDS]))
    problems = [p for found, _ in results for p in found]
    print("\n".join(problems + [f"{sum(n for _, n in results)} runs equal to one rank's, "
                                f"{len(problems)} problems"]))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
