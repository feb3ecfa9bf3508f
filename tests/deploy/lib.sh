#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The harness of the end-to-end tests, with cgroups and a directory of a test's own, and a server to install on: a clean Debian 12
# with systemd as its process 1, on the network of $SRV. DEB is the package, ROOTS what tests/deploy/roots.sh has made.

DEPLOY_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export ROOTS DEB OWN OWN_CGROUPS

die()
{
	echo "$*" >&2
	exit 1
}

# One hierarchy of cgroups, or on older set-ups one a controller.
hierarchies()
{
	findmnt -rn -t cgroup,cgroup2 -o TARGET | grep '^/sys/fs/cgroup' | sort -u
}

make_cgroup() # DIR
{
	mkdir "$1" || die "these tests need cgroups of their own: cannot make $1"
	[ -e "$1/cgroup.clone_children" ] && [ -e "$1/cpuset.cpus" ] || return 0
	cat "$1/../cpuset.cpus" >"$1/cpuset.cpus" # the first version gives them nothing by itself
	cat "$1/../cpuset.mems" >"$1/cpuset.mems"
}

# join_cgroup NAME: below whatever is mounted
join_cgroup()
{
	local dir
	for dir in $OWN_CGROUPS; do
		echo 0 >"$dir/$1/cgroup.procs" || die "cannot enter the cgroup $dir/$1"
	done
}

# Directories and cgroups outlive namespaces, so somebody waits for the last process that could use them: kill -9 leaves
# nothing behind, either.
make_own()
{
	local dir name
	OWN=$(mktemp -d "${TMPDIR:-/tmp}/synhold-deploy.XXXXXX") || exit 1
	chmod 0755 "$OWN"
	OWN_CGROUPS=$(hierarchies)
	[ -n "$OWN_CGROUPS" ] || die "these tests need cgroups in /sys/fs/cgroup"
	mkfifo "$OWN/alive"
	# shellcheck disable=SC2016
	setsid bash -c '
		trap "" INT TERM HUP
		cat "$1/alive"
		for try in {1..50}; do
			found=
			for dir in $2; do
				[ ! -d "$dir/${1##*/}" ] || found=1
				find "$dir/${1##*/}" -depth -type d -exec rmdir {} \;
			done
			[ -n "$found" ] || break
			sleep 0.2
		done
		rm -rf --one-file-system "$1"' - "$OWN" "$OWN_CGROUPS" </dev/null >/dev/null 2>&1 7>&- &
	disown
	exec 7>"$OWN/alive"
	for dir in $OWN_CGROUPS; do
		for name in "" /test /guest; do
			make_cgroup "$dir/${OWN##*/}$name"
		done
	done
}

# Each test enters its cgroup, and the roots of its hierarchies are there.
if [ "${1:-}" = --one ] && [ -z "${DEPLOY_INSIDE:-}" ]; then
	join_cgroup "${OWN##*/}"
	DEPLOY_INSIDE=1 exec unshare --cgroup -- bash "$0" "$@"
elif [ "${1:-}" = --one ]; then
	for dir in $OWN_CGROUPS; do
		mount --bind "$dir/${OWN##*/}" "$dir" || exit 1
	done
	join_cgroup test
fi

. "$DEPLOY_DIR/../e2e/lib.sh"

run_deploy()
{
	if [ "${1:-}" != --one ]; then
		[ "$(id -u)" = 0 ] || die "these tests need root"
		[ -e "${DEB:?is the package to try}" ] || die "$DEB is missing: make deb"
		[ -e "${ROOTS:?is what roots.sh has made}/made" ] || die "$ROOTS is not whole: tests/deploy/roots.sh makes it"
		make_own
	fi
	run_tests "$@"
}

# ---------------------------------------------------------------------------------------------------- a server

GUEST=/run/guest

# guest_up: boots a clean Debian, whose BPF file system is the test's
guest_up()
{
	local dir
	( # once for all tests of the file
		flock 8
		[ ! -d "$OWN/system" ] || exit 0
		mkdir "$OWN/system"
		tar -C "$OWN/system" -xf "$ROOTS/system.tar"
	) 8>"$OWN/lock"
	dir=$(mktemp -d "$OWN/guest.XXXXXX")
	mkdir "$dir/changes" "$dir/work" "$GUEST"
	mount -t overlay -o "lowerdir=$OWN/system,upperdir=$dir/changes,workdir=$dir/work" guest "$GUEST"
	tr -d - </proc/sys/kernel/random/uuid >"$GUEST/etc/machine-id"
	echo guest >"$GUEST/etc/hostname"
	install -m 0644 "$DEB" "$GUEST/root/synhold.deb"
	# a name that close_books leaves for the end
	start shield_guest srv bash -c '
		set -e
		for dir in $OWN_CGROUPS; do
			echo 0 >"$dir/guest/cgroup.procs"
		done
		exec unshare --mount --pid --fork --kill-child --uts --ipc --cgroup -- bash "$1" "$2" "$3"' - "$DEPLOY_DIR/guest.sh" \
		"$GUEST" "$ROOTS/debs"
	wait_until 'guest systemctl is-system-running | grep -qE "running|degraded" || ! running shield_guest' 90 "the guest to be up"
	running shield_guest || fail "the guest ended: $(output shield_guest)"
	assert_eq "$(guest systemctl is-system-running)" running "the guest ($(guest systemctl --failed --no-legend))"
}

# guest COMMAND...: in there
guest()
{
	local init
	init=$(pgrep -P "${PROCESS[shield_guest]}") || return
	# shellcheck disable=SC2016
	nsenter -t "$init" -m -u -i -n -p -C env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# guest_down: shuts it down as an operator does
guest_down()
{
	guest systemctl poweroff
	finish shield_guest 30
}

# What is installed in there is what the harness asks, too.
synhold()
{
	if [ -n "${PROCESS[shield_guest]:-}" ] && [ -x "$GUEST/usr/sbin/synhold" ]; then
		guest ${SYNHOLD_INSTANCE:+SYNHOLD_INSTANCE=$SYNHOLD_INSTANCE} synhold "$@"
	else
		in_srv "$SYNHOLD" "$@"
	fi
}

journal() # UNIT
{
	guest journalctl --no-pager -o cat -u "$1"
}
