# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Read by try.sh and try_install.sh.
# steps FILE: writes the commands of every step to .step-NUMBER-NAME and names these files, in the order of the recipe. Of
# GitHub's form a step is a `- name:` with `run: |`, of GitLab's a `before_script:` (NAME is install_JOB) or `script:` list
# under a job's name.
steps() {
  rm -f .step-*
  awk '
    function begin(step) { step = tolower(step); gsub(/[^a-z]/, "_", step); n++; at = sprintf(".step-%02d-%s", n, step); printf "" > at }
    /^ *- name: /        { name = $0; sub(/^ *- name: */, "", name) }
    /^ *run: \|$/        { begin(name); depth = match($0, /r/); inside = "run"; next }
    /^[a-z].*:$/         { job = $0; sub(/:$/, "", job) }
    /^  before_script:$/ { begin("install_" job); inside = "script"; next }
    /^  script:$/        { begin(job); inside = "script"; next }
    inside == "run"      { match($0, /^ */); if (RLENGTH < depth && NF) inside = ""; else { sub(/^ */, ""); print > at } }
    inside == "script"   { if ($0 !~ /^    - /) inside = ""; else { sub(/^    - /, ""); print > at } }' "$1"
  ls .step-* 2>/dev/null
}
