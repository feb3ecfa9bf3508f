#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each verdict and each reason, with exact counts. Clients give up before their first retransmission, so that one try is one SYN.
. "$(dirname "$0")/lib.sh"

ONCE=(patience=800) # below the second after which a SYN is sent again

# Ten clients, of which the limit lets some in.
deny() {
	server
	shield
	synhold deny add "$NET_A"
	expect_line "$(storm clients=10 "${ONCE[@]}")" served=0 timeout=10
	expect syn.seen=10 syn.dropped=10 syn.admitted=0 over_limit.deny=10 handshakes.started=0
	expect_line "$(storm clients=5 first=250 "${ONCE[@]}")" served=5 timeout=0
	expect syn.seen=15 syn.dropped=10 syn.admitted=5 over_limit.deny=10 handshakes.settled=5
	synhold deny del "$NET_A"
	expect_line "$(storm clients=3 port=11000 "${ONCE[@]}")" served=3
	expect syn.seen=18 syn.admitted=8 over_limit.deny=10
}
both deny

deny_for_a_time() {
	server
	shield
	synhold deny add "$NET_A" --for 1s
	expect_line "$(storm clients=2 patience=300)" served=0 timeout=2
	wait_until 'storm first=10 patience=200 | grep -q served=1' 5 "the deny entry to end"
	expect over_limit.deny\>=2
}
both deny_for_a_time

closed() {
	server
	shield action=drop
	synhold close web
	expect state=closed
	expect_line "$(storm clients=10 "${ONCE[@]}")" served=0 timeout=10
	expect syn.seen=10 syn.dropped=10 over_limit.closed=10 handshakes.started=0
	synhold open web
	expect_line "$(storm clients=10 port=11000 "${ONCE[@]}")" served=10
	expect syn.seen=20 syn.dropped=10 syn.admitted=10 over_limit.closed=10 handshakes.settled=10
}
both closed

# A client whose SYN is dropped sends it again and again: it asks for one connection, also when it gets it at last.
offered() {
	server
	shield action=drop
	synhold close web
	clients waiting clients=10 patience=15000
	expect -q syn.seen\>=20 syn.offered=10
	synhold open web
	finish waiting 20
	expect_line "$(output waiting)" served=10
	expect syn.offered=10 syn.admitted=10 handshakes.settled=10
	assert_eq "$(synhold metrics | sed -n 's/^synhold_offered_connections_total{.*} //p')" 10 "connections offered"
}
both offered

# The same clients stay in, or out, at each try.
share() {
	local first second
	server
	shield action=drop window=none share=0%
	expect_line "$(storm clients=10 "${ONCE[@]}")" served=0 timeout=10
	expect syn.seen=10 syn.dropped=10 over_limit.share=10
	synhold set web share=40%
	first=$(storm clients=500 port=11000 "${ONCE[@]}")
	assert_ge "$(field served "$first")" 130 "of 500 clients let in at 40 %"
	assert_le "$(field served "$first")" 270 "of 500 clients let in at 40 %"
	second=$(storm clients=500 port=12000 "${ONCE[@]}")
	assert_eq "$(field served "$second")" "$(field served "$first")" "clients let in at the second try"
	expect syn.seen=1010 over_limit.share=$((10 + 2 * $(field timeout "$first"))) \
		handshakes.settled=$((2 * $(field served "$first")))
	synhold set web share=100%
	expect_line "$(storm clients=500 port=13000 "${ONCE[@]}")" served=500
}
both share

source_rate() {
	server
	shield action=drop source-rate=1 source-burst=3
	expect_line "$(storm clients=10 sources=1 "${ONCE[@]}")" served=3 timeout=7
	expect syn.seen=10 syn.admitted=3 syn.dropped=7 over_limit.source_rate=7 handshakes.settled=3
	expect_line "$(storm clients=10 first=100 "${ONCE[@]}")" served=10
	expect syn.seen=20 syn.admitted=13 syn.dropped=7 over_limit.source_rate=7
}
both source_rate

# An IPv6 source is a /64 unless told otherwise; IPv4 ones can be put together as well.
test_source_prefix() {
	net_up
	server
	shield action=drop source-rate=1 source-burst=3 source-prefix4=24 source-prefix6=48
	expect_line "$(storm clients=10 "${ONCE[@]}")" served=3 timeout=7
	family 6
	expect_line "$(storm clients=10 "${ONCE[@]}")" served=3 timeout=7
	expect syn.seen=20 syn.admitted=6 over_limit.source_rate=14
}

