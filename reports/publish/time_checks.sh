#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures how long `assay check` takes on this machine, for one or more builds of it, one after another in one run.
#   reports/publish/time_checks.sh OUT BACKEND NAME=ASSAY [NAME=ASSAY ...]
# BACKEND is cuda or host. OUT/checks.md is the table: wall seconds, and with `host` the CPU seconds, of each build.
# OUT/checks.txt has one line per call: build, what, wall seconds, CPU seconds, exit status, first line of
# the answer, lines of records.jsonl.
# ONLY, if set, is a regular expression for the names of what is measured; LIMIT seconds end a call (170). A file is
# compiled before its time counts.
set -euo pipefail
if [[ $# -lt 3 || ! $2 =~ ^(cuda|host)$ ]]; then
  sed -n '3,9s/^# \{0,1\}//p' -- "$0" >&2
  exit 2
fi
out=$1 backend=$2
shift 2
tree=$(cd "$(dirname -- "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
mkdir -p -- "$out"
: >"$out/checks.txt"
flags=()
[[ $backend == cuda ]] || flags=(--host)
e=$tree/kernels/adapter/examples
# A right kernel, one that is 2 % off everywhere, one that never ends and one that writes to address 0.
head='__device__ float joined(float mine, bool sum) {
  __shared__ float part[256];
  const int t = threadIdx.x;
  part[t] = mine;
  __syncthreads();
  for (int s = 128; s > 0; s /= 2) {
    if (t < s) part[t] = sum ? part[t] + part[t + s] : fmaxf(part[t], part[t + s]);
    __syncthreads();
  }
  const float all = part[0];
  __syncthreads();
  return all;
}
__global__ void k(const float* x, float* y, int V) {
  x += (size_t)blockIdx.x * V, y += (size_t)blockIdx.x * V;
  float m = -INFINITY, d = 0;
  for (int i = threadIdx.x; i < V; i += 256) m = fmaxf(m, x[i]);
  m = joined(m, false);
  for (int i = threadIdx.x; i < V; i += 256) d += expf(x[i] - m);
  d = joined(d, true);'
tail='}
void softmax(const float* x, float* y, int rows, int V, cudaStream_t s) { if (rows > 0) k<<<rows, 256, 0, s>>>(x, y, V); }'
written() { printf '#include <cuda_runtime.h>\n#include <math.h>\n%s\n  %s\n%s\n' "$head" "$2" "$tail" >"$scratch/$1.cu"; }
written right 'for (int i = threadIdx.x; i < V; i += 256) y[i] = expf(x[i] - m) / d;'
written off 'for (int i = threadIdx.x; i < V; i += 256) y[i] = 1.02f * (expf(x[i] - m) / d);'
written hang 'volatile float* z = y; while (z[0] != 0.25f) z[0] = d;'
written crash 'float* z = nullptr; for (int i = 0; i < V; ++i) ((volatile float*)z)[i] = m;'
one() {  # one NAME COMMAND...: a line for each build
  local what=$1 build name program line
  shift
  [[ -z ${ONLY:-} || $what =~ $ONLY ]] || return 0
  for build in "${builds[@]}"; do
    name=${build%%=*} program=${build#*=}
    local begin end status=0
    begin=$(date +%s.%N)
    (TIMEFORMAT='%U %S'; time timeout "${LIMIT:-170}" "$program" "$@" --out "$scratch/page" >"$scratch/said" 2>&1) 2>"$scratch/cpu" || status=$?
    end=$(date +%s.%N)
    line=$(grep -m1 -E '^(PASS|FAIL|INCONCLUSIVE|JUDGED|assay)' "$scratch/said" || head -n 1 "$scratch/said")
    printf '%s\t%s\t%s\t%s\t%d\t%.80s\t%s\n' "$name" "$what" "$(awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.2f", b - a }')" \
      "$(tail -n 1 "$scratch/cpu" | awk '{ printf "%.2f", $1 + $2 }')" "$status" "$line" \
      "$(grep -c '"family"' "$scratch/page/records.jsonl" 2>/dev/null || true)" | tee -a "$out/checks.txt"
  done
}
file() {  # file NAME WORDS...: a file, compiled before
  local what=$1 build
  shift
  [[ -z ${ONLY:-} || $what =~ $ONLY ]] || return 0
  for build in "${builds[@]}"; do "${build#*=}" check "$@" "${flags[@]}" --quick --only schedules --out "$scratch/page" >"$scratch/first" 2>&1 || true; done
  one "$what" check "$@" "${flags[@]}" --quick
}
builds=("$@")
one 'registered key, quick' check "online_block/f32@$backend" --quick
one 'registered key, whole' check "online_block/f32@$backend"
for group in families shapes rows calls batch; do one "registered key, quick, only $group" check "online_block/f32@$backend" --quick --only "$group"; done
one 'registered key, only shapes' check "online_block/f32@$backend" --only shapes
one 'registered key, only big' check "online_block/f32@$backend" --only big
file 'file without limits, quick' "$scratch/right.cu" --entry softmax
file 'file with limits to be found, quick' "$e/registers_by_32.cu" --entry softmax_registers
file 'file with declared limits, quick' "$e/registers_by_32.cu" --entry softmax_registers --declare 'V_multiple=32; max_V=1024'
file 'wrong in every element, quick' "$scratch/off.cu" --entry softmax
file 'wrong in every element, quick, --fail-fast' "$scratch/off.cu" --entry softmax --fail-fast
file 'crashes at once, quick' "$scratch/crash.cu" --entry softmax
file 'hangs at once, quick' "$scratch/hang.cu" --entry softmax
copies=()
for n in 1 2 3 4 5 6 7 8; do sed "1i // $n" "$scratch/right.cu" >"$scratch/right$n.cu" && copies+=("$scratch/right$n.cu"); done
file 'eight files, quick, --jobs 8' "${copies[@]}" --entry softmax --jobs 8
# A request to a server that has answered the same one before.
served() {  # served NAME FILE
  local build answer begin end
  [[ -z ${ONLY:-} || $1 =~ $ONLY ]] || return 0
  for build in "${builds[@]}"; do
    "${build#*=}" serve --help >"$scratch/said" 2>&1 || continue
    coproc server { exec "${build#*=}" serve 2>"$scratch/served"; }
    for id in 1 2; do
      begin=$(date +%s.%N)
      printf '{"id": %d, "command": ["check", "%s", "--entry", "softmax", "--quick", "--out", "%s"%s]}\n' \
        "$id" "$2" "$scratch/page" "${flags[0]:+, \"--host\"}" >&"${server[1]}"
      while IFS= read -r -t "${LIMIT:-170}" answer <&"${server[0]}" && [[ $answer != *'"status"'* ]]; do :; done
      end=$(date +%s.%N)
    done
    printf '%s\t%s\t%s\t-\t%s\t%.80s\t%s\n' "${build%%=*}" "$1" "$(awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.2f", b - a }')" \
      "$(grep -o '"status": *[0-9]*' <<<"$answer" | grep -o '[0-9]*$' || echo 124)" "$answer" "" | tee -a "$out/checks.txt"
    kill "${server_PID:?}"
    wait "$server_PID" || true
  done
}
served 'warm server, right, quick' "$scratch/right.cu"
served 'warm server, wrong, quick' "$scratch/off.cu"
{
  printf '%s; %s cores; %s\n' "$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | grep . || echo 'no GPU')" "$(nproc)" "$(date -u +%F)"
  for build in "${builds[@]}"; do printf '%s: %s\n' "${build%%=*}" "$("${build#*=}" --version | head -n 1)"; done
  printf '\n| check |'
  for build in "${builds[@]}"; do printf ' %s: s | CPU s | exit |' "${build%%=*}"; done
  printf '\n|---|'
  for build in "${builds[@]}"; do printf '%s' '---:|---:|---:|'; done
  printf '\n'
  cut -f 2 "$out/checks.txt" | awk '!seen[$0]++' | while IFS= read -r what; do
    printf '| %s |' "$what"
    for build in "${builds[@]}"; do
      awk -F '\t' -v n="${build%%=*}" -v w="$what" '$1 == n && $2 == w { printf " %s | %s | %d |", $3, $4, $5 }' "$out/checks.txt"
    done
    printf '\n'
  done
} >"$out/checks.md"
cat -- "$out/checks.md"
