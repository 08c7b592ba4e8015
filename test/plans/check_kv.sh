#!/usr/bin/env bash
# check_kv.sh LAYLINE PLAN
# A migration plan of an earlier version is as it was written, and is proved
# again.
set -euo pipefail
layline=$1 plan=$2

cd "$(dirname "$plan")"
grep " $(basename "$plan")\$" SHA256SUMS | sha256sum --check --strict
"$layline" kv verify "$plan"
