#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the guests' file system: busybox, the commands that the end-to-end harness calls, the shield, its tests.
#
#   tests/kernels/userland.sh BUILD CPIO
set -u

build=$1 cpio=$2
commands="bash ip tc bpftool jq unshare nsenter sysctl find grep sed awk timeout date xdp-loader"

cd "$(dirname "$0")/../.." || exit 1
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
chmod 0755 "$root"

# install_file FILE PLACE: with the libraries that it loads
install_file()
{
	local library
	install -D -m 0755 "$1" "$root$2" || exit 1
	while read -r library; do
		[ -e "$root$library" ] || install -D -m 0755 "$library" "$root$library" || exit 1
	done < <(ldd "$1" 2>/dev/null | grep -o '/[^ ]*\.so[^ ]*')
}

mkdir -p "$root"/{dev,etc,proc,sys,tmp,run,bin,usr/bin,var/lib,root}
install_file "$(command -v busybox)" /bin/busybox
while read -r applet; do
	ln -s busybox "$root/bin/$applet"
done < <(busybox --list | grep -vx busybox)
for name in $commands; do
	path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$name") || {
		echo "userland.sh: no $name here; tests/deps.sh installs it" >&2
		exit 1
	}
	rm -f "$root/bin/$name"
	install_file "$path" "/bin/$name"
done
ln -s /bin/env "$root/usr/bin/env"
install -m 0755 tests/kernels/init.sh "$root/init" || exit 1
install_file "$build/synhold" /shield/synhold
install_file "$build/synhold-unchained" /shield/synhold-unchained
install_file "$build/next/synhold" /shield/next-synhold
for tool in "$build"/tests/e2e/*; do
	[ ! -x "$tool" ] || [ -d "$tool" ] || install_file "$tool" "/shield/tools/${tool##*/}"
done
install_file "$build/tests/kernels/verifier" /shield/tools/verifier
dispatcher=$(find /usr/lib -name xdp-dispatcher.o | head -n 1) # which the library reads
install -D -m 0644 "$dispatcher" "$root$dispatcher" || exit 1
install -D -m 0644 -t "$root/shield/tools" "$build/tests/e2e/neighbour.bpf.o" || exit 1
install -D -m 0644 -t "$root/shield" "$build"/synhold*.bpf.o || exit 1
install -D -m 0644 -t "$root/shield/e2e" tests/e2e/lib.sh || exit 1
install -D -m 0644 -t "$root/shield/kernels" tests/kernels/guest.sh tests/kernels/chain.sh tests/kernels/flat.awk || exit 1
(cd "$root" && find . | cpio -o -H newc --quiet) >"$cpio.new" && mv "$cpio.new" "$cpio"
