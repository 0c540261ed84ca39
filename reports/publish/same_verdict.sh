#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the same kernels again and again while every core has other work, and compares the records. The same commit must
# give the same verdict, whatever else the machine does.
#   reports/publish/same_verdict.sh ASSAY TIMES [words of `assay check`]
# Exit status: 0 if all records and exit statuses are the same; 1 if not, and then the last lines say what differs; 2 if the
# call is wrong.
set -euo pipefail
if [[ $# -lt 3 || ! $2 =~ ^[1-9][0-9]*$ ]]; then
  sed -n '3,7s/^# \{0,1\}//p' -- "$0" >&2
  exit 2
fi
assay=$1 times=$2
shift 2
out=$(mktemp -d)
load=()
trap 'kill "${load[@]}" 2>/dev/null || true; rm -rf -- "$out"' EXIT
for ((i = 0; i < 2 * $(nproc); ++i)); do
  (while :; do :; done) &
  load+=($!)
done
# Without a seed every check would draw its own inputs.
seed=(--seed 1)
for word in "$@"; do
  if [[ $word == --seed || $word == --seed=* ]]; then seed=(); fi
done
# The first record says when and where the run was made; that differs.
plain() { python3 -c '
import json, sys
for line in open(sys.argv[1]):
    record = json.loads(line)
    record.pop("run", None)
    print(json.dumps(record, sort_keys=True))' "$1"; }
different=0
for ((i = 1; i <= times; ++i)); do
  status=0
  "$assay" check "$@" "${seed[@]}" --out "$out/check" >"$out/text" 2>&1 || status=$?
  [[ -e $out/check/records.jsonl ]] || { cat -- "$out/text"; exit 2; }
  { echo "exit status $status"; plain "$out/check/records.jsonl" | sed "s|$out|OUT|g"; } >"$out/$i.txt"
  printf '%d of %d: exit status %d, %d records, SHA-256 %.16s, load %s\n' "$i" "$times" "$status" \
    "$(wc -l <"$out/check/records.jsonl")" "$(sha256sum <"$out/$i.txt")" "$(cut -d' ' -f1 /proc/loadavg)"
  if ! cmp -s -- "$out/1.txt" "$out/$i.txt"; then
    different=1
    diff -- "$out/1.txt" "$out/$i.txt" | head -n 4 | cut -c1-1000 || true
  fi
done
exit "$different"
