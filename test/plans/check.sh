#!/usr/bin/env bash
# check.sh LAYLINE PLAN MODEL
# A plan of an earlier release is as it was released, is proved again, and still
# computes what is recorded, in every one of its variants.
set -euo pipefail
layline=$1 plan=$2 model=$3

cd "$(dirname "$plan")"
grep " $(basename "$plan")/" SHA256SUMS | sha256sum --check --strict
"$layline" verify "$plan"
for tokens in 24 5 2 1; do
  "$layline" run "$plan" --weights "$model/model.safetensors" \
    --input "$model/golden.safetensors" --check "$model/golden.safetensors" \
    --tokens "$tokens" --precision f64 | sed -n '1p;$p'
done
