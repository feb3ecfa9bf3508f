#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A later version takes over the pins of an earlier one: never unprotected, nothing lost, no number smaller. `next` is
# this tree with other types (next_abi.sed).
. "$(dirname "$0")/lib.sh"

NOW=$SYNHOLD
NEXT=$(dirname "$SYNHOLD")/next/synhold

# A service that is closed to all, under fire from the first moment to the last.
fire() {
	SERVER_PORT=8001 server shut
	clients web "clients=100000" rate=150 patience=900 "limit=$1"
	start shut cli "$TOOLS/storm" "$DST" 8001 do=dial first=30000 clients=10000 rate=300 patience=300 "limit=$1"
	start stream cli "$TOOLS/stream" "$DST" 8002 $(($1 / 1000))
	wait_until "grep -q streaming $LOGS/stream.log" 5
}

under_fire() { # FUNCTION that upgrades
	local before links
	server
	SERVER_PORT=8002 server echo
	shield --port shut=8001 --port long=8002 window=60
	synhold set shut rate=7 share=0% source-rate=3 hold-max=99 mode=enforce action=drop >/run/e2e/out
	synhold set web source-prefix4=29 >/run/e2e/out
	synhold deny add 192.0.2.0/24 --note "kept" >/run/e2e/out
	synhold prefer add 198.51.100.7 >/run/e2e/out 2>&1 || true
	fire 7000
	expect -q -s shut syn.dropped\>=100
	expect -q -s web handshakes.settled\>=100
	synhold save >/run/e2e/saved
	links=$(link_id)
	before=$(counters)
	"$1"
	not_backwards "$before"
	assert_eq "$(link_id)" "$links" "the link"
	assert_eq "$(synhold save | diff /run/e2e/saved - || true)" "" "what the upgrade changed of the policy"
	before=$(counters)
	finish stream 20
	expect_line "$(output stream)" wrong=0
	assert_eq "$(field received "$(output stream)")" "$(field sent "$(output stream)")" "bytes of the stream"
	finish shut 20
	expect_line "$(output shut)" connected=0
	finish web 20
	assert_ge "$(field served "$(output web)")" 500 "served ($(output web))"
	not_backwards "$before"
	expect -t 15 -s web inflight=0
	# each SYN was counted once, by the one program or the other
	expect -s shut "syn.seen>=$(field attempts "$(output shut)")" "syn.dropped>=$(field attempts "$(output shut)")"
	expect -s web "syn.seen>=$(field attempts "$(output web)")"
	# back: the earlier one leaves it alone, and says why
	SYNHOLD=$NEXT refused 1 "newer synhold .ABI 9, this is [0-9]*" in_srv "$NOW" attach s0 --port "other=9000"
	SYNHOLD=$NEXT refused 1 "newer synhold" in_srv "$NOW" set web window=5
	SYNHOLD=$NEXT refused 1 "newer synhold" in_srv "$NOW" status
}

link_id() {
	bpftool -j link show pinned "$(echo /sys/fs/bpf/synhold/default/link_*)" | jq .id
}

by_run() {
	stop shield
	SYNHOLD=$NEXT
	daemon shield
}

by_attach() {
	stop shield
	SYNHOLD=$NEXT
	synhold attach s0 >/run/e2e/out
}

test_run() {
	net_up
	under_fire by_run
}

test_attach_generic() {
	net_up
	SHIELD_ARGS="--mode generic" under_fire by_attach
}

# SYNs that were held go on with their next copy.
test_held() {
	local before
	net_up
	server delay_us=8000
	shield window=4
	clients herd clients=300 patience=8000 retry=200 limit=40000
	expect -q hold.entered\>=200
	stop shield
	before=$(counters)
	SYNHOLD=$NEXT
	daemon shield
	not_backwards "$before"
	finish herd 41
	expect_line "$(output herd)" served=300 corrupt=0
	expect -t 15 held=0 inflight=0
	not_backwards "$before"
}

# Handshakes in flight keep their slots, and end as expired.
test_in_flight() {
	net_up
	server
	synhold attach s0 --port "web=$PORT" window=50 >/run/e2e/out
	clients idle do=idle clients=30 linger=20000 patience=2000
	all_in idle
	expect -q inflight=30
	SYNHOLD=$NEXT
	synhold attach s0 >/run/e2e/out
	assert_eq "$(json '.services[0] | .inflight + .handshakes.expired')" 30 "in flight or expired"
	assert_eq "$(value handshakes.started)" 30 "started"
	expect_line "$(storm clients=20 first=1000)" served=20
	expect -t 15 inflight=0 handshakes.expired=30 handshakes.settled=20
	stop idle
}

# What cannot be upgraded stays as it is, in force.
test_refused() {
	net_up
	synhold attach s0 --port "web=$PORT" rate=5
	synhold set web rate=50 --confirm 60s >/run/e2e/out
	refused 1 "waits for confirmation" in_srv "$NEXT" attach s0
	synhold confirm >/run/e2e/out
	refused 2 "accepted" in_srv "$NEXT" attach s0 rate=fast
	refused 1 "no interface 's9'" in_srv "$NEXT" attach s9
	assert_match "$(synhold save)" "rate *= *50" "the policy"
	refused 1 "older synhold .ABI [0-9]*, this is 9" in_srv "$NEXT" status
	refused 1 "older synhold" in_srv "$NEXT" set web rate=7
	daemon shield
	refused 1 "daemon already, pid ${PROCESS[shield]}" in_srv "$NEXT" run
	refused 1 "an older synhold runs as its daemon, pid ${PROCESS[shield]}" in_srv "$NEXT" attach s0
	stop shield KILL
	SYNHOLD=$NEXT
	synhold attach s0 window=9 >/run/e2e/out
	expect rate=50 window=9
}

# An upgrade that was cut short leaves directories beside; interfaces that are gone stay so.
test_after_a_crash() {
	net_up
	net_second
	synhold attach s0 s1 --port "web=$PORT" rate=5
	ip -n "$SRV" link del s1
	mkdir /sys/fs/bpf/synhold/default+next
	mv /sys/fs/bpf/synhold/default /sys/fs/bpf/synhold/default+old
	SYNHOLD=$NEXT
	synhold attach s0 >/run/e2e/out
	assert_eq "$(instances)" "default" "directories"
	assert_eq "$(json '[.interfaces[] | "\(.name) \(.present)"] | sort | join(" ")')" "s0 true s1 false" "interfaces"
	expect rate=5
}

# What is not understood is not guessed: the older one stays in force.
test_map_missing() {
	net_up
	server
	synhold attach s0 --port "web=$PORT" action=drop share=0% >/run/e2e/out
	rm /sys/fs/bpf/synhold/default/lists
	SYNHOLD=$NEXT
	refused 1 "map lists is not there" in_srv "$NEXT" attach s0 --port "web=$PORT"
	expect_line "$(storm clients=5 patience=400)" connected=0
	synhold detach s0
}

# A newer one's pins go away like ours.
test_detach_newer() {
	net_up
	SYNHOLD=$NEXT synhold attach s0 --port "web=$PORT" rate=5 >/run/e2e/out
	refused 1 "not attached to 's9'" synhold detach s9
	synhold detach --all
	assert_eq "$(instances)" "" "instances"
	no_trace s0
}

PARALLEL=3
run_tests "$@"
