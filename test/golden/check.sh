#!/usr/bin/env bash
# check.sh LAYLINE MODEL OUT TP BOUNDARIES
# Compiles MODEL/config.json, proves the plan, runs it and compares every
# recorded tensor. The exit status is that of the first step that fails.
set -euo pipefail
layline=$1 model=$2 out=$3 tp=$4 boundaries=$5

rm -rf "$out"
"$layline" compile "$model/config.json" --tp "$tp" --target cpu --tokens 1:64 \
  --boundaries "$boundaries" -o "$out"
"$layline" verify "$out"
# Bounds of the golden data: the reference is float64 throughout, its own float32
# run is off by up to 9.7e-7 (README.md).
for precision in "f64 1e-10" "f32 5e-6"; do
  read -r type rtol <<<"$precision"
  "$layline" run "$out" --weights "$model/model.safetensors" \
    --input "$model/golden.safetensors" --check "$model/golden.safetensors" \
    --precision "$type" --rtol "$rtol"
done
