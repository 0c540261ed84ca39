#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what keeps kernels from their goals: onepass_fast with a stage left out (left_out.cu), onepass_topk
# with other blocks or without a stage (topk.cu), the lists of the sized top-k kernels (lists.cu), and
# onepass_fast by every step that holds a row (steps.cu). Never part of a test.
#   reports/publish/limits/measure.sh OUT [ARCHITECTURE [PROGRAM...]]     # OUT gets PROGRAM.jsonl; default: all
set -euo pipefail
if [[ $# -lt 1 ]]; then
  sed -n '2,5s/^# \{0,1\}//p' -- "$0" >&2
  exit 2
fi
out=$1 architecture=${2:-90}
shift $(($# < 2 ? $# : 2))
programs=("$@")
if [[ ${#programs[@]} -eq 0 ]]; then programs=(left_out topk lists steps); fi
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
for program in "${programs[@]}"; do
  if [[ ! -e $here/$program.cu ]]; then
    echo "measure.sh: no program $program: left_out, topk, lists or steps" >&2
    exit 2
  fi
done
mkdir -p -- "$out"
built=$(mktemp -d)
trap 'rm -rf -- "$built"' EXIT
running=()
for program in "${programs[@]}"; do
  nvcc -std=c++20 -O3 -arch="sm_$architecture" -DASSAY_BACKEND=cuda -I "$here/../../.." -o "$built/$program" \
    "$here/$program.cu" "$here/../../sweep/rig/rig_kernels.cu" \
    "$here/../../../kernels/isolation/shared/stopwatch_kernels.cu" &
  running+=($!)
done
for one in "${running[@]}"; do wait "$one"; done
for program in "${programs[@]}"; do
  "$built/$program" >"$built/$program.jsonl"
  mv -- "$built/$program.jsonl" "$out/$program.jsonl"
done
