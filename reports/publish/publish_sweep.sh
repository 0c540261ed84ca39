#!/usr/bin/env bash
# Makes the published sweep of a machine in pieces of at most ten minutes. Every call continues where the last
# one stopped. Repeat it until its first line names no configuration that was not run. Never part of a test.
#   reports/publish/publish_sweep.sh sweep ASSAY OUT [assay sweep arguments]    # 9 minutes of the published set
#   reports/publish/publish_sweep.sh peers ASSAY OUT [peers.py arguments]       # PyTorch and Triton, after the sweep
# OUT holds sweep.jsonl, peers.jsonl, sweep.html and sweep.md; files of records over 2 MB are kept as .gz. SECONDS_A_PIECE
# (540) is how long a piece may begin new configurations.
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
# Each result gets its name only when it is complete. A piece that is cut off leaves one complete file, or
# two.
for records in "$out"/*.jsonl.gz; do
  [[ -e $records ]] || continue
  if [[ ! -e ${records%.gz} ]]; then
    gunzip -c -- "$records" >"${records%.gz}.part"
    mv -- "${records%.gz}.part" "${records%.gz}"
  fi
  rm -f -- "$records"
done
# A Python package contains cuDNN at a place where no loader searches.
if [[ -z ${ASSAY_CUDNN:-} ]]; then
  found=$(python3 -c 'import glob, nvidia.cudnn as c; print((glob.glob(c.__path__[0] + "/lib/libcudnn.so.*") or [""])[0])' 2>/dev/null || true)
  if [[ -n $found ]]; then export ASSAY_CUDNN=$found; fi
fi
status=0
if [[ $what == sweep ]]; then
  "$assay" sweep --require cuda --out "$out" --budget "${budget}s" "$@" || status=$?
else
  python3 "$here/../sweep/peers.py" --out "$out" --assay "$assay" --budget "$budget" "$@" || status=$?
  # Times nothing again: merges earlier records with the peers and makes the page.
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
