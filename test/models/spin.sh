#!/usr/bin/env bash
# spin.sh <spin> <model.pml> <holds|fails> [-D...]: searches all states of a
# model and says whether it held, for ctest. A search that was cut short is
# neither.
set -euo pipefail
export LC_ALL=C
spin=$1 model=$(realpath "$2") expected=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$spin" -a "$@" "$model" >spin.log 2>&1 || { cat spin.log; exit 2; }

"${CC:-cc}" -O1 -w -DSAFETY -DCOLLAPSE -o pan pan.c
./pan -m100000 >pan.log 2>&1 || { cat pan.log; exit 2; }
if grep -q 'max search depth too small\|out of memory\|Search not completed' pan.log &&
   ! grep -q 'errors: [1-9]' pan.log; then
  cat pan.log
  exit 2
fi
found=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log)
case $expected:$found in
holds:0 | fails:[1-9]*) grep -E '^pan:|errors:|states, stored' pan.log ;;
*)
  echo "expected that the model $expected; Spin found $found errors:"
  cat pan.log
  exit 1
  ;;
esac
