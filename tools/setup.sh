#!/usr/bin/env bash
# Installs the Debian packages that Layline needs and that are not there yet.
# Without root it installs nothing and prints the one command to run.
set -euo pipefail
export LC_ALL=C

build=(clang-22 libclang-rt-22-dev lld-22 g++ cmake ninja-build make ccache python3)
mlir=(llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools)
libraries=(nlohmann-json3-dev   # JSON: configurations, plans
           libcli11-dev         # command lines
           libvalijson-dev      # the plan's JSON Schema
           libboost-graph-dev   # minimum cuts
           zlib1g-dev           # traces: compressed ones
           libsqlite3-dev       # traces: exports of Nsight Systems
           libopenblas-dev      # GEMM of the cpu device
           libopenmpi-dev openmpi-bin) # ranks as processes
tests=(catch2
       pkg-config           # the installed package
       python3-venv         # Python packages from PyPI
       librapidcheck-dev    # random programs
       python3-numpy        # the KV library from Python
       chromium-headless-shell # pages of layline report
       spin relacy-dev      # models of the kernels' protocols
       libibverbs1)         # Mooncake, which `layline kv send` is tested with
packages=("${build[@]}" "${mlir[@]}" "${libraries[@]}" "${tests[@]}")

if ! command -v dpkg-query >/dev/null; then
  echo "setup: no dpkg here; the build expects what these Debian 12 packages hold:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 1
fi

present=() missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  if [[ $state == installed ]]; then present+=("$package"); else missing+=("$package"); fi
done
if ((${#missing[@]} == 0)); then
  echo "setup: all ${#packages[@]} packages are there"
  exit 0
fi
echo "setup: already there: ${present[*]:-none}"
echo "setup: missing: ${missing[*]}"

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if ((EUID == 0)); then
  as_root=(env DEBIAN_FRONTEND=noninteractive)
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
else
  echo "setup: this needs root. Run this once, then try again:" >&2
  echo "  sudo apt-get update && sudo ${install[*]}" >&2
  exit 1
fi

"${as_root[@]}" apt-get update -qq

# Known to apt means that it has a candidate, not just a name.
unknown=()
for package in "${missing[@]}"; do
  candidate=$(apt-cache policy "$package" | sed -n 's/^  Candidate: //p')
  if [[ -z $candidate || $candidate == "(none)" ]]; then unknown+=("$package"); fi
done
if ((${#unknown[@]})); then
  echo "setup: apt does not know ${unknown[*]}" >&2
  echo "setup: LLVM 22 comes with the security updates of Debian 12 (bookworm);" \
       "see that apt's sources name both bookworm and bookworm-security" >&2
  exit 1
fi

echo "setup: ${install[*]}"
"${as_root[@]}" "${install[@]}"
