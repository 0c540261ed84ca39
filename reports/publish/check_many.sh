#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks many right kernels, several at once, and counts the verdicts. A check must not refuse a right kernel
# because the machine is busy. Targets come from standard input, one per line, as the words of `assay check`.
#   reports/publish/check_many.sh ASSAY AT_ONCE OUT [words for every check, such as --quick or --shared] <TARGETS
#   reports/publish/check_many.sh --targets ASSAY BACKEND [words for the files, such as --host]
# The second call prints forty right kernels: the ten files of kernels/adapter/right with their entries, and thirty
# registered keys, with every variant at least once.
# OUT/N.txt is the output of check N. OUT/verdicts.txt has one line per check: exit status, seconds, words.
# Exit status: 0 if every check ended with 0, otherwise 1.
set -euo pipefail
if [[ $# -lt 3 ]]; then
  sed -n '2,9s/^# //p' -- "$0" >&2
  exit 2
fi
if [[ $1 == --targets ]]; then
  assay=$2 backend=$3
  shift 3
  folder=$(cd "$(dirname -- "$0")/../.." && pwd)/kernels/adapter/right
  for file in "$folder"/*.cu; do
    entry=$(sed -n 's#^// entry: ##p' "$file") types=$(sed -n 's#^// types: ##p' "$file")
    printf '%q --entry %q' "$file" "$entry"
    [[ -z $types ]] || printf ' --types %q' "$types"
    [[ $# -eq 0 ]] || printf ' %q' "$@"
    printf '\n'
  done
  # One key of each variant, then a second one of each, until there are thirty.
  "$assay" list | awk -v backend="@$backend" '
    index($1, "/") && substr($1, length($1) - length(backend) + 1) == backend {
      split($1, part, "/")
      n = seen[part[1]]++
      round[n] = round[n] $1 "\n"
      if (n > last) last = n
    }
    END { for (i = 0; i <= last; ++i) printf "%s", round[i] }' | awk 'NR <= 30'
  exit
fi
assay=$1 at_once=$2 out=$3
shift 3
for_all=$*
mkdir -p -- "$out"
rm -f -- "$out"/*.txt
one() {
  local number=$1 words=$2 begin=$SECONDS status=0
  # Words are split as a shell splits them, because an entry contains blanks.
  eval "set -- $words $for_all"
  "$assay" check "$@" --out "$out/page.$number" >"$out/$number.txt" 2>&1 || status=$?
  rm -rf -- "$out/page.$number"
  printf '%d %d %s\n' "$status" $((SECONDS - begin)) "$words" >>"$out/verdicts.txt"
}
export assay out for_all
export -f one
begin=$SECONDS
grep -v '^ *$' | nl -ba -w1 -s$'\t' | while IFS=$'\t' read -r number words; do
  printf '%s\0%s\0' "$number" "$words"
done | xargs -0 -n 2 -P "$at_once" bash -c 'one "$0" "$1"'
all=$(wc -l <"$out/verdicts.txt") passed=$(grep -c '^0 ' "$out/verdicts.txt" || true)
printf '%d of %d checks passed, %d at once, in %d s\n' "$passed" "$all" "$at_once" $((SECONDS - begin))
[[ $all -gt 0 && $passed -eq $all ]]
