#!/usr/bin/env python3
"""make_golden.py OUT [MODEL...]: golden models by Hugging Face's own code.

Needs torch 2.15.0 and transformers 5.24.0, which no test needs: the data made by
it is in this folder. Random weights from a seed; the reference runs in float64
throughout, since every float32 that modelling code asks for is made float64.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

# Before any modelling code: rotary tables, softmax and norms name these types.
FLOAT32 = torch.float32
torch.float32 = torch.float = torch.float64
torch.Tensor.float = torch.Tensor.double
torch.set_default_dtype(torch.float64)

import transformers  # noqa: E402

TOKENS = 24
COMMON = {"vocab_size": 128, "use_cache": True, "bos_token_id": 1, "eos_token_id": 2}
SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8}

# name: (class, first position, what its config says, modules of a layer)
NEOX = dict(SIZES, intermediate_size=48, max_position_embeddings=512, hidden_act="gelu",
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                             "partial_rotary_factor": 0.5})
NEOX_MODULES = {"input_norm": "input_layernorm", "post_attn_norm": "post_attention_layernorm",
                "attn_out": "attention", "mlp_out": "mlp"}
FALCON_MODULES = {"attn_out": "self_attention", "mlp_out": "mlp"}
MODELS = {
    "gemma3_text": ("Gemma3ForCausalLM", 37, dict(
        SIZES, intermediate_size=32, num_key_value_heads=4, head_dim=16, sliding_window=8,
        query_pre_attn_scalar=24, layer_types=["sliding_attention", "full_attention"],
        max_position_embeddings=512, rope_parameters={
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 8.0}},
        hidden_activation="gelu_pytorch_tanh"), {
            "input_norm": "input_layernorm", "attn_out": "self_attn",
            "attn_branch_norm": "post_attention_layernorm",
            "post_attn_norm": "pre_feedforward_layernorm", "mlp_out": "mlp",
            "mlp_branch_norm": "post_feedforward_layernorm"}),
    "gpt_neox": ("GPTNeoXForCausalLM", 53, dict(NEOX, use_parallel_residual=True), NEOX_MODULES),
    "gpt_neox_sequential": ("GPTNeoXForCausalLM", 0, dict(NEOX, use_parallel_residual=False),
                            NEOX_MODULES),
    "stablelm": ("StableLmForCausalLM", 41, dict(
        SIZES, intermediate_size=32, num_key_value_heads=4, max_position_embeddings=512,
        use_qkv_bias=True, rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                                            "partial_rotary_factor": 0.5}), {
            "input_norm": "input_layernorm", "post_attn_norm": "post_attention_layernorm",
            "attn_out": "self_attn", "mlp_out": "mlp"}),
    "gptj": ("GPTJForCausalLM", 13, dict(n_embd=64, n_layer=2, n_head=4, n_positions=512,
                                         rotary_dim=8, n_inner=None), {
            "input_norm": "ln_1", "attn_out": "attn", "mlp_out": "mlp"}),
    "falcon": ("FalconForCausalLM", 29, dict(
        SIZES, num_kv_heads=2, new_decoder_architecture=True, ffn_hidden_size=48,
        max_position_embeddings=512), dict(FALCON_MODULES, input_norm="ln_attn",
                                           post_attn_norm="ln_mlp")),
    "falcon_multi_query": ("FalconForCausalLM", 0, dict(
        SIZES, multi_query=True, bias=True, max_position_embeddings=512),
        dict(FALCON_MODULES, input_norm="input_layernorm")),
}
# Attention and MLP side by side: their sum is a value, and a branch's output
# only if it has no bias.
PARALLEL = {"gpt_neox": ("attn_out", "mlp_out"), "gptj": ("mlp_out",), "falcon": (),
            "falcon_multi_query": ("attn_out", "mlp_out")}


def randomize(model, generator):
    """float32 numbers, so that the stored weights are exact."""
    for name, parameter in model.named_parameters():
        numbers = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() > 1:
            numbers = numbers * (0.5 if "emb" in name or "wte" in name
                                 else parameter.shape[1] ** -0.5)
        elif name.endswith("bias"):
            numbers = 0.3 * numbers
        else:
            base = 0.0 if "Gemma" in type(model).__name__ else 1.0
            numbers = base + 0.2 * numbers
        parameter.data = numbers.to(FLOAT32).to(torch.float64)


def layers_of(model):
    base = model.base_model
    return base.layers if hasattr(base, "layers") else base.h


def final_norm_of(model):
    base = model.base_model
    for name in ("norm", "final_layer_norm", "ln_f"):
        if hasattr(base, name):
            return getattr(base, name)
    raise AttributeError("no final norm")


def run(model, modules, ids, positions):
    """Every recorded tensor of one run, batch first."""
    found, hooks = {}, []

    def keep(name):
        def hook(_module, _inputs, output):
            found[name] = (output[0] if isinstance(output, tuple) else output).clone()
        return hook

    def keep_input(_module, inputs, keywords):
        found["layer.0.input"] = (inputs[0] if inputs else keywords["hidden_states"]).clone()

    layers = layers_of(model)
    hooks.append(layers[0].register_forward_pre_hook(keep_input, with_kwargs=True))
    for index, layer in enumerate(layers):
        hooks.append(layer.register_forward_hook(keep(f"layer.{index}.output")))
        for name, path in modules.items():
            module = layer.get_submodule(path)
            hooks.append(module.register_forward_hook(keep(f"layer.{index}.{name}")))
    hooks.append(final_norm_of(model).register_forward_hook(keep("final_norm")))
    with torch.no_grad():
        result = model(input_ids=ids, position_ids=positions, use_cache=True)
    for hook in hooks:
        hook.remove()
    found["logits"] = result.logits
    config = model.config
    count = getattr(config, "num_kv_heads", None) or getattr(config, "num_key_value_heads", None)
    if getattr(config, "multi_query", False) and not config.new_decoder_architecture:
        count = 1
    for index, layer in enumerate(result.past_key_values.layers):
        keys = layer.keys
        # A sliding layer caches its window only; Falcon caches a copy of the key
        # for each query head.
        if keys.shape[2] == TOKENS:
            step = keys.shape[1] // (count or keys.shape[1])
            found[f"layer.{index}.k_rope"] = keys[:, ::step]
    return found


def make(name, out):
    class_name, first, keys, modules = MODELS[name]
    model_class = getattr(transformers, class_name)
    config = model_class.config_class(**COMMON, **keys)
    config._attn_implementation = "eager"
    config.dtype = FLOAT32
    generator = torch.Generator().manual_seed(0)
    model = model_class(config).double().eval()
    model.tie_weights()
    randomize(model, generator)
    model.tie_weights()
    ids = torch.randint(0, 128, (1, TOKENS), generator=generator)
    positions = torch.arange(first, first + TOKENS).unsqueeze(0)
    found = run(model, modules, ids, positions)
    for index in range(2):
        prefix = f"layer.{index}."
        if name in PARALLEL:
            found[prefix + "attn_mlp_out"] = (found[prefix + "attn_out"] +
                                              found[prefix + "mlp_out"])
            for branch in PARALLEL[name]:
                del found[prefix + branch]
    folder = pathlib.Path(out) / name
    folder.mkdir(parents=True, exist_ok=True)
    # transformers 5 renames this one when it reads a checkpoint.
    stored = {"lm_head.weight": "embed_out.weight"} if name.startswith("gpt_neox") else {}
    weights = {stored.get(key, key): value.to(FLOAT32).contiguous()
               for key, value in model.state_dict().items()
               if key in dict(model.named_parameters())}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    tensors = {key: value.contiguous() for key, value in found.items()}
    assert all(value.dtype == torch.float64 for value in tensors.values())
    tensors.update(input_ids=ids, position_ids=positions)
    about = {"hf_class": class_name, "name": name, "position_start": first, "prefix": 0,
             "seed": 0, "tokens": TOKENS, "versions": {
                 "torch": torch.__version__, "transformers": transformers.__version__}}
    save_file(tensors, folder / "golden.safetensors", {"golden": json.dumps(about)})
    text = config.to_dict()
    text.update(architectures=[class_name], dtype="float32")
    text.pop("_attn_implementation", None)
    (folder / "config.json").write_text(json.dumps(text, indent=2, sort_keys=True) + "\n")
    print(f"{name}: {len(tensors)} tensors, {len(weights)} weights")


if __name__ == "__main__":
    for model_name in sys.argv[2:] or MODELS:
        make(model_name, sys.argv[1])
