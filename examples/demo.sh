#!/usr/bin/env bash
# Two models through Layline: a large one to see what is decided, a tiny one to
# see that the decided program still computes the same numbers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
layline=${LAYLINE_BUILD_DIR:-build}/bin/layline
out=${LAYLINE_OUT_DIR:-out}

step() { printf '\n== %s\n' "$1"; shift; echo "\$ $*"; "$@"; }

# 1. Qwen3-235B-A22B on one H200 node. Layline decides where every row lives and
#    which all-reduces become a reduce-scatter, a norm by rows and an all-gather.
step "Compile a 235B model for eight H200" \
  "$layline" compile data/models/qwen3-235b-a22b.json --tp 8 --target h200x8 \
  --tokens 1:8192 --timing -o "$out/qwen3-235b"

#    Each boundary: what it was, what it became, why. The first lines of it.
step "What was decided, and why" "$layline" inspect "$out/qwen3-235b" | sed -n '1,40p'

#    The proofs again, from the written plan alone.
step "Prove the plan: nothing lost, nothing computed twice" \
  "$layline" verify "$out/qwen3-235b"

# 2. A Qwen3 with two tiny layers, split over four ranks, every boundary by rows.
#    The four ranks are threads here; the numbers to reproduce were recorded from
#    Hugging Face's own code in float64.
golden=test/golden/qwen3
step "Compile a tiny Qwen3 for four ranks" \
  "$layline" compile $golden/config.json --tp 4 --target cpu --tokens 1:64 \
  --boundaries rows -o "$out/qwen3-tiny"

step "Run it, and compare every tensor with Hugging Face's" \
  "$layline" run "$out/qwen3-tiny" --weights $golden/model.safetensors \
  --input $golden/golden.safetensors --check $golden/golden.safetensors \
  --precision f64

printf '\nThe plans are in %s.\n' "$out"
