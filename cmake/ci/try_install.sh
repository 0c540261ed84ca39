#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the recipes that install Assay or Coq for real, each in a bare Debian of its own, as root:
#   try_install.sh FOLDER [github] [gitlab] [proof]     without a word: github and gitlab
# The installation steps get the last commit of this tree through a file:// address, the steps after them judge an example.
# FOLDER keeps the bare Debian (debootstrap), so a second call is a minute faster. What is mounted goes with the process.
set -euo pipefail
if [[ $# -eq 0 ]]; then
  sed -n '3,6s/^# //p' -- "$0" >&2
  exit 2
fi
if [[ -z ${ASSAY_TRY_MOUNTS:-} ]]; then
  ASSAY_TRY_MOUNTS=own exec unshare --mount "$0" "$@"
fi
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd -- "$here/../.." && pwd)
mkdir -p -- "$1"
folder=$(cd -- "$1" && pwd)
shift
[[ $# -gt 0 ]] || set -- github gitlab
# shellcheck source=steps.sh
source "$here/steps.sh"

complain() {
  printf 'try_install: %s\n' "$*" >&2
  exit 1
}

[[ -f $folder/bare/made ]] || {
  rm -rf -- "$folder/bare"
  debootstrap --variant=minbase bookworm "$folder/bare" >"$folder/debootstrap.log"
  touch "$folder/bare/made"
}

# fresh NAME: sets `root` to a bare Debian with nothing in it but the last commit, at /srv/assay.git, and a project.
fresh() {
  root=$folder/$1
  rm -rf --one-file-system -- "$root"
  cp -a --reflink=auto -- "$folder/bare" "$root"
  cp -- /etc/resolv.conf "$root/etc/" 2>/dev/null || true
  mount -t proc proc "$root/proc"
  git clone --quiet --bare --depth 1 "file://$tree" "$root/srv/assay.git"
  mkdir -p -- "$root/root/project/kernels"
  # The kernel that is adopted: an example, under the name that the recipes use.
  sed 's/softmax_four_per_warp/softmax/g' "$tree/kernels/adapter/examples/rows_of_a_warp.cu" >"$root/root/project/kernels/softmax.cu"
}

# run STEP: runs the commands of a step as a build server does. It must end with status 0.
run() {
  local log=$folder/${root##*/}.${1#.step-??-}.log begin=$SECONDS status=0
  chroot "$root" env -i --chdir=/root/project PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI=true \
    DEBIAN_FRONTEND=noninteractive ASSAY=file:///srv/assay.git KERNEL=kernels/softmax.cu ENTRY=softmax ASSAY_REF=HEAD \
    GITHUB_STEP_SUMMARY=/root/project/step_summary.md bash -e "$1" >"$log" 2>&1 </dev/null || status=$?
  if [[ $status -ne 0 ]]; then
    tail -n 40 -- "$log" >&2
    complain "$file: $1 ended with status $status (all of it: $log)"
  fi
  printf '%s: %s: %d s\n' "${file#"$here/"}" "${1#.step-??-}" $((SECONDS - begin))
  ran=$((ran + 1))
}

# passed: what the check left in the project says that the kernel passed.
passed() {
  grep -q '<testsuites .* failures="0"' check.xml || complain "$file: check.xml does not say that nothing failed"
  grep -q '^# Softmax conformance check: PASS' out/check/summary.md || complain "$file: the summary does not say PASS"
}

for recipe in "$@"; do
  ran=0
  case $recipe in
    github) file=$here/github/cpu.yml only='*' wanted=4 ;;
    gitlab) file=$here/gitlab-ci.yml only='*softmax_on_the_cpu' wanted=2 ;;
    proof) file=$here/github/proof.yml only='*' wanted=1 ;;
    *) complain "no recipe '$recipe': github, gitlab or proof" ;;
  esac
  fresh "$recipe"
  cd -- "$root/root/project"
  # This recipe is one of this repository: its project is the tree.
  if [[ $recipe == proof ]]; then git -C "$tree" archive HEAD | tar -x; fi
  for step in $(steps "$file"); do
    # GitLab's file has other jobs too.
    # shellcheck disable=SC2053
    [[ $step == $only ]] || continue
    run "$step"
  done
  [[ $ran -eq $wanted ]] || complain "$file: $ran steps ran, not $wanted"
  [[ $recipe == proof ]] || passed
  cd -- "$folder"
  umount "$root/proc"
  rm -rf --one-file-system -- "$root"
done
