#!/usr/bin/env bash
# Fetches a small language model once, plans it for 3 ranks and for others, and
# lets it write. A plan has two programs: whole boundaries for one token, rows
# for the prompt. LAYLINE_TP, LAYLINE_PROMPT and LAYLINE_NEW change what is run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${LAYLINE_BUILD_DIR:-build}
out=${LAYLINE_OUT_DIR:-$build/generate}

status=0
python3 examples/generate/fetch_smollm2.py "$out" || status=$?
if ((status)); then
  echo "generate: the model is not there and cannot be fetched" >&2
  exit "$status"
fi
for tp in ${LAYLINE_TP:-3 1 2 4}; do
  plan=$out/tp$tp
  "$build/bin/layline" compile "$out/model/config.json" --tp "$tp" --target cpu \
    --tokens 1:512 --boundaries whole:1,rows -o "$plan" >"$out/compile-tp$tp.txt"
  printf '\n== %s ranks: %s/plan.json\n' "$tp" "$plan"
  "$build/bin/layline-generate" "$plan/plan.json" --model "$out/model" \
    --prompt "${LAYLINE_PROMPT:-Once upon a time}" --new "${LAYLINE_NEW:-48}"
done
