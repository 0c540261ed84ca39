#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the steps of the recipes in this folder, as a build server would: try.sh ASSAY FOLDER [GPU].
# ASSAY is the command, FOLDER is made empty. Steps that install packages, `package`, `install` and `proof`, are only read by
# bash: try_install.sh runs them. With a GPU the jobs for one must pass, without they must end with status 3. GPU may be
# `yes`; without the word the command itself is asked.
set -uo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
assay=$1 work=$2 gpu=${3:-}
rm -rf -- "$work/project"
mkdir -p -- "$work/project/kernels" "$work/bin" || exit 2
ln -sf -- "$assay" "$work/bin/assay"
cd -- "$work/project" || exit 2
export PATH=$work/bin:$PATH XDG_CACHE_HOME=$work/cache GITHUB_STEP_SUMMARY=$work/project/step_summary.md
# The kernel that is adopted: an example, under the name that the recipes use.
sed 's/softmax_four_per_warp/softmax/g' "$here/../../kernels/adapter/examples/rows_of_a_warp.cu" >kernels/softmax.cu
export KERNEL=kernels/softmax.cu ENTRY=softmax

complain() {
  printf 'try: %s\n' "$*" >&2
  exit 1
}

# shellcheck source=steps.sh
source "$here/steps.sh"

# run STEP WANTED: runs the commands of a step, which must end with this status.
ran=0
run() {
  bash -e "$1" >"$1.log" 2>&1
  local status=$?
  [[ $status -eq $2 ]] || { cat "$1" "$1.log" >&2; complain "$file: $1 ended with $status, not $2"; }
  ran=$((ran + 1))
}

# A check of one group takes a second.
one_group() {
  sed -i '/^assay check /s/ --out / --quick --only shapes --out /' "$1"
}

passed_junit() {
  grep -q '<testsuites .* failures="0"' "$1" || complain "$file: $1 does not say that nothing failed"
}

# A night whose check or search fails (a program in place of assay ends so): the search runs in any case, and the job ends
# with the status that weighs more. A finding of the search (1) weighs more than limits that nobody declared (4).
bad_nights() {
  mkdir -p -- "$work/bad"
  # shellcheck disable=SC2016
  printf '#!/bin/sh\necho "$1" >>ran\ncase $1 in check) exit "$CHECK" ;; fuzz) exit "$FUZZ" ;; esac\n' >"$work/bad/assay"
  chmod +x "$work/bad/assay"
  local check fuzz wanted rounds=0
  while read -r check fuzz wanted; do
    rm -f ran
    PATH=$work/bad:$PATH CHECK=$check FUZZ=$fuzz run "$1" "$wanted" </dev/null
    [[ $(tr '\n' ' ' <ran) == "check fuzz " ]] || complain "$file: a check that ends with $check leaves out the search"
    rounds=$((rounds + 1))
  done <<'END'
1 0 1
4 0 4
3 3 3
4 1 1
0 1 1
END
  [[ $rounds -eq 5 ]] || complain "$file: only $rounds of 5 bad nights were tried"
}

# has FILE PATTERN WHAT: the text of a recipe.
has() { grep -Eq -- "$2" "$1" || complain "$1: $3"; }

# What no step shows. Of a night that fails, actions/cache alone would keep nothing: it saves only where the job passes.
for file in "$here"/github/*.yml; do
  has "$file" '^permissions:$' "does not say what it may do"
  has "$file" '^concurrency:' "does not say what becomes of an older run"
  [[ $(grep -c '^    runs-on: ' "$file") -eq $(grep -c '^    timeout-minutes: ' "$file") ]] ||
    complain "$file: a job has no limit of its time"
  if grep -q 'uses: actions/cache@' "$file"; then complain "$file: saves the cache only where the job passes"; fi
done
has "$here/github/nightly.yml" 'uses: actions/cache/save@' "saves no corpus"
grep -A 1 'uses: actions/cache/save@' "$here/github/nightly.yml" | grep -q '^        if: always()$' ||
  complain "nightly.yml: saves the corpus only where the night passes"
[[ $(grep -c '^  cache:$' "$here/gitlab-ci.yml") -eq $(grep -A 3 '^  cache:$' "$here/gitlab-ci.yml" | grep -c '^    when: always$') ]] ||
  complain "gitlab-ci.yml: a cache is kept only where the job passes"

# Status 3 says that no GPU can run.
if [[ -z $gpu ]]; then
  assay check safe_block/f32@cuda --require cuda --quick --only shapes --out out >/dev/null 2>&1
  [[ $? -eq 3 ]] || gpu=yes
fi
without_gpu=3
[[ -n $gpu ]] && without_gpu=0
for file in "$here"/github/*.yml "$here"/gitlab-ci.yml; do
  for step in $(steps "$file"); do
    [[ -s $step ]] || complain "$file: $step has no command"
    bash -n "$step" || complain "$file: $step is no shell"
    case ${file##*/}:${step#.step-??-} in
      *:package | *:install | *:install_* | *:proof | *:proofs_of_this_repository) ;;
      cpu.yml:check | gitlab-ci.yml:softmax_on_the_*)
        wanted=0
        if grep -q 'require cuda' "$step"; then wanted=$without_gpu; fi
        one_group "$step"
        rm -rf out check.xml
        run "$step" "$wanted"
        [[ $wanted -ne 0 ]] || passed_junit check.xml
        ;;
      gpu.yml:check)
        one_group "$step"
        rm -rf out check.xml
        run "$step" "$without_gpu"
        ;;
      gpu.yml:fork) run "$step" 1 ;;
      nightly.yml:check | nightly.yml:fuzz | gitlab-ci.yml:softmax_every_night)
        # A night takes half an hour: a second here.
        export TIME=1s WHERE="--host"
        one_group "$step"
        rm -f fuzz.xml
        run "$step" 0
        case $step in
          *fuzz) passed_junit fuzz.xml ;;
          *night) passed_junit check.xml && passed_junit fuzz.xml && bad_nights "$step" ;;
        esac
        ;;
      *:summary)
        # After a call that judged nothing there is no summary, and the step before is the red one.
        rm -rf kept && { [[ ! -e out ]] || mv out kept; }
        run "$step" 0
        rm -rf out && { [[ ! -e kept ]] || mv kept out; }
        : >"$GITHUB_STEP_SUMMARY"
        run "$step" 0
        [[ $file == */gpu.yml ]] || grep -q '^# Softmax conformance check: PASS' "$GITHUB_STEP_SUMMARY" ||
          complain "$file: the summary of the job does not begin with the verdict"
        ;;
      *) complain "$file: no rule for the step $step" ;;
    esac
  done
done
[[ $ran -ge 17 ]] || complain "only $ran steps ran"
printf '%d steps ran\n' "$ran"
cd / && rm -rf -- "$work/project"
