#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside what else there is on a server: it works, or is plainly refused, and what is not ours stays as it was.
. "$(dirname "$0")/lib.sh"

# a herd that must wait gets in, all of it and unharmed
served() {
	local out
	out=$(storm clients=60 patience=5000 retry=200 limit=20000)
	expect_line "$out" served=60 corrupt=0
}

nft_in() { # NETNS: rules from stdin
	command -v nft >/dev/null || skip "no nft here"
	nsenter --net="/run/netns/$1" nft -f - 2>/run/e2e/err || skip "nft: $(head -n 1 /run/e2e/err)"
}

# As a container runtime publishes a port: the server is in a namespace behind a bridge, connections are sent there by DNAT.
test_dnat_to_a_container() {
	local box
	net_up
	box=$E2E_NAME-b
	ip netns add "$box"
	ip -n "$SRV" link add br0 type bridge
	ip -n "$SRV" addr add 172.30.0.1/24 dev br0
	ip -n "$SRV" link add v0 type veth peer name eth0 netns "$box"
	ip -n "$SRV" link set v0 master br0 up
	ip -n "$SRV" link set br0 up
	ip -n "$box" addr add 172.30.0.2/24 dev eth0
	ip -n "$box" link set eth0 up
	ip -n "$box" link set lo up
	ip -n "$box" route add default via 172.30.0.1
	in_srv sysctl -qw net.ipv4.ip_forward=1
	nft_in "$SRV" <<<"table ip nat { chain pre { type nat hook prerouting priority -100; iifname s0 tcp dport $PORT dnat to 172.30.0.2:$PORT; }; }"
	nsenter --net="/run/netns/$box" "$TOOLS/serve" :: "$PORT" delay_us=2000 >"$LOGS/box.log" 2>&1 &
	PROCESS[box]=$!
	wait_until "grep -q ready $LOGS/box.log" 5
	shield window=4
	served
	expect handshakes.settled=60 inflight=0
	assert_ge "$(value hold.released)" 1 "released"
}

test_bridge_member() {
	net_up bare
	ip -n "$SRV" link add br0 type bridge
	ip -n "$SRV" link set s0 master br0 up
	net_addresses c0 br0
	server delay_us=2000
	shield window=4
	served
	expect handshakes.settled=60 inflight=0
	assert_ge "$(value hold.released)" 1 "released"
}

test_four_queues() {
	LINK_QUEUES="numtxqueues 4 numrxqueues 4"
	net_up
	server delay_us=2000
	shield window=4
	served
	expect handshakes.settled=60 inflight=0
	assert_match "$(synhold check s0)" "RSS: 4 of 4 queues" "check"
}

syncookies() {
	net_up
	in_srv sysctl -qw net.ipv4.tcp_syncookies="$1"
	server delay_us=2000
	shield window=4
	served
	expect handshakes.settled=60 inflight=0
	assert_match "$(synhold check s0)" "SYN cookies: $2" "check"
}
test_syncookies_off() { syncookies 0 off; }
test_syncookies_always() { syncookies 2 "always on"; }

test_conntrack() {
	net_up
	nft_in "$SRV" <<<"table inet f { chain in { type filter hook input priority 0; policy accept; ct state invalid drop; ct state new tcp dport $PORT counter accept; }; }"
	server delay_us=2000
	shield window=4
	served
	expect handshakes.settled=60 inflight=0
}

test_synproxy() {
	net_up
	in_srv sysctl -qw net.ipv4.tcp_syncookies=1 net.ipv4.tcp_timestamps=1 net.netfilter.nf_conntrack_tcp_loose=0 2>/run/e2e/err ||
		skip "no conntrack here"
	nft_in "$SRV" <<<"table ip f { chain pre { type filter hook prerouting priority -300; tcp dport $PORT tcp flags syn notrack; }
		chain in { type filter hook input priority 0; tcp dport $PORT ct state invalid,untracked synproxy mss 1460 wscale 7 timestamp sack-perm; ct state invalid drop; }; }"
	server delay_us=2000
	shield window=4
	served
	expect -t 12 inflight=0
}

others() {
	in_srv tc -s qdisc show dev s0 | grep -v Sent | grep -o '^qdisc [a-z_]* [0-9a-f]*:[^r]*' | grep -v clsact || true
	in_srv tc filter show dev s0 ingress | grep -v synhold
	in_srv tc filter show dev s0 egress | grep -v synhold
}

test_other_filters_and_qdiscs() {
	local before
	KEEPS_CLSACT=1
	net_up
	in_srv tc qdisc add dev s0 root handle 1: pfifo limit 500
	in_srv "$TOOLS/foreign" s0 filter
	before=$(others)
	assert_match "$before" "pfifo.*pref 77 " "what is there before"
	server delay_us=2000
	shield window=4
	assert_eq "$(others | grep -v '^filter protocol all pref [0-9]* bpf chain 0 *$' || true)" \
		"$(grep -v '^filter protocol all pref [0-9]* bpf chain 0 *$' <<<"$before")" "filters and qdiscs of others with the shield"
	served
	expect handshakes.settled=60 inflight=0
	stop shield
	synhold detach --all >/run/e2e/out
	assert_eq "$(others)" "$before" "filters and qdiscs of others after the detach"
}

test_check_names_the_owner() {
	net_up
	in_srv "$TOOLS/foreign" s0 native
	wait_until 'ip -n "$SRV" link show s0 | grep -q prog/xdp' 5
	synhold check s0 >/run/e2e/out && fail "check says that nothing is in the way"
	assert_match "$(cat /run/e2e/out)" "XDP program: s0 carries another program: .*id [0-9]+, .*no process holds it" "check"
	ip -n "$SRV" link set dev s0 xdp off
	# and by name, when a process does: another instance's daemon
	SYNHOLD_INSTANCE=other daemon shield s0 --port "web=$PORT"
	synhold --instance mine check s0 >/run/e2e/out && fail "check says that nothing is in the way"
	assert_match "$(cat /run/e2e/out)" "XDP program: s0 carries another program: synhold.*held by synhold, pid ${PROCESS[shield]}" "check"
}

PARALLEL=3
run_tests "$@"
