#!/usr/bin/env bash
# configs.sh LAYLINE SHARED OUT
# Every public configuration is either compiled (exit 0) or refused with a
# message (exit 2). A failed proof (exit 1) or a crash fails the test.
set -uo pipefail
layline=$1 models=$2/data/models out=$3

if [[ ! -d $models ]]; then
  echo "skipped: there are no model configurations at $models"
  exit 77
fi
rm -rf "$out" && mkdir -p "$out"
compiled=0 refused=0 failed=0
for config in "$models"/[!_]*.json; do
  name=$(basename "$config" .json)
  "$layline" compile "$config" --tp 8 --target h200x8 --tokens 1:8192 \
    -o "$out/$name" >"$out/$name.log" 2>&1
  status=$?
  case $status in
    0) compiled=$((compiled + 1)) verdict=compiled ;;
    2) refused=$((refused + 1)) verdict="refused: $(tail -n 1 "$out/$name.log")" ;;
    *) failed=$((failed + 1)) verdict="FAILED, exit $status: $(tail -n 1 "$out/$name.log")" ;;
  esac
  printf '%-28s %s\n' "$name" "$verdict"
done
echo "$compiled compiled, $refused refused, $failed failed"
((compiled > 0 && failed == 0))
