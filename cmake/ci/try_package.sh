#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a package of ./run package in a bare Debian, adopts the tutorial's kernel with it, and removes it again:
# try_package.sh FILE.deb FOLDER, as root. FOLDER becomes the bare Debian (debootstrap); a second call uses it again.
set -euo pipefail
deb=$(realpath "$1") root=$2
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
[[ -x $root/usr/bin/dpkg ]] || debootstrap --variant=minbase bookworm "$root"
in_root() { chroot "$root" env DEBIAN_FRONTEND=noninteractive HOME=/root LC_ALL=C "$@"; }
cp -- /etc/resolv.conf "$root/etc/" 2>/dev/null || true
mountpoint -q "$root/proc" || { mount -t proc proc "$root/proc" && trap 'umount "$root/proc"' EXIT; }

in_root apt-get -qq update
cp -- "$deb" "$root/root/assay.deb"
files() { (cd -- "$root" && find usr etc opt var/lib -xdev -path '*/dpkg/*' -prune -o -path '*/apt/*' -prune -o -print | sort); }
in_root apt-get -qq install --yes --no-install-recommends g++ libboost-context-dev >/dev/null
# What the package needs stays when the package goes, so it is there before.
in_root apt-get -qq install --yes --no-install-recommends /root/assay.deb >/dev/null
in_root dpkg --remove assay >/dev/null
files >"$root/root/before"

in_root apt-get -qq install --yes --no-install-recommends /root/assay.deb >/dev/null
in_root assay --version
for file in doc/assay/copyright man/man1/assay.1 bash-completion/completions/assay zsh/vendor-completions/_assay \
  assay/records.schema.json; do
  [[ -s $root/usr/share/$file ]] || { echo "try_package: /usr/share/$file is missing" >&2; exit 1; }
done
# The kernel and the first check of the tutorial; it ends with status 4, because nobody declared its limit.
awk '/^cat > row_softmax.cu/ { inside = 1; next } /^CUDA$/ { inside = 0 } inside' \
  "$here/../../kernels/adapter/TUTORIAL.md" >"$root/root/row_softmax.cu"
status=0
in_root bash -c "cd /root && assay check row_softmax.cu --host --quick --out out --entry \
  'void row_softmax(float* out, const float* in, int rows, int cols, cudaStream_t stream)'" || status=$?
[[ $status -eq 4 ]] || { echo "try_package: the check ended with status $status, not 4" >&2; exit 1; }

in_root dpkg --purge assay >/dev/null
files >"$root/root/after"
diff "$root/root/before" "$root/root/after" || { echo "try_package: files are left" >&2; exit 1; }
echo "installed, used and removed"
