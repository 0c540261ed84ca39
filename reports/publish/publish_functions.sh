#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the published table of building blocks of one machine: every argument of every device function, and every
# pair of f16 logits through every softmax variant. Never part of a test. Run it from a clean commit:
#   reports/publish/publish_functions.sh path/to/assay NAME [OUT]
# writes functions.json to the folder OUT (default: reports/published/NAME of this source tree).
set -euo pipefail
if [[ $# -lt 2 ]]; then
  sed -n '2,5s/^# //p' -- "$0" >&2
  exit 2
fi
out=${3:-$(dirname -- "$0")/../published/$2}
mkdir -p -- "$out"
"$1" functions --backend cuda --require cuda --pairs --out "$out"
rm -f -- "$out/functions.html"  # `assay page` makes it
printf 'published: %s\n' "$out"
