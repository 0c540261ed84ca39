#!/usr/bin/env bash
# Makes a published result: the accuracy report of one machine, as reports/published/NAME/{records.jsonl.gz,
# summary.md, index.html}. Never part of a test. Run it from a clean commit, so that the page names it:
#   reports/publish.sh path/to/assay NAME [OUT] [assay report arguments, such as --require cuda --key '*@cuda']
# OUT is where the folder is made (reports/published/NAME here by default).
set -euo pipefail
if [[ $# -lt 2 ]]; then
  sed -n '2,6s/^# //p' -- "$0" >&2
  exit 2
fi
assay=$1 name=$2
shift 2
out=$(dirname -- "$0")/published/$name
if [[ $# -gt 0 && $1 != --* ]]; then
  out=$1
  shift
fi
made=$(mktemp -d)
trap 'rm -rf -- "$made"' EXIT
"$assay" report --out "$made" "$@"
mkdir -p -- "$out"
gzip -9 -n -c "$made/records.jsonl" >"$made/records.jsonl.gz"
mv -f -- "$made/records.jsonl.gz" "$made/summary.md" "$made/index.html" "$out/"
printf 'published: %s\n' "$out"
