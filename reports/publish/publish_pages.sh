#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the pages of published results from their records; git does not keep them. It measures nothing.
#   reports/publish/publish_pages.sh ASSAY [FOLDER...]     (default: every folder of reports/published)
set -euo pipefail
[[ $# -ge 1 ]] || { sed -n '2,3s/^# \{0,1\}//p' -- "$0" >&2; exit 2; }
assay=$1
shift
[[ $# -gt 0 ]] || set -- "$(dirname -- "${BASH_SOURCE[0]}")"/../published/*/{check/,}
for folder in "$@"; do
  [[ -d $folder ]] || continue  # not every machine has a published check
  "$assay" page "$folder"
done
