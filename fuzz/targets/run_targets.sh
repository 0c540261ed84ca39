#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets with clang's libFuzzer, ASan and UBSan, and runs each for a number of executions.
#   fuzz/targets/run_targets.sh [--runs N] [--jobs N] [--build FOLDER] [TARGET ...]
# Without a TARGET it runs all. N is 10,000,000 executions by default; one target runs at a time by default.
# Exit status: 0 if nothing is found; 1 if an input fails, and then the last line is the path of that input; 2 if a call is
# wrong, the build fails, or a target ends before its executions are done.
set -euo pipefail
cd "$(dirname "$0")/../.."

# The longest input that is made, in bytes: some times the largest committed input.
declare -A longest=([npy]=512 [tensor_file]=1024 [case_file]=1024 [corpus]=1024 [record]=1536 [declaration]=256 [entry_signature]=512
  [certificate]=3072 [about]=3072 [manifest]=768 [shard_file]=384)
all=(npy tensor_file case_file corpus record declaration entry_signature certificate about manifest shard_file)

usage() { sed -n '3,7s/^# \{0,3\}//p' "$0" >&2; exit 2; }
runs=10000000 jobs=1 build=build/fuzz targets=()
while (($#)); do
  case $1 in
    --runs | --jobs | --build) [[ $# -ge 2 ]] || usage; declare "${1#--}=$2"; shift 2 ;;
    -*) usage ;;
    *) [[ -n ${longest[$1]:-} ]] || { echo "$1 is no target: ${all[*]}" >&2; exit 2; }; targets+=("$1"); shift ;;
  esac
done
[[ $runs =~ ^[1-9][0-9]*$ && $jobs =~ ^[1-9][0-9]*$ ]] || usage
((${#targets[@]})) || targets=("${all[@]}")

cmake -G Ninja -B "$build" -DCMAKE_CXX_COMPILER=clang++ -DASSAY_CUDA=OFF -DASSAY_LIBFUZZER=ON >/dev/null || exit 2
ninja -C "$build" "${targets[@]/#/assay_fuzz_}" || exit 2

found=$build/found
mkdir -p "$found"
# New inputs are many small files: in memory, where there is a folder for that, they cost little.
new=$(mktemp -d -p "$([[ -w /dev/shm ]] && echo /dev/shm || echo "${TMPDIR:-/tmp}")" assay_fuzz.XXXXXX)
set -m  # each target is a process group, which ends as a whole
trap 'exec 2>/dev/null; for group in $(jobs -p); do kill -- "-$group" || true; done; rm -rf "$new"' EXIT

# Runs one target. Writes one line about it, and the path of the input if one fails.
run_one() {
  local target=$1 log=$new/$1.log status=0 done_runs wall user system TIMEFORMAT='%R %U %S'
  mkdir "$new/$target" "$new/$target.inputs"
  local inputs=$new/$target.inputs
  # The parts of a file, without their last line breaks (replay_main.cpp).
  perl -ne 'if (/^== (.*)/) { open $part, ">", "'"$inputs"'/$1"; $first = 1; next }
    chomp; print $part $ARGV =~ /hex$/ ? pack("H*", $_) : ($first ? "" : "\n") . $_; $first = 0' fuzz/inputs/"$target".*
  { time "$build/fuzz/targets/assay_fuzz_$target" "$new/$target" "$inputs" -runs="$runs" -max_len="${longest[$target]}" \
    -artifact_prefix="$found/$target-" -print_final_stats=1 >"$log" 2>&1 || status=$?; } 2>"$new/$target.time"
  done_runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  read -r wall user system <"$new/$target.time"
  echo "$target: ${done_runs:-?} executions in $wall s, with $user + $system s of CPU time (user + system)"
  if ((status)); then
    tail -n 60 "$log"
    sed -n 's/.*Test unit written to //p' "$log" | tail -n 1 >"$new/$target.found"
    return 1
  fi
  [[ ${done_runs:-0} -ge $runs ]] || return 2
}

left=("${targets[@]}") running=0
while ((${#left[@]} || running)); do
  while ((${#left[@]} && running < jobs)); do
    run_one "${left[0]}" &
    left=("${left[@]:1}")
    running=$((running + 1))
  done
  status=0
  wait -n || status=$?
  running=$((running - 1))
  if ((status)); then
    cat "$new"/*.found 2>/dev/null || true
    exit "$status"
  fi
done
