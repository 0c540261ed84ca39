#!/usr/bin/env bash
# Measures what each stage of onepass_fast costs where it stays behind its goal (left_out.cu). Never part of a test.
#   reports/publish/limits/measure.sh OUT [ARCHITECTURE]     # about half a minute; OUT gets left_out.jsonl
set -euo pipefail
if [[ $# -lt 1 ]]; then
  sed -n '2,3s/^# \{0,1\}//p' -- "$0" >&2
  exit 2
fi
out=$1 architecture=${2:-90}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
mkdir -p -- "$out"
program=$(mktemp -d)
trap 'rm -rf -- "$program"' EXIT
nvcc -std=c++20 -O3 -arch="sm_$architecture" -DASSAY_BACKEND=cuda -I "$here/../../.." -o "$program/left_out" "$here/left_out.cu" \
  "$here/../../sweep/rig/rig_kernels.cu"
"$program/left_out" >"$program/left_out.jsonl"
mv -- "$program/left_out.jsonl" "$out/left_out.jsonl"
