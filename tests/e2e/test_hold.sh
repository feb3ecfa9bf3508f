#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hold, release, and the ways in which a slot of the window comes free.
. "$(dirname "$0")/lib.sh"

# Ten times what the window lets in: everybody is served in the end, and what they send comes back unharmed.
hold_and_release() {
	server delay_us=3000
	shield window=2
	clients herd clients=40 patience=10000
	finish herd 15
	expect_line "$(output herd)" served=40 corrupt=0 timeout=0 refused=0
	expect handshakes.started=40 handshakes.settled=40 inflight=0 held=0 syn.dropped=0 syn.rejected=0 \
		hold.entered\>=20 over_limit.window\>=20
	assert_eq "$(value hold.released)" "$(value hold.entered)" "released, of those that entered"
}
both hold_and_release

generic() {
	SHIELD_ARGS="--mode generic" hold_and_release
	assert_eq "$(json '.interfaces[0].mode')" generic mode
	# a re-injected SYN meets the program again, and is not counted again
	assert_eq "$(value syn.offered)" 40 "SYNs offered"
}
both generic

# Both ends of the wire speak VLAN only, with so many tags in each frame; a SYN that came back without them would go nowhere.
vlan_up() { # TAGS
	net_up
	in_cli ethtool -K c0 txvlan off >/run/e2e/out
	in_srv ethtool -K s0 txvlan off >/run/e2e/out
	if [ "$1" = 2 ]; then
		in_cli ethtool -K c0 tx-vlan-stag-hw-insert off >/run/e2e/out
		in_srv ethtool -K s0 tx-vlan-stag-hw-insert off >/run/e2e/out
	fi
	in_cli "$TOOLS/foreign" c0 tag "$1"
	in_srv "$TOOLS/foreign" s0 tag "$1"
	KEEPS_CLSACT=1
}

test_vlan_ipv4() {
	vlan_up 1
	hold_and_release
}

test_vlan_ipv6() {
	vlan_up 1
	family 6
	hold_and_release
}

test_vlan_generic() {
	vlan_up 1
	SHIELD_ARGS="--mode generic" hold_and_release
}

test_vlan_in_vlan() {
	vlan_up 2
	hold_and_release
}

test_vlan_reject() {
	vlan_up 1
	server
	shield action=reject rate=1 burst=2
	expect_line "$(storm clients=10 patience=800)" served=2 refused=8
	expect syn.seen=10 syn.admitted=2 syn.rejected=8 over_limit.service_rate=8
}

# A card that takes the tag off where XDP does not see it: it would be lost on re-injection.
test_vlan_stripped_is_refused() {
	net_up
	ip -n "$SRV" link add link s0 name s0.5 type vlan id 5 2>/run/e2e/err || skip "this kernel has no VLAN devices"
	refused 1 "ethtool -K .*vlan off" synhold attach s0 --port "web=$PORT" window=5
	synhold attach s0 --port "web=$PORT" window=5 action=drop
	server mode=silent
	expect_line "$(storm do=ask clients=8 patience=500 linger=500)" connected=5
}

syn_acks_lost() { # on|off
	if [ "$1" = on ]; then
		in_cli nft add table inet e2e
		in_cli nft add chain inet e2e in '{ type filter hook prerouting priority -300; }'
		in_cli nft add rule inet e2e in 'tcp flags & (syn | ack) == (syn | ack) drop'
	else
		in_cli nft delete table inet e2e
	fi
}

copies() {
	server mode=silent
	shield window=4
	syn_acks_lost on
	syn count=1 repeat=4 gap_ms=100
	expect syn.seen=4 syn.admitted=4 syn.retransmits=3 syn.offered=1 handshakes.started=1
	expect -t 4 handshakes.expired=1 inflight=0
}
both copies

copies_generic() {
	SHIELD_ARGS="--mode generic" copies
}
both copies_generic

# A client that sends its SYN again because the answer was lost takes no second slot. Slots must outlive its second of patience for that,
# as they do where the server takes its time.
test_retransmission_of_an_admitted_syn() {
	local started
	net_up
	server delay_us=60000
	shield window=none
	expect_line "$(storm clients=30)" served=30
	wait_until 'number_holds "$(synhold explain web --json | jq .slot_life_seconds)" ">=" 2.5' 5 "slots to live long"
	syn_acks_lost on
	clients late first=100 patience=8000
	expect -q -t 4 syn.retransmits=1 handshakes.started=31 inflight=1
	syn_acks_lost off
	finish late 8
	expect_line "$(output late)" served=1
	expect handshakes.started=31 handshakes.settled=31 handshakes.expired=0 inflight=0
}

