#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures the memory accesses of every variant by hardware counters (ncu). Writes them, beside the claims,
# to accesses.jsonl of a folder.
#   reports/publish/measure_accesses.sh ASSAY OUT [options of `assay sweep accesses`: --key, --V, --rows]
set -eu
assay=$1 out=$2
shift 2
mkdir -p "$out"
table=$(mktemp)
trap 'rm -f "$table"' EXIT
# Clocks are not fixed: the counts do not depend on them, and no times are measured here.
ncu --clock-control none --csv --page raw --metrics "$("$assay" sweep accesses --metrics)" \
  "$assay" sweep accesses --launch "$@" >"$table"
"$assay" sweep accesses --out "$out" --ncu "$table" "$@"
