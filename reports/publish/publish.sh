#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a published result: the accuracy report and the oracle's speed on one machine, as reports/published/NAME/
# {records.jsonl.gz, about.json, summary.md, oracle.json}. `assay page` makes the pages of it, which are not kept. A functions.json
# that publish_functions.sh left in the same folder is shown on the page. Never part of a test. Run it from a clean commit, so that the page names it:
#   reports/publish/publish.sh path/to/assay NAME [OUT] [assay report arguments, such as --require cuda --key '*@cuda']
# OUT is the folder to write (default: reports/published/NAME of this source tree).
set -euo pipefail
if [[ $# -lt 2 ]]; then
  sed -n '2,7s/^# //p' -- "$0" >&2
  exit 2
fi
assay=$1 name=$2
shift 2
out=$(dirname -- "$0")/../published/$name
if [[ $# -gt 0 && $1 != --* ]]; then
  out=$1
  shift
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
