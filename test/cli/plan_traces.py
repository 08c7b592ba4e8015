"""Recordings written from plans, for the tests of `layline trace`.

Passes with random times, no link to the host and no sizes, but the batch in an
annotation, which tells variants apart that launch the same, in the styles below.
"""

import json

COPY = "Memcpy DtoD (Device -> Device)"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
MUL = "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<MulFunctor>>(int)"
SLICE = "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>(int)"
NORM = "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*)"
ADD_NORM = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)"
SUM_NORM = "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<0>()"
ROWS = "void fused_rs_ln_ag_cta_kernel<c10::BFloat16, 8>(c10::BFloat16*)"
ATTENTION = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64>>(int)"
NAMES = {
    "embedding": ["void at::native::vectorized_gather_kernel<16, long>(char*)"],
    "norm": [NORM], "norm_by": [NORM],
    "linear": ["nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT"],
    "rope": ["void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)"],
    "cache_append": ["void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(int)"],
    "attention": [ATTENTION, "void flash::flash_fwd_splitkv_combine_kernel<1>(int)"],
    "latent_attention": [ATTENTION],
    "indexer": ["void deep_gemm::sm90_fp8_paged_mqa_logits<64>(int)"],
    "activation": ["void vllm::act_and_mul_kernel<c10::BFloat16>(int)"],
    "gated_activation": ["void vllm::act_and_mul_kernel<c10::BFloat16>(int)"],
    "router": ["void vllm::moe::topkGatingSoftmax<4, 128>(float const*)"],
    "experts": ["void vllm::moe::moe_align_block_size_kernel<int>(int*)", "fused_moe_kernel",
                "fused_moe_kernel", "void vllm::moe::moe_sum_kernel<c10::BFloat16, 8>(int)"],
    "add": [ADD], "add_bias": [ADD], "add_expert_bias": [ADD],
    "mul": [MUL], "scale": [MUL], "row_scale": [MUL],
    "cast": ["void at::native::vectorized_elementwise_kernel<4, "
             "at::native::bfloat16tofloat32_copy_kernel_cuda>(int)"],
    "softcap": ["void at::native::vectorized_elementwise_kernel<4, tanh_kernel_cuda>(int)"],
    "row_squares": ["void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)"],
    "slice": [SLICE], "slice_columns": [SLICE],
    "concat_columns": ["void at::native::CatArrayBatchedCopy<float, unsigned int, 2, 64>(int)"],
    "quantize": ["void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16>(int)"],
    "dequantize": [],
    "all_reduce": ["void vllm::cross_device_reduce_2stage<__nv_bfloat16, 4>(int)"],
    "reduce_scatter": ["ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(int)"],
    "all_gather": ["ncclDevKernel_AllGather_RING_LL(int)"],
    "broadcast": ["ncclDevKernel_Broadcast_RING_LL(int)"],
    "dispatch": ["void deep_ep::intranode::dispatch<4, 768>(int4*)"],
    "combine": ["void deep_ep::intranode::combine<__nv_bfloat16, 4>(int4*)"],
}
ON_ROWS = {"add", "add_bias", "add_expert_bias", "mul", "scale", "cast"}


def flat(variant):
    """Steps that do something, fused ones taken apart; the positions are inputs."""
    steps = []
    for step in variant["steps"]:
        steps += step["body"] if step["kind"] == "fused" else [step]
    return [s for s in steps if s.get("loc") != "positions"]


def apart(steps, _):
    for step in steps:
        for name in NAMES[step["kind"]]:
            yield name, [step["id"]], False
        # Staged through other memory: the copies are the collective's.


def input_of(step):
    value = step["args"].get("input")
    return value["buffer"] if isinstance(value, dict) else value


def part(step):
    return step["loc"].split(".")[-1]


# Products that one kernel does, and where they stand in a layer.
TOGETHER = [{"q_proj", "k_proj", "v_proj"}, {"gate_proj", "up_proj"},
            {"q_a_proj", "kv_a_proj"}, {"shared_gate_proj", "shared_up_proj"}]


