#!/usr/bin/env bash
# traces.sh LAYLINE SHARED OUT
# Whole recordings, as they were published, must map as what test/traces keeps of
# them does.
set -uo pipefail
layline=$1 whole=$2/data/traces out=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cut=$root/test/traces

if [[ ! -d $whole ]]; then
  echo "skipped: there are no recordings at $whole"
  exit 77
fi
rm -rf "$out" && mkdir -p "$out"
equal=0 failed=0
compare() { # NAME OF THE WHOLE FILE, OF THE CUT ONE, OPTIONS..
  local from=$1 kept=$2 name
  shift 2
  for name in whole cut; do
    local file=$whole/$from.json.gz
    [[ $name == cut ]] && file=$cut/$kept.json.gz
    # Behind the first field, which is the file's name.
    if ! "$layline" trace map "$file" "$@" --csv - >"$out/all.csv" 2>"$out/$kept-$name.log"; then
      echo "FAILED: $file: $(cat "$out/$kept-$name.log")"
      failed=$((failed + 1))
      return
    fi
    cut -d, -f2- "$out/all.csv" >"$out/$kept-$name.csv"
  done
  if cmp -s "$out/$kept-whole.csv" "$out/$kept-cut.csv" && [[ -s $out/$kept-cut.csv ]]; then
    equal=$((equal + 1))
    echo "$from: $(wc -l <"$out/$kept-cut.csv") lines, equal"
  else
    failed=$((failed + 1))
    echo "FAILED: $from: $(diff "$out/$kept-whole.csv" "$out/$kept-cut.csv" | head -n 3)"
  fi
}
models=$root/data/models
compare b200_tp8_vllm_gptoss120b_prefill888 b200_tp8_vllm_gptoss120b_prefill888 \
  --model "$models/gpt-oss-120b.json" --tp 8
compare inference_sglang_decode_sglang_Qwen3-8B_decode mi300x_sglang_qwen3_8b_decode32 \
  --model "$models/qwen3-8b.json" --tp 1
compare inference_vllm_decode_full_graph_execution mi300x_vllm_gptoss20b_decode32 \
  --model "$models/gpt-oss-20b.json" --tp 1
echo "$equal equal, $failed failed"
((equal > 0 && failed == 0))
