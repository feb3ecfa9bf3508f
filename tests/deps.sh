#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the Debian 12 packages that are missing: those that building, the demo and the tests need; with `lint` those
# of `make lint` and of the fuzzers too. Does nothing, and needs no root, when all are there.
set -u

usage="usage: tests/deps.sh [lint]"

# package, what for
build="
	make            the build itself
	gcc             user space
	libc6-dev       user space; argp comes with it
	linux-libc-dev  kernel headers of the BPF programs
	clang           BPF programs
	bpftool         skeleton of the BPF object
	pkgconf         pkg-config of the libraries below
	libbpf-dev      loading, maps, rings
	libelf-dev      libbpf needs it
	zlib1g-dev      libbpf needs it
	libevent-dev    event loop of the daemon
	libinih-dev     config file
	libjansson-dev  JSON
	libsmartcols-dev  tables of status
	libncurses-dev  top
	libmnl-dev      socket diagnostics
	libmicrohttpd-dev  metrics over HTTP
	libcmocka-dev   unit and prog tests
	iproute2        ip, tc and ss: private networks of the drill and of the tests
	ethtool         offloads of the tests' virtual cards
	procps          sysctl and pgrep in the tests
	jq              JSON in the tests
	curl            metrics over HTTP in the tests
	tmux            a terminal for the tests of top
	qemu-system-x86  other kernels in the tests, and what their guests are made of:
	busybox-static  commands
	cpio            file systems
	xz-utils        modules
	zstd            modules
"
lint="
	clang-format    formatting
	clang-tidy      static analysis
	cppcheck        static analysis
	shellcheck      scripts
	mandoc          manual pages
	libclang-rt-14-dev  runtime of the fuzzers
"

fail()
{
	echo "deps: $*" >&2
	exit 1
}

case "$*" in
'') table=$build ;;
lint) table=$build$lint ;;
*)
	echo "$usage" >&2
	exit 2
	;;
esac

command -v dpkg-query >/dev/null || fail "no dpkg here: the list is for Debian 12; install its equivalents by hand:
$(awk 'NF { print "  " $0 }' <<<"$table")"

missing=()
while read -r package _; do
	[ -n "$package" ] || continue
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done <<<"$table"
[ ${#missing[@]} -gt 0 ] || exit 0

[ "$(id -u)" -eq 0 ] || fail "not root, and these packages are missing: ${missing[*]}; run 'sudo tests/deps.sh $*'"
command -v apt-get >/dev/null || fail "no apt-get here; install these by hand: ${missing[*]}"

echo "deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q || fail "apt-get update failed; check the network and /etc/apt/sources.list"
apt-get install -q -y --no-install-recommends "${missing[@]}" ||
	fail "apt-get could not install ${missing[*]}; the names are those of Debian 12"
