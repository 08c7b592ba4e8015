#!/usr/bin/env bash
# golden.sh LAYLINE SHARED OUT
# Golden models of families that the repository does not carry: each one that
# the importer takes must reproduce its reference.
set -uo pipefail
layline=$1 models=$2/data/golden out=$3
check=$(dirname "${BASH_SOURCE[0]}")/../golden/check.sh

if [[ ! -d $models ]]; then
  echo "skipped: there are no golden models at $models"
  exit 77
fi
rm -rf "$out" && mkdir -p "$out"
equal=0 refused=0 failed=0
for model in "$models"/*/; do
  name=$(basename "$model")
  "$check" "$layline" "${model%/}" "$out/$name" 4 rows >"$out/$name.log" 2>&1
  status=$?
  case $status in
    0) equal=$((equal + 1)) verdict="equal" ;;
    2) refused=$((refused + 1)) verdict="refused: $(tail -n 1 "$out/$name.log")" ;;
    *) failed=$((failed + 1)) verdict="FAILED, exit $status, see $out/$name.log" ;;
  esac
  printf '%-28s %s\n' "$name" "$verdict"
done
echo "$equal equal, $refused refused, $failed failed"
((equal > 0 && failed == 0))
