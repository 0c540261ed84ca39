#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One run of assay as several processes on one machine, or on those of --sshlogin, with GNU parallel.
# Usage: parallel.sh SHARDS OUT report --key '*@host'; more options of parallel in PARALLEL_FLAGS
set -eu
shards=$1 out=$2
shift 2
assay=${ASSAY:-assay}
last=$((shards - 1))
# The number of jobs that failed is parallel's status; the verdict is that of the merge.
seq 0 "$last" | parallel ${PARALLEL_FLAGS:-} --quote "$assay" "$@" --out "$out" --shard "{}/$shards" --resume || true
exec "$assay" merge "$out" --out "$out"
