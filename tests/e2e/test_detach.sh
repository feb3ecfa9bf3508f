#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Detach leaves nothing behind, whatever state things are in, and touches nothing that is not ours.
. "$(dirname "$0")/lib.sh"

nothing_left() {
	assert_eq "$(find /sys/fs/bpf -name 'synhold*')" "" "pins"
	assert_eq "$(find /run/synhold -mindepth 1 2>/dev/null || true)" "" "run files"
	no_trace s0
	[ -n "$PROGRAMS" ] || fail "no program was seen before the detach"
	wait_until programs_gone 5 "the programs to go ($PROGRAMS)" # what nobody refers to is freed a moment later
}

# SYNs that wait are given up, and say so; then everything passes again.
test_running() {
	net_up
	server
	shield
	synhold close web
	clients herd clients=10 patience=20000
	expect held=10
	synhold detach s0
	finish shield 5
	assert_eq "$STATUS" 0 "exit status of the daemon"
	nothing_left
	finish herd 8
	expect_line "$(output herd)" served=10
}

test_generic() {
	net_up
	SHIELD_ARGS="--mode generic" shield
	synhold detach --all
	finish shield 5
	nothing_left
}

test_daemon_dead() {
	net_up
	shield window=4
	stop shield KILL
	synhold detach s0
	nothing_left
}

test_daemon_stopped() {
	net_up
	shield window=4
	kill -STOP "${PROCESS[shield]}"
	synhold detach s0
	assert_eq "$(find /sys/fs/bpf -name 'synhold*')" "" "pins"
	no_trace s0
	kill -CONT "${PROCESS[shield]}"
	finish shield 5
	nothing_left
}

test_without_daemon() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	synhold detach s0
	nothing_left
}

half() { # pins to remove
	synhold attach s0 --port "web=$PORT" window=4
	(cd /sys/fs/bpf/synhold/default && rm -- "$@")
	synhold detach --all
	nothing_left
}

test_policy_pin_gone() {
	net_up
	half policy gates
}

test_control_pin_gone() {
	net_up
	half control
}

test_interfaces_pin_gone() {
	net_up
	half interfaces
}

# The link goes with its pin, the filters do not.
test_link_pin_gone() {
	net_up
	half "link_$(ip -n "$SRV" -j link show s0 | jq '.[0].ifindex')"
}

test_link_pin_gone_by_name() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	rm /sys/fs/bpf/synhold/default/link_*
	synhold detach s0
	nothing_left
}

# Without a daemon nobody noticed.
test_moved_elsewhere() {
	local other=$E2E_NAME-o
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	ip netns add "$other"
	ip -n "$SRV" link set s0 netns "$other"
	synhold detach s0
	nothing_left
	[[ $(ip -n "$other" link show s0) != *prog/xdp* ]] || fail "the program is still on s0, elsewhere"
}

test_all_maps_gone() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	find /sys/fs/bpf/synhold/default -type f ! -name 'link_*' -delete
	synhold detach --all
	nothing_left
}

test_interface_gone() {
	net_up
	shield window=4
	ip -n "$SRV" link del s0
	expect -q window=4
	synhold detach --all
	finish shield 5
	assert_eq "$(instances)" "" "instances"
}

test_interface_gone_by_name() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	ip -n "$SRV" link del s0
	synhold detach s0
	assert_eq "$(instances)" "" "instances"
}

# The name may be another interface's by now: that one must not be touched.
test_interface_replaced() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	ip -n "$SRV" link del s0
	ip -n "$SRV" link add s0 type veth peer name c0 netns "$CLI"
	in_srv "$TOOLS/foreign" s0 native
	in_srv "$TOOLS/foreign" s0 filter
	synhold detach --all
	assert_eq "$(instances)" "" "instances"
	assert_match "$(ip -n "$SRV" link show s0)" "prog/xdp.*someone_else" "the other program"
	assert_match "$(in_srv tc filter show dev s0 ingress)" "someone_else" "the other filter"
	ip -n "$SRV" link set dev s0 xdp off
	KEEPS_CLSACT=1
}

test_renamed() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	ip -n "$SRV" link set s0 name front0
	assert_eq "$(json '.interfaces[0].name')" front0 "the name in the status"
	synhold detach front0
	assert_eq "$(instances)" "" "instances"
	no_trace front0
}

test_foreign_clsact_from_before() {
	net_up
	in_srv "$TOOLS/foreign" s0 filter
	server
	shield window=4
	expect_line "$(storm clients=10)" served=10
	expect handshakes.settled=10
	synhold detach s0
	assert_match "$(in_srv tc filter show dev s0 ingress)" "someone_else" "the ingress filter"
	assert_match "$(in_srv tc filter show dev s0 egress)" "someone_else" "the egress filter"
	KEEPS_CLSACT=1
	nothing_left
}

test_foreign_filter_from_after() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	in_srv "$TOOLS/foreign" s0 filter
	synhold detach s0
	assert_match "$(in_srv tc filter show dev s0 egress)" "someone_else" "the egress filter"
	KEEPS_CLSACT=1
	nothing_left
}

test_empty_clsact_from_before() {
	net_up
	in_srv tc qdisc add dev s0 clsact
	synhold attach s0 --port "web=$PORT" window=4
	synhold detach s0
	assert_match "$(in_srv tc qdisc show dev s0)" "clsact" "the qdisc that was there"
	KEEPS_CLSACT=1
	nothing_left
}

test_foreign_qdisc() {
	net_up
	in_srv tc qdisc add dev s0 root pfifo limit 77
	shield window=4
	synhold detach s0
	assert_match "$(in_srv tc qdisc show dev s0)" "limit 77p" "the root qdisc"
	nothing_left
}

test_one_of_two() {
	net_up
	net_second
	server
	daemon shield s0 s1 --port "web=$PORT" action=drop rate=1 burst=3
	assert_eq "$(json '[.interfaces[].name] | sort | join(" ")')" "s0 s1" "interfaces"
	synhold detach s0
	no_trace s0
	assert_eq "$(json '[.interfaces[].name] | join(" ")')" "s1" "interfaces"
	running shield || fail "the daemon ended with the first interface"
	expect_line "$(storm clients=10)" served=10
	DST=10.8.0.2
	expect_line "$(storm clients=10 patience=800)" served=3 timeout=7
	expect syn.seen=10 syn.admitted=3
	synhold detach s1
	finish shield 5
	no_trace s1
	nothing_left
}

test_not_attached() {
	net_up
	synhold detach --all
	refused 1 "not attached" synhold detach s0
	synhold attach s0 --port "web=$PORT" window=4
	refused 1 "not attached to 'c9'" synhold detach c9
	refused 2 "no interface" synhold detach
	synhold detach s0
	nothing_left
}

# The names are checked before the first of them is detached.
test_one_name_of_two_is_wrong() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	refused 1 "not attached to 's7'" synhold detach s0 s7
	synhold detach s0
}

test_again_and_again() {
	local round
	net_up
	for round in 1 2 3 4 5; do
		synhold attach s0 --port "web=$PORT" "window=$round"
		expect -q "window=$round"
		synhold detach s0
	done
	nothing_left
}

PARALLEL=3
run_tests "$@"