service_rate() {
	server
	shield action=drop rate=1 burst=5
	expect_line "$(storm clients=12 "${ONCE[@]}")" served=5 timeout=7
	expect syn.seen=12 syn.admitted=5 syn.dropped=7 over_limit.service_rate=7 handshakes.settled=5
}
both service_rate

# Spans services, and what it refuses is not charged to the service either.
global_rate() {
	server
	SERVER_PORT=8100 server other
	daemon shield s0 --port "web=$PORT" --port other=8100 action=drop global-rate=1 global-burst=6
	expect_line "$(storm clients=4 "${ONCE[@]}")" served=4
	expect_line "$(in_cli "$TOOLS/storm" "$DST" 8100 first=100 clients=6 "${ONCE[@]}")" served=2 timeout=4
	expect -s web syn.seen=4 syn.admitted=4
	expect -s other syn.seen=6 syn.admitted=2 syn.dropped=4 over_limit.global_rate=4 over_limit.service_rate=0
	assert_eq "$(json .limits.global_rate)" 1 limits.global_rate
}
both global_rate

window() {
	server mode=silent
	shield action=drop window=4
	clients load do=ask clients=10 patience=600 linger=600
	expect syn.seen=10 syn.admitted=4 syn.dropped=6 over_limit.window=6 handshakes.started=4 window=4
	finish load 5
	expect syn.seen=10 inflight=0 handshakes.abandoned=4
}
both window

hold_full() {
	server mode=silent
	shield hold-max=4 hold-source-max=4
	synhold close web
	clients first clients=4 patience=20000
	expect held=4 hold.entered=4
	expect_line "$(storm clients=5 first=10 "${ONCE[@]}")" timeout=5
	expect held=4 hold.entered=4 syn.admitted=0 syn.dropped=5 over_limit.hold_full=5
}
both hold_full

# A held SYN is held for a reason, too.
held_by_rate() {
	server
	shield rate=5 burst=2
	clients load clients=6 patience=5000
	expect -q hold.entered=4 syn.admitted=2 over_limit.service_rate\>=4
	finish load 6
	expect_line "$(output load)" served=6 corrupt=0
	expect hold.released=4 held=0 handshakes.settled=6
}
both held_by_rate

# Nothing is held without a daemon: fallback replaces the limit's reason.
fallback() {
	server mode=silent
	shield window=3
	stop shield KILL
	wait_until '[ "$(json .daemon.alive)" = false ]' 3
	clients load do=ask clients=8 patience=600 linger=600
	expect syn.seen=8 syn.admitted=3 syn.held=0 syn.dropped=5 over_limit.fallback=5 over_limit.window=0 state=static
}
both fallback

fallback_open() {
	server mode=silent
	shield window=3 fallback=open
	stop shield KILL
	wait_until '[ "$(json .daemon.alive)" = false ]' 3
	clients load do=ask clients=8 patience=600 linger=600
	expect syn.seen=8 syn.admitted=8 syn.dropped=0 over_limit.fallback=0
}
both fallback_open

# What has data or odd flags is not worth waiting for; it is dropped under the limit's own reason.
test_syn_with_data_is_not_held() {
	net_up
	server mode=silent
	shield
	synhold close web
	syn count=3 data=100
	expect syn.seen=3 syn.held=0 syn.dropped=3 over_limit.closed=3 hold.entered=0
	syn count=2 first=20
	expect syn.seen=5 syn.held=2 hold.entered=2
}

monitor() {
	local served
	server
	shield mode=monitor rate=1 burst=5
	expect state=monitor
	expect_line "$(storm clients=12 "${ONCE[@]}")" served=12
	expect syn.seen=12 syn.admitted=12 would_limit.service_rate=7 over_limit.service_rate=0 handshakes.settled=12
	synhold set web mode=enforce action=drop
	served=$(field served "$(storm clients=8 first=100 "${ONCE[@]}")") # one for each second that has gone by
	assert_le "$served" 5 "clients served by what was left of the rate"
	expect syn.seen=20 syn.admitted=$((12 + served)) would_limit.service_rate=7 over_limit.service_rate=$((8 - served))
}
both monitor

