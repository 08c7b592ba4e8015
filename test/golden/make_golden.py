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
MOE_MODULES = {"input_norm": "input_layernorm", "attn_out": "self_attn",
               "post_attn_norm": "post_attention_layernorm", "mlp_out": "mlp"}
LATENT_SIZES = dict(
    SIZES, intermediate_size=32, moe_intermediate_size=16, max_position_embeddings=512,
    num_key_value_heads=8, q_lora_rank=32, kv_lora_rank=24, qk_nope_head_dim=12,
    qk_rope_head_dim=8, v_head_dim=10, n_routed_experts=8, n_shared_experts=1,
    num_experts_per_tok=2, n_group=4, topk_group=2, routed_scaling_factor=2.5,
    first_k_dense_replace=1)
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
    "minimax_m2": ("MiniMaxM2ForCausalLM", 37, dict(
        SIZES, intermediate_size=16, num_key_value_heads=2, head_dim=16,
        max_position_embeddings=512, num_local_experts=8, num_experts_per_tok=2,
        rope_parameters={"rope_type": "default", "rope_theta": 5000000.0,
                         "partial_rotary_factor": 0.5}), MOE_MODULES),
    # Queries are one product, and groups are chosen by their best expert.
    "deepseek_v2": ("DeepseekV2ForCausalLM", 29, dict(
        LATENT_SIZES, q_lora_rank=None, topk_method="group_limited_greedy", rope_parameters={
            "rope_type": "default", "rope_theta": 10000.0}), MOE_MODULES),
    # DeepSeek-V3's code; one group, and YaRN as released.
    "kimi_k2": ("DeepseekV3ForCausalLM", 53, dict(
        LATENT_SIZES, n_group=1, topk_group=1, routed_scaling_factor=2.827, rope_parameters={
            "rope_type": "yarn", "rope_theta": 50000.0, "factor": 32.0, "beta_fast": 1.0,
            "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
            "original_max_position_embeddings": 16}), MOE_MODULES),
    # The second layer selects as the first did.
    "glm_moe_dsa": ("GlmMoeDsaForCausalLM", 41, dict(
        LATENT_SIZES, n_group=1, topk_group=1, index_topk=8, index_head_dim=16, index_n_heads=8,
        indexer_types=["full", "shared"], rope_parameters={
            "rope_type": "default", "rope_theta": 10000.0}), MOE_MODULES),
}
# What a config says that its class does not: the family whose code it is.
OTHER_TYPE = {"kimi_k2": "kimi_k2"}
# Checkpoints keep experts apart: names of gate, up and down.
EXPERT_NAMES = {"minimax_m2": ("w1", "w3", "w2")}
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
    for name, buffer in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            numbers = 0.1 * torch.randn(buffer.shape, generator=generator)
            buffer.copy_(numbers.to(FLOAT32).to(torch.float64))


def layers_of(model):
    base = model.base_model
    return base.layers if hasattr(base, "layers") else base.h


def final_norm_of(model):
    base = model.base_model
    for name in ("norm", "final_layer_norm", "ln_f"):
        if hasattr(base, name):
            return getattr(base, name)
    raise AttributeError("no final norm")


def keep_choice(found, prefix):
    """Router logits, and the experts of each row in ascending order."""
    def hook(_module, _inputs, output):
        logits, weights, experts = output
        experts, order = experts.sort(dim=-1)
        found[prefix + "router_logits"] = logits.clone()
        found[prefix + "topk_idx"] = experts
        found[prefix + "topk_w"] = weights.gather(1, order)
    return hook


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
        if hasattr(getattr(layer, "mlp", None), "gate"):
            hooks.append(layer.mlp.gate.register_forward_hook(
                keep_choice(found, f"layer.{index}.")))
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
        # The cache of latent attention: latents, and the shared key's rotated part.
        if hasattr(config, "kv_lora_rank"):
            found[f"layer.{index}.kv_latent"] = keys[:, 0]
            found[f"layer.{index}.k_rope"] = layer.values
            continue
        # A sliding layer caches its window only; Falcon caches a copy of the key
        # for each query head.
        if keys.shape[2] == TOKENS:
            step = keys.shape[1] // (count or keys.shape[1])
            found[f"layer.{index}.k_rope"] = keys[:, ::step]
    return found


def stored_weights(name, model):
    """As checkpoints have them: what transformers 5 renames or stacks when it reads
    one is put back."""
    result = {}
    kept = {key for key, _ in model.named_parameters()}
    for key, value in model.state_dict().items():
        if key not in kept and not key.endswith("e_score_correction_bias"):
            continue
        if name == "minimax_m2":
            key = key.replace(".mlp.", ".block_sparse_moe.")
        if name.startswith("gpt_neox") and key == "lm_head.weight":
            key = "embed_out.weight"
        gate, up, down = EXPERT_NAMES.get(name, ("gate_proj", "up_proj", "down_proj"))
        if key.endswith(".experts.gate_up_proj"):
            parts = {gate: value.chunk(2, dim=1)[0], up: value.chunk(2, dim=1)[1]}
        elif key.endswith(".experts.down_proj"):
            parts = {down: value}
        else:
            result[key] = value
            continue
        for part, experts in parts.items():
            for index, matrix in enumerate(experts):
                stem = key.rsplit(".", 1)[0]
                result[f"{stem}.{index}.{part}.weight"] = matrix
    return result


def make(name, out):
    class_name, first, keys, modules = MODELS[name]
    model_class = getattr(transformers, class_name)
    config = model_class.config_class(**COMMON, **keys)
    config._attn_implementation = config._experts_implementation = "eager"
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
    weights = {key: value.to(FLOAT32).contiguous()
               for key, value in stored_weights(name, model).items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    tensors = {key: value.contiguous() for key, value in found.items()}
    assert all(value.dtype == torch.float64 or key.endswith("topk_idx")
               for key, value in tensors.items())
    tensors.update(input_ids=ids, position_ids=positions)
    about = {"hf_class": class_name, "name": name, "position_start": first, "prefix": 0,
             "seed": 0, "tokens": TOKENS, "versions": {
                 "torch": torch.__version__, "transformers": transformers.__version__}}
    save_file(tensors, folder / "golden.safetensors", {"golden": json.dumps(about)})
    text = config.to_dict()
    text.update(architectures=[class_name], dtype="float32")
    text["model_type"] = OTHER_TYPE.get(name, text["model_type"])
    for key in ("_attn_implementation", "_experts_implementation", "experts_implementation"):
        text.pop(key, None)
    (folder / "config.json").write_text(json.dumps(text, indent=2, sort_keys=True) + "\n")
    print(f"{name}: {len(tensors)} tensors, {len(weights)} weights")


if __name__ == "__main__":
    for model_name in sys.argv[2:] or MODELS:
        make(model_name, sys.argv[1])