def engine(steps, rng):
    taken, ropes = set(), {}
    for i, step in enumerate(steps):
        if step["kind"] == "rope" and part(step) in ("q_rope", "k_rope"):
            ropes.setdefault(step["loc"].rsplit(".", 1)[0], []).append(i)
    whole_sums, i = rng.random() < 0.5, 0
    while i < len(steps):
        step, kind = steps[i], steps[i]["kind"]
        if i in taken:
            i += 1
            continue
        group = next((g for g in TOGETHER if kind == "linear" and part(step) in g), None)
        if group:
            same = [j for j in range(i, len(steps)) if steps[j]["kind"] == "linear"
                    and part(steps[j]) in group and input_of(steps[j]) == input_of(step)
                    and steps[j]["loc"].split(".")[1] == step["loc"].split(".")[1]]
            taken |= set(same)
            yield NAMES["linear"][0], [steps[j]["id"] for j in same], True
        elif kind == "rope" and part(step) in ("q_rope", "k_rope"):
            same = ropes[step["loc"].rsplit(".", 1)[0]]
            if i == same[-1]:
                yield NAMES["rope"][0], [steps[j]["id"] for j in same], True
        elif kind == "cache_append":
            j = i
            while j + 1 < len(steps) and steps[j + 1]["kind"] == "cache_append":
                j += 1
            yield NAMES[kind][0], [s["id"] for s in steps[i:j + 1]], True
            i = j
        elif kind in ("all_reduce", "reduce_scatter", "add", "add_bias", "add_expert_bias"):
            j = i + (kind in ("all_reduce", "reduce_scatter"))
            while j < len(steps) and steps[j]["kind"] in ON_ROWS:
                j += 1
            adds = any(s["kind"] == "add" for s in steps[i:j])
            ends = adds and j < len(steps) and steps[j]["kind"] == "norm"
            if ends and kind == "all_reduce" and whole_sums:
                yield SUM_NORM, [s["id"] for s in steps[i:j + 1]], True
                i = j
            elif (ends and kind == "reduce_scatter" and whole_sums and j + 1 < len(steps)
                  and steps[j + 1]["kind"] == "all_gather"):
                yield ROWS, [s["id"] for s in steps[i:j + 2]], True
                i = j + 1
            elif ends and kind not in ("all_reduce", "reduce_scatter"):
                yield ADD_NORM, [s["id"] for s in steps[i:j + 1]], True
                i = j
            else:
                for name in NAMES[kind]:
                    yield name, [step["id"]], False
        elif kind in ("slice", "slice_columns"):
            pass  # views
        else:
            for name in NAMES[kind]:
                yield name, [step["id"]], False
        i += 1


def launched(variant):
    """A style: a kernel for each launch of the plan. Gives the style and the launches that no
    kernel of the names here does: their steps run apart."""
    left = []

    def style(steps, _):
        left.clear()
        for step in variant["steps"]:
            body = [s["kind"] for s in step.get("body", [])]
            name = ("reduce_scatter" in body and body[-1] == "all_gather" and "norm" in body and ROWS
                    or "all_reduce" in body and body[-1] == "norm" and SUM_NORM
                    or body and body[-1] == "norm" and "add" in body and ADD_NORM)
            if name:
                yield name, [s["id"] for s in step["body"]], True
                continue
            if body:
                left.append(step)
            for own in step.get("body", [step]):
                if own.get("loc") != "positions":
                    for name in NAMES[own["kind"]]:
                        yield name, [own["id"]], False

    return style, left


def record(path, passes, style, rng, *, staged=0.5):
    """Writes the passes: (tokens, steps) of prefill, or (tokens, steps, "decode"). Gives the steps
    of each event; none for what is before and behind a pass. `staged`: how many of the engine's own
    all-reduces have a copy in front and behind."""
    events, annotations, known, now = [], [], [], 1000.0

    def add(name, ids):
        nonlocal now
        duration = rng.uniform(1, 40)
        cat = "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
        events.append({"ph": "X", "cat": cat, "name": name, "ts": round(now, 3),
                       "dur": round(duration, 3),
                       "args": {"device": 0, "stream": rng.choice((7, 7, 7, 13))}})
        known.append(ids)
        now += duration * rng.uniform(0.7, 1) + rng.expovariate(0.2)

    for tokens, steps, *kind in passes:
        now += 5000
        begin = now
        for _ in range(3):
            add("Memcpy HtoD (Pinned -> Device)", [])
        for name, ids, _ in style(steps, rng):
            copied = "cross_device" in name and rng.random() < staged
            if copied:
                add(COPY, ids)
            add(name, ids)
            if copied:
                add(COPY, ids)
        add("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<ArgMaxOps>>(int)", [])
        batch = (f"execute_context_0(0)_generation_{tokens}({tokens})" if kind == ["decode"]
                 else f"execute_context_1({tokens})_generation_0(0)")
        annotations.append({"ph": "X", "cat": "gpu_user_annotation", "ts": round(begin, 3),
                            "name": batch, "dur": round(now - begin, 3), "args": {}})
    path.write_text(json.dumps({"traceEvents": events + annotations}))
    return known
