#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the shell blocks of a page one after another in an empty folder: run_tutorial.sh PAGE FOLDER. A block
# that begins with "```sh expect=1" must end with status 1, any other block with 0. A block with
# "needs=triton" is skipped, with a message, if there is no GPU with torch and Triton. `assay` is found
# through PATH, the package through CMAKE_PREFIX_PATH or assay_DIR.
set -uo pipefail
page=$(realpath "$1") folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 2
export XDG_CACHE_HOME=$PWD/.cache
triton=0
python3 -c 'import torch, triton; assert torch.cuda.is_available()' 2>/dev/null && triton=1
awk -v n=0 -v triton=$triton '
  /^```sh.*needs=triton/ && !triton { print "left out: a block that needs a GPU with torch and Triton"; next }
  /^```sh/ { n++; wanted = match($0, /expect=[0-9]+/) ? substr($0, RSTART + 7, RLENGTH - 7) : 0
             file = sprintf(".block-%02d-%d", n, wanted); printf "" > file; inside = 1; next }
  /^```/   { if (inside) close(file); inside = 0; next }
  inside   { print >> file }' "$page"
run=0
for block in .block-*; do
  wanted=${block##*-}
  printf '==> %s\n' "$block"
  bash -e "$block"
  status=$?
  if [[ $status -ne $wanted ]]; then
    printf 'run_tutorial: %s ended with %d, not %d:\n' "$block" "$status" "$wanted"
    cat "$block"
    exit 1
  fi
  run=$((run + 1))
done
[[ $run -ge 5 ]] || { printf 'run_tutorial: %d blocks in %s\n' "$run" "$page"; exit 1; }
printf '%d blocks\n' "$run"
cd / && rm -rf "$folder"
