#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures rows split over the GPUs of this host, on a machine with two or more GPUs and NCCL. Never part of a test.
#   reports/publish/split.sh ASSAY OUT [GPUS]       # about 4 minutes for 2 GPUs (the default)
# First a small split and a look at the ways (chunk, depth, exchange) in f32, then the goal: 4000 rows, V = 262,144,
# every dtype. Every record is of judged outputs. OUT gets split.jsonl, and the page if it holds sweep.jsonl.
# Set LOOK=0 to leave out the look at the ways.
set -uo pipefail
if [[ $# -lt 2 ]]; then
  sed -n '2,6s/^# \{0,1\}//p' -- "$0" >&2
  exit 2
fi
assay=$1 out=$2 gpus=${3:-2}
mkdir -p -- "$out"
# A Python package contains NCCL in a folder where no loader searches.
if [[ -z ${ASSAY_NCCL:-} ]]; then
  found=$(python3 -c 'import glob, nvidia.nccl as c; print((glob.glob(list(c.__path__)[0] + "/lib/libnccl.so.2*") or [""])[0])' 2>/dev/null || true)
  if [[ -n $found ]]; then export ASSAY_NCCL=$found; fi
fi
worst=0
# on SECONDS GPUS ARGUMENTS...: the program's own status is kept; a step that is too slow is stopped and counts as failed.
on() {
  printf '\n# assay sweep split --gpus %s %s\n' "$2" "${*:3}"
  timeout --signal=INT --kill-after=5 "$1" "$assay" sweep split --gpus "$2" --out "$out" "${@:3}"
  local status=$?
  if [[ $status -gt $worst ]]; then worst=$status; fi
}
step() { on "$1" "$gpus" "${@:2}"; }
# The merge itself: columns that do not divide, and fewer columns than GPUs.
step 30 --dtype f32 --dtype bf16 --rows 100 --V 50257 --exchange nccl --exchange peers --chunk-rows 16
step 20 --dtype f32 --rows 10 --V 1 --exchange nccl --chunk-rows 4
if [[ ${LOOK:-1} != 0 ]]; then
  step 60 --dtype f32 --exchange nccl --teams 1 --teams 3 --depth 3 --depth 4 --depth 6 --chunk-rows 8 --chunk-rows 16 --chunk-rows 24 --chunk-rows 32 --chunk-rows 64
  step 40 --dtype f32 --exchange peers --depth 2 --depth 3 --depth 4 --chunk-rows 4 --chunk-rows 8 --chunk-rows 16 --chunk-rows 32
  step 20 --dtype f32 --exchange nccl --exchange peers --chunk-rows 16 --not-kept
  step 20 --dtype f32 --exchange nccl --exchange peers --chunk-rows 16 --queued
fi
# The goal.
step 60 --exchange nccl --exchange peers --chunk-rows 0 --chunk-rows 32
# One kernel that holds its slice on the chip.
step 30 --dtype f32 --dtype bf16 --rows 100 --V 50257 --exchange held --exchange held_in_order
step 40 --exchange held --exchange held_in_order
# The limit of the ways: the same slice on one GPU, which waits for nobody.
if [[ ${LOOK:-1} != 0 ]]; then
  on 30 1 --dtype f32 --V $((262144 / gpus)) --exchange nccl --exchange peers --chunk-rows 8 --chunk-rows 16 --chunk-rows 32
  on 20 1 --dtype f32 --V $((262144 / gpus)) --exchange held --exchange held_in_order
fi
exit "$worst"
