#!/usr/bin/env python3
"""A config.json with one wrong value.

The message names the file and the key, and says what was found and expected.
Nothing is written, and an earlier plan in the folder stays as it is.
"""

import copy
import json
import threading

from layline_tests import GOLDEN, MODELS, Test, each, read_json, snapshot

test = Test()
MISSING = object()
NAN, INFINITY = float("nan"), float("inf")
NOT_INTEGERS = [1.5, 10**30, "8", True, [], {}, NAN, INFINITY]
SIZES = ["hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings",
         "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
         "moe_intermediate_size", "num_experts_per_tok", "decoder_sparse_step"]
NEEDED = ["hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings",
          "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
          "moe_intermediate_size", "num_experts_per_tok", "rms_norm_eps", "num_local_experts"]
FLAGS = ["attention_bias", "norm_topk_prob", "tie_word_embeddings", "use_sliding_window"]

qwen3_moe = read_json(GOLDEN / "qwen3_moe" / "config.json")
llama = read_json(MODELS / "llama-3.1-8b.json")
phi3 = read_json(GOLDEN / "phi3" / "config.json")

cases = []  # (base, key path, value, exit, words)


def case(base, key, values, status=2, *words):
    cases.extend((base, key, value, status, words) for value in values)


for key in SIZES:
    case(qwen3_moe, key, [-1, 0, 2**31, *NOT_INTEGERS])
for key in NEEDED:
    case(qwen3_moe, key, [MISSING], 2, "missing")
for key in FLAGS:
    case(qwen3_moe, key, [0, 1, "false", [], {}, NAN], 2, "expected true or false")
case(qwen3_moe, "rms_norm_eps", [-1e-6, 0, 1.5, 10**30, "1e-6", True, None, NAN, INFINITY])
case(qwen3_moe, "num_local_experts", [-1, 10**6, *NOT_INTEGERS])
case(qwen3_moe, "num_experts_per_tok", [9], 2, "number 9", "between 1 and 8")
case(qwen3_moe, "num_key_value_heads", [3, 16], 2, "num_attention_heads")
case(qwen3_moe, "num_hidden_layers", [10001], 2, "10000")
case(qwen3_moe, "mlp_only_layers", [0, "0", [-1], ["0"], [0.5], {}])
case(qwen3_moe, "architectures", [1, "Qwen3MoeForCausalLM", {}])
case(qwen3_moe, "hidden_act", [1, [], True], 2, "expected a string")
case(qwen3_moe, "dtype", [16, []], 2, "expected a string")
case(qwen3_moe, "model_type", [4, []])
case(qwen3_moe, "rope_parameters", [1, "default", []], 2, "expected an object")
case(qwen3_moe, "rope_parameters.rope_theta", [-1, 0, "1e6", NAN, INFINITY])
case(qwen3_moe, "rope_parameters.rope_type", [1, []])
case(llama, "rope_scaling.factor", [-8, 0, "8", MISSING, NAN])
case(llama, "rope_scaling.low_freq_factor", [-1, "1", MISSING])
case(llama, "rope_scaling.original_max_position_embeddings", [-1, 0, 1.5])
# Good values that no plan can be made of.
case(qwen3_moe, "architectures", [["LlamaForCausalLM"], ["A", "B"]], 1, "Qwen3MoeForCausalLM")
case(qwen3_moe, "model_type", ["", "qwen4", "Llama"], 1, "qwen3_moe")
case(qwen3_moe, "model_type", [MISSING], 1, "expected one of", "qwen3_moe")
case(qwen3_moe, "hidden_act", ["swish7", ""], 1, "silu")
case(qwen3_moe, "dtype", ["int8", "bf16"], 1, "bfloat16")
case(qwen3_moe, "rope_parameters.rope_type", ["spiral"], 1)
case(qwen3_moe, "quantization_config", [{"quant_method": "awq"}, {}], 1, "fp8 or mxfp4")
case(qwen3_moe, "kv_lora_rank", [512], 1, "latent")
case(qwen3_moe, "final_logit_softcapping", [30.0], 1)
case(qwen3_moe, "n_shared_experts", [1], 1)
case(phi3, "attention_bias", [True], 1, "phi3")

# What says nothing about the computation may be anything.
HARMLESS = [(key, value) for key in ("bos_token_id", "initializer_range", "use_cache",
                                     "transformers_version", "a_key_of_tomorrow")
            for value in (MISSING, -1, "x", None, [], {}, NAN)]

lock, number = threading.Lock(), iter(range(10**6))


def edited(base, path, value):
    config = copy.deepcopy(base)
    *outer, key = path.split(".")
    place = config
    for name in outer:
        place = place[name]
    if value is MISSING:
        place.pop(key, None)
    else:
        place[key] = value
    with lock:
        folder = test.out / str(next(number))
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    return folder


def show(path, value):
    return f"{path} {'missing' if value is MISSING else '= ' + json.dumps(value)}"


good = snapshot(test.compile(GOLDEN / "qwen3_moe" / "config.json", test.out / "good",
                             "--tp", 4, "--tokens", "1:64"))


def check(entry):
    base, path, value, status, words = entry
    folder = edited(base, path, value)
    config, what = folder / "config.json", show(path, value)
    arguments = ["compile", config, "--tp", 4, "--tokens", "1:64", "-o"]
    run = test.run(*arguments, folder / "new")
    test.refused(run, what, status, str(config), path.split(".")[-1],
                 "missing" if value is MISSING else "found",
                 "expected" if status == 2 else "", *words)
    test.expect(not (folder / "new").exists(), f"{what} writes nothing")
    held = folder / "held"
    held.mkdir()
    for name, data in good.items():
        (held / name).write_bytes(data)
    again = test.run(*arguments, held)
    test.expect((again.status, again.stderr) == (run.status, run.stderr),
                f"{what}: the same over an earlier plan", again)
    test.expect(snapshot(held) == good, f"{what} leaves an earlier plan as it is")


def check_harmless(entry):
    folder = edited(qwen3_moe, *entry)
    run = test.run("compile", folder / "config.json", "--tp", 4, "-o", folder / "new")
    test.expect(run.status == 0, f"{show(*entry)} changes nothing", run)


each(check, cases)
each(check_harmless, HARMLESS)

# Texts that are no config at all.
for name, text, status, words in [
        ("empty", b"", 2, ["empty"]), ("blank", b" \n", 2, ["empty"]),
        ("list", b"[]", 2, ["object"]), ("number", b"7", 2, ["object"]),
        ("binary", bytes(range(256)), 2, []), ("zeros", bytes(5000), 2, []),
        ("deep", b'{"a":' * 10**5 + b"1" + b"}" * 10**5, 2, ["nested"]),
        ("twice", b'{"model_type": "llama", "model_type": "qwen3"}', 2, ["model_type", "twice"]),
        ("utf16", json.dumps(qwen3_moe).encode("utf-16"), 2, []),
        ("octal", b'{"model_type": "llama", "hidden_size": 0100}', 2, ["0100"]),
        ("trailing", json.dumps(qwen3_moe).encode() + b"}", 2, []),
        ("long", b'{"model_type": "' + b"x" * (9 << 20) + b'"}', 2, ["bytes"])]:
    (test.out / f"{name}.json").write_bytes(text)
    run = test.run("compile", test.out / f"{name}.json", "-o", test.out / f"{name}-out")
    test.refused(run, f"{name}.json", status, f"{name}.json", *words)
    test.expect(not (test.out / f"{name}-out").exists(), f"{name}.json writes nothing")
test.finish(f"{len(cases)} wrong values, {len(HARMLESS)} harmless ones")
