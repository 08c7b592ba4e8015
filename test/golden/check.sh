#!/usr/bin/env bash
# check.sh LAYLINE MODEL OUT TP [COMPILE OPTION...]
# Compiles MODEL/config.json with its boundaries by rows, whole and as they cost
# least, proves the plans, runs them and compares every recorded tensor. TOKENS lists the numbers
# of tokens to run; 24 are recorded. 24/7 runs them in steps of 7. The first step
# that fails ends it, with the status of that step.
set -euo pipefail
layline=$1 model=$2 out=$3 tp=$4
options=("${@:5}")
read -ra counts <<<"${TOKENS:-24}"

rm -rf "$out" && mkdir -p "$out"
# Runs a step; shows what it printed only if it fails.
step() {
  local status=0
  "$@" >"$out/log" 2>&1 || status=$?
  if ((status)); then
    echo "FAILED, exit $status: $*"
    cat "$out/log"
    exit "$status"
  fi
}
# Bounds of the golden data: the reference is float64 throughout, its own float32
# run is off by up to 9.7e-7 (README.md).
# Rows are dispatched to experts by a choice: not where a program stays whole.
forms=(rows whole auto)
[[ " ${options[*]} " == *" dispatched "* ]] && forms=(rows auto)
for boundaries in "${forms[@]}"; do
  plan=$out/$boundaries
  step "$layline" compile "$model/config.json" --tp "$tp" --target cpu \
    --tokens 1:64 --boundaries "$boundaries" -o "$plan" "${options[@]}"
  step "$layline" verify "$plan"
  for count in "${counts[@]}"; do
    tokens=${count%/*}
    chunk=()
    [[ $count == */* ]] && chunk=(--chunk "${count#*/}")
    for precision in "f64 1e-10" "f32 5e-6"; do
      read -r type rtol <<<"$precision"
      step "$layline" run "$plan" --weights "$model/model.safetensors" \
        --input "$model/golden.safetensors" --check "$model/golden.safetensors" \
        --tokens "$tokens" "${chunk[@]}" --precision "$type" --rtol "$rtol"
      echo "$(basename "$model"), TP $tp ${options[*]}, $boundaries, $count tokens, $type:" \
        "$(tail -n 1 "$out/log"), within $rtol"
    done
  done
done
