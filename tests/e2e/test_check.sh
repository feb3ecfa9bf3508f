#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `check` finds: what it is, why it matters, and a command that helps. Where a test can, it runs that command, and
# the finding must be gone. Cards that this machine has not are in tests/unit/test_check.c.
. "$(dirname "$0")/lib.sh"

# host_file PATH TEXT: what the programs of this test read there
host_file() {
	local file=/run/e2e/host$((++HOST_FILES))
	echo "$2" >"$file"
	mount --bind "$file" "$1"
}
HOST_FILES=0

# a host without fault, so that what a test puts in is all there is to find
good_host() {
	net_up
	mount -t tmpfs e2e /sys/kernel/security
	echo '[none] integrity confidentiality' >/sys/kernel/security/lockdown
	host_file /proc/sys/kernel/unprivileged_bpf_disabled 2
	host_file /proc/meminfo "MemAvailable: 4000000 kB"
	in_srv sysctl -qw net.core.somaxconn=4096 net.ipv4.tcp_syncookies=1
}

# checks IFACE STATUS [TEXT...]: each text stands in what it says
checks() {
	local got=0 text
	synhold check "$1" >/run/e2e/out || got=$?
	assert_eq "$got" "$2" "exit status of check $1 ($(grep -v '^ok' /run/e2e/out | head -c 600))"
	shift 2
	for text in "$@"; do
		grep -qF -- "$text" /run/e2e/out || fail "check does not say '$text': $(cat /run/e2e/out)"
	done
}

# helps: the command that the last check gave for the finding of that name
helps() { # FINDING
	local fix
	fix=$(grep -A 1 "^[a-z]*  *$1: " /run/e2e/out | sed -n 's/^ *do: //p' | sed 's/, .*//')
	[ -n "$fix" ] || fail "no command for '$1': $(cat /run/e2e/out)"
	# shellcheck disable=SC2086 # it is a command line
	in_srv $fix >/run/e2e/fixed
}

test_all_is_well() {
	good_host
	checks s0 0 "nothing stands in the way" "ok    lockdown: none" "ok    bpffs: mounted" "ok    driver: veth runs XDP natively" \
		"ok    XDP program: none on s0" "ok    SYN cookies: when they are needed" "ok    place: nothing above or below s0"
	synhold check s0 --json | jq -e '[.findings[]? // .[]? | select(.level != "ok")] == []' >/run/e2e/jq
}

test_lockdown() {
	good_host
	echo 'none integrity [confidentiality]' >/sys/kernel/security/lockdown
	checks s0 3 "warn  lockdown: confidentiality: BPF may not read the kernel's memory" \
		"do: lockdown=integrity on the kernel's command line"
	echo 'none [integrity] confidentiality' >/sys/kernel/security/lockdown
	checks s0 0 "ok    lockdown: integrity: no matter"
	rm /sys/kernel/security/lockdown
	checks s0 0 "ok    lockdown: not in this kernel"
}

test_unprivileged_bpf() {
	good_host
	host_file /proc/sys/kernel/unprivileged_bpf_disabled 0
	checks s0 3 "warn  unprivileged BPF: any user may load" "do: sysctl -w kernel.unprivileged_bpf_disabled=2"
	helps "unprivileged BPF" # writes what is mounted there
	checks s0 0 "ok    unprivileged BPF: off"
}

test_memory() {
	good_host
	host_file /proc/meminfo "MemAvailable: 100000 kB"
	checks s0 1 "fail  memory: 97 MiB available; an instance takes up to 144 MiB" "do: free some, or lower hold-memory"
	host_file /proc/meminfo "MemAvailable: 200000 kB"
	checks s0 3 "warn  memory: 195 MiB"
}

test_bpffs() {
	good_host
	umount /sys/fs/bpf
	checks s0 1 "fail  bpffs: no BPF file system at /sys/fs/bpf" "it will not work like this"
	helps bpffs
	checks s0 0 "ok    bpffs: mounted at /sys/fs/bpf"
}

test_rights() {
	local got=0
	good_host
	in_srv setpriv --reuid 65534 --clear-groups "$SYNHOLD" check s0 >/run/e2e/out || got=$?
	assert_eq "$got" 1 "exit status without root"
	assert_match "$(cat /run/e2e/out)" "fail  rights: not root, without CAP_BPF, without CAP_NET_ADMIN.*do: run it with sudo" check
	got=0
	in_srv setpriv --bounding-set -net_admin --inh-caps -net_admin "$SYNHOLD" check s0 >/run/e2e/out || got=$?
	assert_eq "$got" 1 "exit status without CAP_NET_ADMIN"
	assert_match "$(cat /run/e2e/out)" "fail  rights: root, without CAP_NET_ADMIN" check
}

