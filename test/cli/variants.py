#!/usr/bin/env python3
"""A plan of two variants runs the one that the number of tokens is for."""

from layline_tests import GOLDEN, Test, read_json

test = Test()
TP = 8
for model in ("llama", "qwen2", "qwen3", "qwen3_moe", "phi3"):
    folder = GOLDEN / model
    out = test.compile(folder / "config.json", test.out / model, "--tp", TP, "--target", "cpu",
                       "--tokens", "1:64", "--boundaries", "whole:7,rows")
    variants = read_json(out / "plan.json")["variants"]
    test.expect([v["boundaries"] for v in variants] == ["whole", "rows"],
                f"{model}: few tokens whole, many by rows", variants)
    least, most = (v["tokens"] for v in variants)
    edge = most["min"]
    test.expect((least["min"], least["max"] + 1, most["max"]) == (1, edge, 64)
                and 3 < edge <= 24, f"{model}: 3 tokens whole, 24 by rows", (least, most))
    for tokens, want in [(1, "whole"), (3, "whole"), (edge - 1, "whole"), (edge, "rows"),
                         (24, "rows")]:
        variant = next(v["id"] for v in variants if v["boundaries"] == want)
        run = test.run("run", out, "--weights", folder / "model.safetensors",
                       "--input", folder / "golden.safetensors",
                       "--check", folder / "golden.safetensors",
                       "--precision", "f64", "--tokens", tokens)
        test.expect(run.status == 0 and f"variant {variant}," in run.stdout,
                    f"{model}: {tokens} tokens run {variant}, {want}", run)
    print(f"{model}: whole up to {edge - 1} tokens, by rows from {edge}")
test.finish("variant switch")