bypass() {
	server
	shield action=drop rate=1 burst=1
	synhold deny add "$NET_A"
	synhold bypass on
	assert_eq "$(json '.services[0].flags | index("bypass") != null')" true "the flag"
	expect_line "$(storm clients=12 "${ONCE[@]}")" served=12
	expect syn.seen=12 syn.admitted=12 syn.bypassed=12 over_limit.deny=0 handshakes.started=0
	synhold bypass off
	assert_eq "$(json '.services[0].flags | index("bypass")')" null "the flag afterwards"
	expect_line "$(storm clients=3 first=20 "${ONCE[@]}")" served=0
	expect syn.seen=15 syn.admitted=12 over_limit.deny=3
}
both bypass

test_bypass_for_a_time() {
	net_up
	server
	shield action=drop
	synhold close web
	synhold bypass on --for 1s
	expect_line "$(storm clients=5 patience=300)" served=5
	wait_until '[ "$(json ".services[0].flags | index(\"bypass\")")" = null ]' 3 "bypass to end"
	expect_line "$(storm clients=5 first=10 "${ONCE[@]}")" served=0
	expect syn.seen=10 syn.bypassed=5 over_limit.closed=5
}

# Past every limit, up to its own rate; above it, like anybody else. Deny beats it.
allow_lane() {
	server
	shield action=drop
	synhold close web
	synhold allow add "$HOST_A" --rate 1 --note "health checks"
	expect_line "$(storm clients=6 sources=1 "${ONCE[@]}")" served=2 timeout=4
	expect syn.seen=6 syn.admitted=2 syn.allowed=2 over_limit.closed=4 handshakes.started=0
	expect_line "$(storm clients=3 first=1 "${ONCE[@]}")" served=0
	expect syn.seen=9 syn.admitted=2 over_limit.closed=7
	assert_match "$(synhold allow)" "$HOST_A.*health checks" "the list"
	synhold allow del "$HOST_A"
	synhold allow add "$NET_A" --rate 100
	synhold deny add "$HOST_A"
	expect_line "$(storm clients=2 sources=1 port=12000 "${ONCE[@]}")" served=0
	expect over_limit.deny=2
	expect_line "$(storm clients=20 first=1 port=12000 "${ONCE[@]}")" served=20
}
both allow_lane

# Only SYNs to protected ports are anybody's business.
test_other_ports_pass() {
	net_up
	server
	SERVER_PORT=9000 server other
	shield action=drop
	synhold close web
	synhold deny add "$NET_A"
	expect_line "$(in_cli "$TOOLS/storm" "$DST" 9000 clients=20)" served=20
	expect syn.seen=0
}

# Services of one port on different addresses: the longest prefix wins.
test_addresses_of_a_port() {
	net_up
	ip -n "$SRV" addr add 10.9.0.3/24 dev s0
	server
	daemon shield s0 --port "any=$PORT" --port "one=10.9.0.3:$PORT" --port "net=10.9.0.0/30:$PORT" action=drop
	synhold close one
	expect_line "$(in_cli "$TOOLS/storm" 10.9.0.3 "$PORT" clients=4 "${ONCE[@]}")" served=0
	expect_line "$(in_cli "$TOOLS/storm" 10.9.0.2 "$PORT" clients=5 "${ONCE[@]}")" served=5
	expect_line "$(in_cli "$TOOLS/storm" fd09::2 "$PORT" clients=6 "${ONCE[@]}")" served=6
	expect -s one syn.seen=4 over_limit.closed=4
	expect -s net syn.seen=5 syn.admitted=5
	expect -s any syn.seen=6 syn.admitted=6
}

