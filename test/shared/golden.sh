#!/usr/bin/env bash
# golden.sh LAYLINE SHARED OUT
# Golden models that the repository does not carry: those of known families must
# reproduce their reference, the others must be refused by the name of theirs.
set -uo pipefail
layline=$1 models=$2/data/golden out=$3
check=$(dirname "${BASH_SOURCE[0]}")/../golden/check.sh
known="RefinedWeb, cohere, deepseek_v2, deepseek_v3, deepseek_v32, falcon, gemma2, gemma3_text, glm4_moe, glm_moe_dsa, gpt_neox, gpt_oss, gptj, granite, kimi_k2, llama, minimax_m2, mistral, mixtral, olmo2, phi, phi3, qwen2, qwen3, qwen3_moe, stablelm"

if [[ ! -d $models ]]; then
  echo "skipped: there are no golden models at $models"
  exit 77
fi
rm -rf "$out" && mkdir -p "$out"
equal=0 refused=0 failed=0
for model in "$models"/*/; do
  name=$(basename "$model")
  family=$(sed -n 's/.*"model_type": "\([^"]*\)".*/\1/p' "$model/config.json" | head -n 1)
  if [[ ", $known, " == *", $family, "* ]]; then
    from=${model%/}
    # Its biases follow the sum of both branches: test/golden/README.md.
    if [[ $family == phi ]]; then
      from=$out/phi-summed
      mkdir -p "$from" && cp "$model"/{config.json,model.safetensors} "$from"
      "$(dirname "$check")/sum_branches.py" "$model/golden.safetensors" "$from/golden.safetensors"
    fi
    if "$check" "$layline" "$from" "$out/$name" 4 >"$out/$name.log" 2>&1; then
      equal=$((equal + 1)) verdict=equal
    else
      failed=$((failed + 1)) verdict="FAILED: $(cat "$out/$name.log")"
    fi
  else
    message=$("$layline" compile "$model/config.json" --tp 4 --target cpu \
      --tokens 1:64 -o "$out/$name" 2>&1)
    status=$?
    if ((status == 1)) && [[ $message == *"\"$family\""*"$known"* ]]; then
      refused=$((refused + 1)) verdict="refused: ${message#*config.json: }"
    else
      failed=$((failed + 1)) verdict="FAILED: exit $status, expected 1 and a refusal: $message"
    fi
  fi
  printf '%-12s %s\n' "$name" "$verdict"
done
echo "$equal equal, $refused refused, $failed failed"
((equal > 0 && failed == 0))
