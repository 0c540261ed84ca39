#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One run of assay over the ranks of mpirun. Usage: mpirun.sh RANKS OUT report --key '*@host'
# A rank that finds something ends with status 1 or 4, and mpirun would kill the others: so each rank's own status is
# written down, not returned. The verdict is that of assay merge, which names every rank that did not finish.
set -eu
ranks=$1 out=$2
shift 2
assay=${ASSAY:-assay}
# A lost rank ends mpirun itself with an error; the merge then says which.
mpirun ${MPIRUN_FLAGS:-} -n "$ranks" sh -c '
  assay=$1 out=$2; shift 2
  "$assay" "$@" --out "$out" --shard "$OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE" --resume && status=0 || status=$?
  echo "rank $OMPI_COMM_WORLD_RANK: status $status" >&2' rank "$assay" "$out" "$@" || true
exec "$assay" merge "$out" --out "$out"