# As many services as there can be, of every kind: each SYN is counted by its own, and those beside them by none.
test_256_services() {
	local i port dst
	net_up
	{
		for ((i = 0; i < 256; i++)); do
			printf '[service s%d]\nwindow = none\naction = drop\nclosed = yes\nport = ' "$i"
			case $((i % 4)) in
			0) echo $((20000 + i)) ;;
			1) echo "$((30000 + 10 * i))-$((30005 + 10 * i)),$((40000 + i))" ;;
			2) echo "10.9.0.0/30:$((20000 + i))" ;;
			3) echo "[fd09::2]:$((20000 + i))" ;;
			esac
		done
	} >/run/e2e/many.conf
	synhold attach s0 -c /run/e2e/many.conf >/run/e2e/out
	assert_eq "$(json '.services | length')" 256 services
	for ((i = 0; i < 256; i++)); do
		port=$((20000 + i)) dst=10.9.0.2
		[ $((i % 4)) != 1 ] || port=$((i % 8 == 1 ? 30005 + 10 * i : 40000 + i))
		[ $((i % 8)) != 3 ] || dst=fd09::2
		[ $((i % 8)) != 4 ] || dst=fd09::2 # on any address
		echo "'$TOOLS/syn' $dst $port count=1"
	done >/run/e2e/syns
	for port in 19999 20256 30006 30016 39999; do
		echo "'$TOOLS/syn' 10.9.0.2 $port count=1 && '$TOOLS/syn' fd09::2 $port count=1"
	done >>/run/e2e/syns
	echo "'$TOOLS/syn' fd09::2 20002 count=1" >>/run/e2e/syns # on the other family only
	in_cli sh -e /run/e2e/syns >/run/e2e/out
	# those of kind 3 that were sent to the IPv4 address are nobody's
	expect -s s0 syn.seen=1 syn.dropped=1
	assert_eq "$(json '[.services[] | select(.syn.seen == 1 and .over_limit.closed == 1)] | length')" 224 "services with their SYN"
	assert_eq "$(json '[.services[] | select(.syn.seen == 0) | .name[1:] | tonumber % 8] | unique | tojson')" "[7]" "services without"
}

reject() {
	server
	shield action=reject rate=1 burst=2
	assert_eq "$(json '.interfaces[0].mode')" "${1:-native}" "mode"
	expect_line "$(storm clients=10 "${ONCE[@]}")" served=2 refused=8 timeout=0
	expect syn.seen=10 syn.admitted=2 syn.rejected=8 over_limit.service_rate=8 handshakes.settled=2
	synhold close web
	expect_line "$(storm clients=5 first=50 "${ONCE[@]}")" refused=5
	expect syn.seen=15 syn.rejected=13 over_limit.closed=5
}
both reject

reject_generic() {
	SHIELD_ARGS="--mode generic" reject generic
}
both reject_generic

# Frames of a large MTU take the kernel another way.
reject_jumbo() { # MODE
	net_up
	ip -n "$CLI" link set c0 mtu 9000
	ip -n "$SRV" link set s0 mtu 9000
	SHIELD_ARGS="--mode $1" reject "$1"
}

test_reject_jumbo_native() {
	reject_jumbo native
}

test_reject_jumbo_generic() {
	reject_jumbo generic
}

# Every reason has its key even when it is zero, and all that the contract names is there.
test_status_keys() {
	net_up
	shield
	json '[.version, .instance, .daemon.alive, .daemon.pid, .daemon.heartbeat_age_seconds,
		.interfaces[0].name, .interfaces[0].index, .interfaces[0].mode] | all(. != null)' | grep -qx true ||
		fail "the status lacks a key: $(snapshot)"
	assert_eq "$(json '.services[0].over_limit | keys | join(" ")')" \
		"closed deny fallback global_rate hold_full service_rate share source_rate window" over_limit
	assert_eq "$(json '.services[0].would_limit | keys | join(" ")')" \
		"closed deny fallback global_rate hold_full service_rate share source_rate window" would_limit
	assert_eq "$(json '.services[0].hold.discarded | keys | join(" ")')" \
		"daemon_lost detached evicted gone hold_time inject_failed reset source_cap" hold.discarded
	assert_eq "$(json '.services[0] as $s | ["name", "ports", "mode", "action", "state", "flags", "window", "inflight", "held",
		"share_percent", "rate", "source_rate", "syn", "hold", "handshakes", "first_byte_seconds", "accept_queue"][]
		| select(. as $key | $s | has($key) | not)')" "" "missing keys"
	assert_eq "$(json '.services[0].ports | tojson')" "[[$PORT,$PORT]]" ports
	assert_eq "$(json '.daemon.pid')" "${PROCESS[shield]}" "pid"
}

test_status_unattached() {
	net_up
	assert_eq "$(json '[.interfaces, .services] | tojson')" "[[],[]]" "the empty status"
}

PARALLEL=3
run_tests "$@"
