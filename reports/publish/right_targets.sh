#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints forty right kernels for reports/publish/check_many.sh, one per line: the ten files of
# kernels/adapter/right with their entries, and thirty registered keys, with every variant at least once.
#   reports/publish/right_targets.sh ASSAY BACKEND [words for the files, such as --host]
set -euo pipefail
if [[ $# -lt 2 ]]; then
  sed -n '2,4s/^# //p' -- "$0" >&2
  exit 2
fi
assay=$1 backend=$2
shift 2
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
