#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the Debian 12 packages that are missing: those that building and the demo need; with `test` also what the tests
# need, servers to protect among it; with `lint` those of `make lint` and of the fuzzers; with `bench`
# what `make bench` compares with; with `deploy` those of `make test-deploy`. Does nothing, and needs no root, when all are there.
#
# The tests start servers of their own in private namespaces. A server's package that this script installs does not start
# its system service, now or at boot; one that was there before is left as it is.
set -u

usage="usage: tests/deps.sh [test|lint|bench|deploy]"

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
	libseccomp-dev  system calls the daemon keeps
	libcap-ng-dev   capabilities it keeps
	iproute2        ip, tc and ss: private networks of the drill and of the tests
"
tests="
	libcmocka-dev   unit and prog tests
	libxdp-dev      --chain
	xdp-tools       xdp-loader, who shares an interface by libxdp
	ethtool         offloads of the tests' virtual cards
	nftables        firewalls in the tests
	iptables        hashlimit and SYNPROXY in the tests of the drill
	procps          sysctl and pgrep in the tests
	jq              JSON in the tests
	curl            metrics over HTTP in the tests
	tmux            a terminal for the tests of top
	qemu-system-x86  other kernels in the tests, and what their guests are made of:
	busybox-static  commands
	cpio            file systems
	xz-utils        modules
	zstd            modules
	libssl-dev      TLS clients of the tests
"
# for tests, commands that may have come from elsewhere: package, command, what for
commands="
	nodejs  /usr/bin/node  the tests' event-loop server
	npm     npm            its modules
	openssl openssl        certificates of the TLS servers
"
# for tests, servers: package and system service, command, what for
servers="
	haproxy  haproxy  protected by the tests
	nginx    nginx    protected by the tests
"
# for tests and lint, of the same kind
monitors="
	prometheus promtool alerts, dashboard and metrics
"
lint="
	clang-format    formatting
	clang-tidy      static analysis
	cppcheck        static analysis
	shellcheck      scripts
	mandoc          manual pages
	libclang-rt-14-dev  runtime of the fuzzers
"
bench="
	procps          sysctl
	ethtool         what a card handed over
	jq              JSON
	nftables        limit, dynamic set
	iptables        hashlimit, SYNPROXY
	xdp-tools       xdp-filter
"

deploy="
	debhelper       the package
	dpkg-dev        the package, an archive of packages
	mmdebstrap      a clean Debian
	util-linux      its namespaces
	podman          images and pods
	buildah         images
	runc            containers, also where cgroups are of both versions
	conmon          containers
	catatonit       pods
	golang-github-containers-common  defaults of podman
	yq              manifests
	lintian         the package
"

fail()
{
	echo "deps: $*" >&2
	exit 1
}

case "$*" in
'') table=$build commands='' servers='' ;;
test) table=$build$tests servers=$servers$monitors ;;
lint) table=$build$tests$lint commands='' servers=$monitors ;;
bench) table=$build$bench commands='' servers='' ;;
deploy) table=$build$tests$deploy servers='' ;;
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
PATH=$PATH:/usr/sbin:/sbin # where servers are, also for a user who does not look there
while read -r package command _; do
	[ -z "$package" ] || command -v "$command" >/dev/null || missing+=("$package")
done <<<"$commands"
services=()
while read -r package command _; do
	[ -z "$package" ] || command -v "$command" >/dev/null || services+=("$package")
done <<<"$servers"
[ $((${#missing[@]} + ${#services[@]})) -gt 0 ] || exit 0

all=("${missing[@]}" "${services[@]}")
[ "$(id -u)" -eq 0 ] || fail "not root, and these packages are missing: ${all[*]}; run 'sudo tests/deps.sh $*'"
command -v apt-get >/dev/null || fail "no apt-get here; install these by hand: ${all[*]}"

apt_install() # PACKAGE...
{
	apt-get install -q -y --no-install-recommends "$@" ||
		fail "apt-get could not install $*; the names are those of Debian 12"
}

# invoke-rc.d asks this program whether it may start a service: no, while the servers' packages are being set up.
policy=/usr/sbin/policy-rc.d
kept=
deny_starts()
{
	trap allow_starts EXIT
	trap 'exit 130' INT TERM HUP
	if [ -e "$policy" ] || [ -L "$policy" ]; then
		kept=$(mktemp -u "$policy.XXXXXX")
		mv "$policy" "$kept" || fail "cannot move $policy away"
	fi
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 0755 "$policy"
}
allow_starts()
{
	trap - EXIT
	rm -f "$policy"
	[ -z "$kept" ] || mv "$kept" "$policy"
}

echo "deps: installing ${all[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q || fail "apt-get update failed; check the network and /etc/apt/sources.list"
[ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
if [ ${#services[@]} -gt 0 ]; then
	deny_starts
	apt_install "${services[@]}"
	allow_starts
	for service in "${services[@]}"; do # nor at the next boot
		update-rc.d "$service" disable || fail "cannot disable the service $service, which was installed just now"
	done
fi
