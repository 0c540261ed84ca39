#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the published sweep of a machine in pieces of at most ten minutes. Every call continues where the last
# one stopped. Repeat it until its first line names no configuration that was not run. Never part of a test.
#   reports/publish/publish_sweep.sh sweep ASSAY OUT [assay sweep arguments]    # 9 minutes of the published set
#   reports/publish/publish_sweep.sh peers ASSAY OUT [peers.py arguments]       # PyTorch and Triton, after the sweep
# OUT gets sweep.jsonl, peers.jsonl, sweep.md and the pages, which git does not keep. Files of records over 2 MB are kept as .gz.
# A piece starts no new configuration after SECONDS_A_PIECE seconds (default: 540).
set -euo pipefail
if [[ $# -lt 3 || ! $1 =~ ^(sweep|peers)$ ]]; then
  sed -n '2,8s/^# \{0,1\}//p' -- "$0" >&2
  exit 2
fi
what=$1 assay=$2 out=$3
shift 3
budget=${SECONDS_A_PIECE:-540}
here=$(dirname -- "${BASH_SOURCE[0]}")
mkdir -p -- "$out"
# A file gets its name only when it is complete. So if a piece is cut off, there is a complete file with or
# without .gz, or both.
for records in "$out"/*.jsonl.gz; do
  [[ -e $records ]] || continue
  if [[ ! -e ${records%.gz} ]]; then
    gunzip -c -- "$records" >"${records%.gz}.part"
    mv -- "${records%.gz}.part" "${records%.gz}"
  fi
  rm -f -- "$records"
done
# A Python package contains cuDNN in a folder where no loader searches.
if [[ -z ${ASSAY_CUDNN:-} ]]; then
  found=$(python3 -c 'import glob, nvidia.cudnn as c; print((glob.glob(c.__path__[0] + "/lib/libcudnn.so.*") or [""])[0])' 2>/dev/null || true)
  if [[ -n $found ]]; then export ASSAY_CUDNN=$found; fi
fi
status=0
if [[ $what == sweep ]]; then
  # The goals ask for top-k of equal logits, too; the page is of the family of the other records.
  if [[ $# -eq 0 ]]; then
    "$assay" sweep --require cuda --out "$out" --budget 60s --key 'onepass_topk_fast/*@cuda' --family constant --rows 4000 \
      --V 32000 --k 30 || status=$?
  fi
  "$assay" sweep --require cuda --out "$out" --budget "${budget}s" "$@" || status=$?
else
  python3 "$here/../sweep/peers.py" --out "$out" --assay "$assay" --budget "$budget" "$@" || status=$?
  # Merges the records of the sweep and of the peers, and makes the page. It measures nothing again.
  "$assay" sweep --require cuda --out "$out" --budget 0.001s || status=$?
fi
for records in "$out"/*.jsonl; do
  if [[ -e $records && $(stat -c %s -- "$records") -gt 2000000 ]]; then
    gzip -9 -n -c -- "$records" >"$records.gz.part"
    mv -- "$records.gz.part" "$records.gz"
    rm -f -- "$records"
  fi
done
exit "$status"