# The slot of a client that has left is the next one's at once, not when it would have expired.
leaving() { # what the first client does
	server
	shield window=1
	clients first do=idle linger=700 "$@"
	all_in first
	expect_line "$(storm clients=1 first=10)" served=1
	expect hold.entered=1 hold.released=1 handshakes.abandoned=1 handshakes.settled=1 handshakes.expired=0
}

fin_frees_the_slot() {
	leaving end=close
}
both fin_frees_the_slot

rst_frees_the_slot() {
	leaving end=reset
}
both rst_frees_the_slot

rst_frees_the_slot_generic() {
	SHIELD_ARGS="--mode generic" leaving end=reset
}
both rst_frees_the_slot_generic

# One after the other, far more often than slots could expire in that time.
test_many_that_leave() {
	net_up
	server mode=silent
	shield window=2
	expect_line "$(storm do=reset clients=300 parallel=2)" served=300
	expect_line "$(storm do=fin clients=300 first=1000 parallel=2)" served=300
	expect handshakes.started=600 handshakes.abandoned=600 handshakes.expired=0 inflight=0
}

# SYNs without a client behind them: some are found out by waiting, the others by the RST that answers them.
test_nobody_behind_the_syn() {
	net_up
	server
	shield window=1
	synhold close web
	syn count=30
	expect -q syn.held=30 hold.entered=30
	synhold open web
	expect -t 10 held=0 inflight=0 handshakes.settled=0
	assert_eq "$(json '.services[0] | .hold.released + .hold.discarded.gone')" 30 "released and gone"
	assert_eq "$(json '.services[0] | .handshakes.abandoned + .handshakes.expired - .hold.released')" 0 "ended, less what was released"
	expect_line "$(storm clients=10 first=5000)" served=10
}

# The client resets a connection that it does not have yet.
test_reset_while_held() {
	net_up
	server mode=silent
	shield
	synhold close web
	syn count=5 first=100
	expect -q hold.entered=5
	syn count=3 first=100 flags=04
	expect -q held=2 hold.discarded.reset=3
	expect hold.discarded.reset=3 hold.discarded.gone=2 held=0
}

closed_then_open() {
	server
	shield
	synhold close web
	clients herd clients=10 patience=8000
	expect held=10 syn.held=10 over_limit.closed=10 state=closed
	synhold open web
	finish herd 8
	expect_line "$(output herd)" served=10
	expect held=0 hold.released=10 handshakes.settled=10
}
both closed_then_open

test_share_raised() {
	net_up
	server
	shield share=0%
	clients herd clients=10 patience=8000
	expect held=10 over_limit.share=10
	synhold set web share=100%
	finish herd 8
	expect_line "$(output herd)" served=10
	expect held=0 hold.released=10
}

# What waits for its own source's rate is in nobody's way.
test_source_rate_waits_apart() {
	net_up
	server
	shield source-rate=1 source-burst=2
	clients greedy clients=6 sources=1 patience=2500
	expect held=4 over_limit.source_rate=4
	expect_line "$(storm clients=20 first=100 patience=900)" served=20
	finish greedy 5
	assert_ge "$(field served "$(output greedy)")" 3 "served of the greedy source"
}

test_hold_time() {
	net_up
	server mode=silent
	shield hold-time=300ms
	synhold close web
	clients herd clients=3 patience=900
	expect hold.entered=3 hold.discarded.hold_time=3 held=0
}

test_source_cap() {
	net_up
	server mode=silent
	shield hold-source-max=2
	synhold close web
	clients herd clients=5 sources=1 patience=900
	expect -q hold.entered=5 held=2 hold.discarded.source_cap=3
}

# What a capture on the card cannot show.
test_status_held() {
	net_up
	server mode=silent
	shield
	synhold close web
	clients herd first=10 clients=3 patience=20000
	expect held=3
	assert_eq "$(synhold status web --held --json | jq '[.sources[] | select(.count == 1 and .oldest_seconds >= 0)] | length')" 3 "sources"
	assert_match "$(synhold status web --held)" "10\.10\.1\.11" "the table"
}

PARALLEL=3
run_tests "$@"
