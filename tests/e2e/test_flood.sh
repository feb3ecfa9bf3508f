#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SYNs with false addresses: proof mode comes, lets clients with real stacks in, and leaves by itself. FLOOD_SYNS=1000000 is the full
# size.
. "$(dirname "$0")/lib.sh"

FLOOD_SYNS=${FLOOD_SYNS:-50000}
FLOOD_SECONDS=${FLOOD_SECONDS:-13}

# flood NAME key=value...: from nobody, in the background
flood() {
	local name=$1
	shift
	ip -n "$SRV" route replace 10.64.0.0/10 via 10.9.0.1
	ip -n "$SRV" -6 route replace fd64::/16 via fd09::1
	start "$name" cli "$TOOLS/flood" "$DST" "$PORT" dev=c0 mac="$(ip -n "$SRV" -j link show s0 | jq -r '.[0].address')" "$@"
}

in_proof() {
	[ "$(value 'flags | index("proof")')" != null ]
}

daemon_kb() {
	awk '/^VmRSS/ { print $2 }' "/proc/$(json .daemon.pid)/status"
}

# Entries of the map that holds what is known of tuples: false ones must not stay.
marks() {
	bpftool map dump pinned /sys/fs/bpf/synhold/default/marks | grep -c '"state"' || true
}

spoofed_flood() {
	local before
	server delay_us=500
	shield
	# calm first: what is measured is a daemon that has worked
	storm clients=50 patience=5000 >/run/e2e/out
	expect handshakes.settled=50 inflight=0
	before=$(daemon_kb)
	flood flood count="$FLOOD_SYNS" rate=$((FLOOD_SYNS / FLOOD_SECONDS))
	wait_until in_proof 15 "proof mode to come; $(summary "$(snapshot)")"
	clients real clients=200 patience=20000 rate=100
	finish real 30
	expect_line "$(output real)" served=200 corrupt=0 refused=0 timeout=0
	assert_le "$(field p99_ms "$(output real)")" 5000 "ms until 99 of 100 clients were served"
	in_proof || fail "proof mode left while the flood was going on"
	running flood || fail "the flood was over before the clients were"
	finish flood 60
	expect -t 15 inflight=0 held=0
	assert_ge "$(value syn.unproved)" $((FLOOD_SYNS / 3)) "SYNs that nobody proved"
	assert_ge "$(value syn.proved)" 200 "SYNs proved"
	assert_le "$(($(daemon_kb) - before))" 16384 "kB that the daemon has grown"
	wait_until '! in_proof' 25 "proof mode to leave"
	storm clients=50 patience=3000 >/run/e2e/storm
	expect_line "$(cat /run/e2e/storm)" served=50
	assert_le "$(field p99_ms "$(cat /run/e2e/storm)")" 900 "ms that a client waits in calm"
	assert_le "$(marks)" 2000 "marks left"
}
both spoofed_flood

# Its clients complete their handshakes and then wait for a server that does nothing: that is not what the mode is for.
test_stalled_server_is_no_flood() {
	net_up
	server mode=silent
	shield window=16
	clients waiting clients=300 do=ask patience=20000 linger=20000
	expect -q -t 20 handshakes.expired\>=64 held\>=1
	in_proof && fail "proof mode, because of a server that stalls"
	expect syn.unproved=0
	stop waiting
}

# Who is over his own limit is known by name, and those around him who are not are no offenders.
over_the_rate() {
	server
	shield source-rate=5 source-burst=5
	syn count=50 sources=1 >/run/e2e/out
	syn count=200 first=300 >/run/e2e/out
	expect syn.seen=250 over_limit.source_rate=45
	assert_eq "$(value 'offenders | length')" 1 "offenders"
	assert_eq "$(value 'offenders[0].refused')" 45 "refusals"
	assert_le "$(value 'offenders[0].last_seconds | floor')" 30 "seconds since the last one"
	assert_match "$(synhold status web)" "offenders: $(value 'offenders[0].source') +refused 45, last" "status"
}

test_offenders_by_rate() {
	net_up
	over_the_rate
	assert_eq "$(value 'offenders[0].source')" "$HOST_A" "the offender"
}

test_offenders_by_rate_ipv6() {
	net_up
	family 6
	over_the_rate
	assert_eq "$(value 'offenders[0].source')" "${HOST_A%1}/64" "the offender"
}

test_offenders_by_places_in_the_queue() {
	net_up
	server
	shield hold-source-max=3
	synhold close web >/run/e2e/out
	syn count=50 sources=1 >/run/e2e/out
	syn count=20 first=300 >/run/e2e/out
	expect -q syn.held=70 hold.discarded.source_cap=47
	assert_eq "$(value 'offenders | map([.source, .refused]) | tojson')" "[[\"$HOST_A\",47]]" "offenders"
}

run_tests "$@"
