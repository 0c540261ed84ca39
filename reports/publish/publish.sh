#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a published result: the accuracy report and the oracle's speed on one machine, as reports/published/NAME/
# {records.jsonl.gz, about.json, summary.md, oracle.json}. `assay page` makes the pages of it, which are not kept.
#   reports/publish/publish.sh path/to/assay NAME [OUT] [assay report arguments, such as --require cuda --key '*@cuda']
#   reports/publish/publish.sh --functions path/to/assay NAME [OUT]
# The second call writes functions.json there: every argument of every device function, and every pair of f16 logits
# through every softmax variant. The page shows it. OUT is the folder to write (default: reports/published/NAME of this
# source tree). Never part of a test. Run it from a clean commit, so that the page names it.
set -euo pipefail
functions=
if [[ ${1:-} == --functions ]]; then functions=1 && shift; fi
if [[ $# -lt 2 ]]; then
  sed -n '3,9s/^# \{0,1\}//p' -- "$0" >&2
  exit 2
fi
assay=$1 name=$2
shift 2
out=$(dirname -- "$0")/../published/$name
if [[ $# -gt 0 && $1 != --* ]]; then
  out=$1
  shift
fi
if [[ $functions ]]; then
  mkdir -p -- "$out"
  "$assay" functions --backend cuda --require cuda --pairs --out "$out"
  rm -f -- "$out/functions.html"  # `assay page` makes it
  printf 'published: %s\n' "$out"
  exit
fi
made=$(mktemp -d)
trap 'rm -rf -- "$made"' EXIT
"$assay" sweep oracle --out "$made"
with=(--oracle-speed "$made/oracle.json")
if [[ -f $out/functions.json ]]; then with+=(--functions "$out/functions.json"); fi
"$assay" report --out "$made" "${with[@]}" "$@"
mkdir -p -- "$out"
gzip -9 -n -c "$made/records.jsonl" >"$made/records.jsonl.gz"
mv -f -- "$made/records.jsonl.gz" "$made"/{summary.md,about.json,oracle.json} "$out/"
printf 'published: %s\n' "$out"
