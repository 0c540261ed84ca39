#!/bin/sh
# Memory accesses of every variant: hardware counters (ncu) beside the claims, into accesses.jsonl of a folder.
#   reports/publish/measure_accesses.sh ASSAY OUT [options of `assay sweep accesses`: --key, --V, --rows]
set -eu
assay=$1 out=$2
shift 2
mkdir -p "$out"
table=$(mktemp)
trap 'rm -f "$table"' EXIT
# Clocks are left alone: what is counted does not depend on them, and times are not taken from here.
ncu --clock-control none --csv --page raw --metrics "$("$assay" sweep accesses --metrics)" \
  "$assay" sweep accesses --launch "$@" >"$table"
"$assay" sweep accesses --out "$out" --ncu "$table" "$@"
