#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes what reports/published/ shows of `assay check` on a machine: the kill matrix, and the whole check of
# one kernel.
#   reports/publish/publish_gate.sh ASSAY KEY OUT
set -euo pipefail
[[ $# -eq 3 ]] || { echo "usage: $0 ASSAY KEY OUT" >&2; exit 2; }
assay=$1 key=$2 out=$3
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
"$assay" check "$key" --out "$scratch/check"
"$assay" selftest --out "$scratch/selftest"
mkdir -p -- "$out"
cp -- "$scratch/check/index.html" "$out/check.html"
cp -- "$scratch/check/summary.md" "$out/check.md"
cp -- "$scratch"/selftest/selftest.{html,jsonl} "$out/"
