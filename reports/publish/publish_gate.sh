#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes what reports/published/ holds of `assay check` on a machine: the records of the kill matrix, and those of
# the check of one kernel, as OUT/check. `assay page` makes the pages of them.
#   reports/publish/publish_gate.sh ASSAY KEY OUT [assay check arguments, such as --quick]
set -euo pipefail
[[ $# -ge 3 ]] || { echo "usage: $0 ASSAY KEY OUT [assay check arguments]" >&2; exit 2; }
assay=$1 key=$2 out=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
"$assay" check "$key" --out "$scratch/check" "$@"
"$assay" selftest --out "$scratch/selftest"
mkdir -p -- "$out"
gzip -9 -n -- "$scratch/check/records.jsonl"
rm -rf -- "$out/check" "$scratch"/check/{*.html,kernels}
mv -- "$scratch/check" "$out/check"
cp -- "$scratch"/selftest/selftest.jsonl "$out/"