test_sysctls() {
	local finding
	good_host
	in_srv sysctl -qw net.core.somaxconn=128 net.ipv4.tcp_syncookies=0
	checks s0 3 "warn  somaxconn: 128: accept queues overflow" "warn  SYN cookies: off: a flood"
	for finding in somaxconn "SYN cookies"; do
		helps "$finding"
	done
	checks s0 0 "ok    somaxconn: 4096" "ok    SYN cookies: when they are needed"
	in_srv sysctl -qw net.ipv4.tcp_syncookies=2
	checks s0 3 "warn  SYN cookies: always on"
	helps "SYN cookies"
	checks s0 0
}

# What waits for accept() against what the window lets in: by each listener's own limit.
test_listener_backlog() {
	good_host
	in_srv sysctl -qw net.core.somaxconn=40
	server
	in_srv sysctl -qw net.core.somaxconn=4096
	synhold attach s0 --port "web=$PORT" window=64 >/run/e2e/out
	checks s0 3 "warn  backlog: web: the listener on port $PORT takes 40 connections that wait for accept(); the window is 64" \
		"do: sysctl -w net.core.somaxconn=4096, and a larger listen()" "ok    XDP program: s0 is shielded already"
	stop server
	server
	checks s0 0 "ok    backlog: web"
}

test_queues() {
	LINK_QUEUES="numtxqueues 4 numrxqueues 4"
	good_host
	in_srv ethtool -L s0 rx 1
	checks s0 3 "warn  driver: veth runs XDP natively only with as many receive queues as its peer sends by; s0 has 1"
	helps driver
	checks s0 0 "ok    driver: veth runs XDP natively" "ok    XPS: of no use to veth" "ok    RSS: 4 of 4 queues in use"
}

test_link_down() {
	good_host
	ip -n "$SRV" link set s0 down
	checks s0 3 "warn  link: s0 is down" "do: ip link set dev s0 up"
	helps link
	checks s0 0
	checks nosuch 1 "fail  interface: no interface 'nosuch' in this network namespace" "do: ip -br link lists them"
}

# A driver that runs XDP natively but takes no frame of several pages.
test_mtu() {
	good_host
	ip -n "$SRV" tuntap add t0 mode tap 2>/run/e2e/err || skip "no tap devices here"
	ip -n "$SRV" link set t0 up mtu 9000
	checks t0 3 "warn  MTU: 9000: above about 3498 many drivers refuse native XDP" "do: ip link set dev t0 mtu 3498"
	helps MTU
	checks t0 0 "ok    MTU: 3498" "ok    driver: tun runs XDP natively"
}

# What has no native XDP, and what to attach to instead.
test_places() {
	good_host
	ip -n "$SRV" link add br0 type bridge
	ip -n "$SRV" link set s0 master br0
	ip -n "$SRV" link set br0 up
	checks br0 3 "warn  place: br0 is a bridge: XDP runs there in generic mode only" "do: synhold attach s0" \
		"warn  driver: bridge does not run XDP natively here" "do: --mode generic says that you know"
	checks s0 0
	ip -n "$SRV" link set s0 nomaster
	ip -n "$SRV" link add m0 link s0 type macvlan mode bridge
	ip -n "$SRV" link set m0 up
	checks m0 3 "warn  place: m0 is a macvlan" "do: synhold attach s0"
	checks s0 3 "warn  place: m0 is on top of s0: what is let in late goes through the card again"
	# in another namespace the number of what is below it is somebody else's
	ip -n "$SRV" link set m0 netns "$CLI"
	in_cli "$SYNHOLD" check m0 >/run/e2e/out || true
	assert_match "$(cat /run/e2e/out)" "m0 is a macvlan.*do: synhold attach CARD, the card below it" "check, in another namespace"
}

# Another program: by name, id and owner; the command takes it off. Once it is gone, nothing is in the way.
test_other_program() {
	KEEPS_CLSACT=1
	good_host
	in_srv "$TOOLS/foreign" s0 native
	checks s0 1 "fail  XDP program: s0 carries another program: someone_else, id $(in_srv bpftool -j net show dev s0 | jq '.[0].xdp[0].id // .[0].xdp[0].prog_id'), native mode; no process holds it" \
		"do: bpftool net show dev s0; ip link set dev s0 xdp off removes it"
	in_srv ip link set dev s0 xdp off
	checks s0 0
	in_srv "$TOOLS/foreign" s0 filter
	checks s0 0 "other filters on s0; the shield's runs first and passes on to them"
}

PARALLEL=3
run_tests "$@"
