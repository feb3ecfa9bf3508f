#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The incident commander's levers other than ramp: prefer, flush, signal, hold-down; and what explain and suggest say.
. "$(dirname "$0")/lib.sh"

# ---------------------------------------------------------------------------------------------------- prefer

preferred() {
	local rest
	server delay_us=20000
	shield window=1
	synhold prefer add "$NET_A" 8 >/run/e2e/out
	clients others first=10000 clients=100 patience=20000
	wait_until 'number_holds "$(value syn.offered)" "==" 100' 5
	clients friends clients=100 patience=20000
	finish friends 15
	rest=$(($(value handshakes.settled) - 100))
	finish others 15
	expect_line "$(output friends)" served=100 timeout=0 refused=0
	expect_line "$(output others)" served=100 timeout=0 refused=0
	# eight of them for each of the others: which came first, but go on being served
	assert_ge "$rest" 5 "others served before the last of the preferred ones"
	assert_le "$rest" 40 "others served before the last of the preferred ones"
	assert_le "$(field p50_ms "$(output friends)")" "$(($(field p50_ms "$(output others)") * 3 / 4))" "the median wait of the preferred"
}
both preferred

test_prefer_list() {
	net_up
	synhold attach s0 --port "web=$PORT"
	assert_eq "$(synhold prefer)" "" "an empty list"
	assert_eq "$(synhold prefer --json)" "[]" "an empty list"
	assert_match "$(synhold prefer add 10.10.0.0/16 4)" "10.10.0.0/16 .*weight 4"
	synhold prefer add fd00::/16 128 >/run/e2e/out
	synhold prefer add 10.10.0.0/16 32 >/run/e2e/out
	assert_match "$(synhold prefer)" "PREFIX.*WEIGHT.*10.10.0.0/16 +32 .*command"
	assert_eq "$(synhold prefer --json | jq -c '[.[] | [.cidr, .weight]] | sort')" '[["10.10.0.0/16",32],["fd00::/16",128]]' "the list"
	refused 2 "weight '1' is not accepted.*from 2 to 128" synhold prefer add 10.0.0.0/8 1
	refused 2 "weight '129' is not accepted" synhold prefer add 10.0.0.0/8 129
	refused 2 "weight 'x' is not accepted" synhold prefer add 10.0.0.0/8 x
	refused 2 "bits set beyond its prefix" synhold prefer add 10.0.0.1/8 4
	refused 2 "takes a prefix and a weight" synhold prefer add 10.0.0.0/8
	refused 2 "neither add nor del" synhold prefer load /run/e2e/out
	refused 1 "10.0.0.0/8 is not in the prefer list" synhold prefer del 10.0.0.0/8
	synhold save >/run/e2e/conf
	synhold prefer del 10.10.0.0/16 >/run/e2e/out
	synhold reload -c /run/e2e/conf >/run/e2e/out
	assert_eq "$(synhold prefer --json | jq -c '[.[] | [.cidr, .weight, .from_file]] | sort')" \
		'[["10.10.0.0/16",32,true],["fd00::/16",128,true]]' "the list, saved and read again"
	synhold prefer del 10.10.0.0/16 >/run/e2e/out
	synhold prefer del fd00::/16 >/run/e2e/out
	assert_eq "$(synhold prefer --json)" "[]" "the list, emptied"
}

# ---------------------------------------------------------------------------------------------------- flush

sockets() { # STATE
	in_srv ss -tnH state "$1" sport = ":$PORT" | wc -l
}

# Of all that can be seen on the port, only what waits to be accepted goes.
flush_the_queue() {
	start server srv "$TOOLS/hall" :: "$PORT" accept=7 close=1
	wait_until "grep -q ready $LOGS/server.log" 5
	shield window=none
	# closed by the server, but not by its client: an orphan of the server's, without an inode
	start half cli bash -c "exec 3<>/dev/tcp/$DST/$PORT; sleep 60"
	wait_until '[ "$(sockets fin-wait-2)" = 1 ]' 5
	start stream cli "$TOOLS/stream" "$DST" "$PORT" 4
	wait_until "grep -q streaming $LOGS/stream.log" 5
	clients kept do=talk first=10 clients=5 linger=60000 port=9000
	wait_until '[ "$(sockets established)" = 6 ]' 5
	# these wait: 40 that have sent a request, 10 that have left meanwhile
	clients herd do=ask first=100 clients=40 linger=60000
	wait_until '[ "$(sockets established)" = 46 ]' 5
	clients left do=fin first=200 clients=10
	finish left 5
	wait_until '[ "$(sockets close-wait)" = 10 ]' 5
	# and these have not finished their handshake
	in_cli nft add table inet e2e
	in_cli nft add chain inet e2e in '{ type filter hook prerouting priority -300; }'
	in_cli nft add rule inet e2e in 'tcp flags & (syn | ack) == (syn | ack) drop'
	syn count=3 first=300
	wait_until '[ "$(sockets syn-recv)" = 3 ]' 5

	assert_match "$(synhold flush web)" "^web: 50 connections that waited to be accepted were reset" "what flush says"
	finish herd 3 # all of them at once, long before they would have gone
	assert_eq "$(sockets established)" 6 "accepted connections"
	assert_eq "$(sockets close-wait)" 0 "connections whose client has left"
	assert_eq "$(sockets fin-wait-2)" 1 "connections that the server has closed"
	assert_eq "$(sockets syn-recv)" 3 "unfinished handshakes"
	assert_eq "$(synhold flush web --json)" '{"service":"web","waiting":0,"reset":0,"left":0}' "a second flush"
	running kept || fail "accepted clients were reset"
	finish stream 10
	expect_line "$(output stream)" wrong=0
	assert_eq "$(field received "$(output stream)")" "$(field sent "$(output stream)")" "bytes of the accepted stream"
	assert_ge "$(field sent "$(output stream)")" 700000 "bytes of the accepted stream"

	# the server finds them when it accepts, and then serves as before
	kill -USR1 "${PROCESS[server]}"
	wait_until "grep -q spoiled= $LOGS/server.log" 5
	expect_line "$(tail -n 1 "$LOGS/server.log")" alive=0 spoiled=0 reset=50
	in_cli nft delete table inet e2e
	expect_line "$(storm first=400 clients=20)" served=20
	stop kept
	stop half KILL
}
both flush_the_queue

# Against a server that accepts all the time: whom it has served stays, whatever the moment.
test_flush_under_load() {
	local total=0 round
	net_up
	server delay_us=1000
	shield window=none
	start stream cli "$TOOLS/stream" "$DST" "$PORT" 4
	clients load clients=2000 rate=400 patience=8000 retry=100 limit=20000
	for round in 1 2 3 4 5 6 7 8 9 10; do
		total=$((total + $(synhold flush web --json | jq .reset)))
	done
	finish load 20
	# one that flush has reset tries again; none may have lost an answer half-way
	expect_line "$(output load)" served=2000 corrupt=0 refused=0
	assert_le "$(field reset "$(output load)")" "$total" "connections that clients saw reset"
	finish stream 10
	expect_line "$(output stream)" wrong=0
}

# The server accepts thousands while flush goes through them. The kernel cannot reset "unless accepted", so one that is accepted within the
# microseconds between a look and a reset may go; without that look it would be hundreds.
test_flush_while_accepting() {
	local said result
	net_up
	start server srv "$TOOLS/hall" :: "$PORT" accept=0 pace=200
	wait_until "grep -q ready $LOGS/server.log" 5
	shield window=none
	clients herd do=ask clients=3000 linger=60000
	wait_until '[ "$(sockets established)" = 3000 ]' 15
	kill -USR1 "${PROCESS[server]}"
	wait_until "grep -q accepting $LOGS/server.log" 5
	said=$(synhold flush web --json)
	wait_until "grep -q spoiled= $LOGS/server.log" 20
	result=$(tail -n 1 "$LOGS/server.log")
	assert_ge "$(jq .left <<<"$said")" 10 "connections accepted while flush was at it"
	assert_ge "$(jq .reset <<<"$said")" 10 "connections reset"
	# between two of its looks at the kernel's tables a connection may be accepted: few, the longer on a busy machine
	assert_le "$(field spoiled "$result")" 20 "connections accepted and then reset"
	assert_eq "$(($(field reset "$result") + $(field spoiled "$result")))" "$(jq .reset <<<"$said")" "connections that the server found reset"
	assert_eq "$(($(field alive "$result") + $(field reset "$result")))" 3000 "connections accepted"
	stop herd
}

test_flush_is_refused() {
	net_up
	synhold attach s0 --port "web=$PORT"
	refused 1 "no service 'nobody'.*services: web" synhold flush nobody
	refused 2 "no service given" synhold flush
	refused 1 "nothing listens for web in this network namespace.*nsenter" synhold flush web
}

# ---------------------------------------------------------------------------------------------------- signal

pressure() {
	synhold explain web --json | jq -r "$1"
}

test_signal() {
	net_up
	server
	shield
	assert_match "$(synhold signal web queue 120 --target 100 --for 4s)" "^web: queue is at 1.2 of its target for 4s$"
	wait_until 'number_holds "$(pressure .pressure)" ">=" 1.19' 4 "the signal to be seen"
	assert_le "$(pressure .pressure)" 1.21 pressure
	assert_eq "$(pressure .pressure_name)" queue "the signal's name"
	assert_match "$(synhold explain web)" "The highest pressure of the last second is queue at 1.20 of its target: too much."
	wait_until 'number_holds "$(pressure .pressure)" "<" 1' 7 "the signal to end"

	# the same line from an application, by the socket
	"$TOOLS/say" /run/synhold/default/signal.sock "web depth 0.9 --for 20s"
	wait_until '[ "$(pressure .pressure_name)" = depth ]' 4
	# a new value of the same name takes the place of the old one
	synhold signal web depth 0.7 --for 20s >/run/e2e/out
	wait_until 'number_holds "$(pressure .pressure)" "<=" 0.71' 4
	# what cannot be read does no harm
	"$TOOLS/say" /run/synhold/default/signal.sock "web depth lots"
	"$TOOLS/say" /run/synhold/default/signal.sock "nobody depth 9"
	synhold signal web depth 0.8 --for 20s --json | jq -e '.ratio == 0.8 and .for_seconds == 20' >/run/e2e/out
	wait_until 'number_holds "$(pressure .pressure)" ">=" 0.79' 4
	assert_le "$(pressure .pressure)" 0.81 pressure
}

test_signal_is_refused() {
	net_up
	synhold attach s0 --port "web=$PORT"
	refused 1 "no daemon.*synhold run" synhold signal web queue 1
	shield
	refused 1 "no service 'nobody'" synhold signal nobody queue 1
	refused 2 "value 'lots' is not accepted" synhold signal web queue lots
	refused 2 "target '0' is not accepted" synhold signal web queue 1 --target 0
	refused 2 "duration '5' is not accepted" synhold signal web queue 1 --for 5
	refused 2 "SERVICE, NAME and VALUE" synhold signal web queue
}

# ---------------------------------------------------------------------------------------------------- who did it

# Each change is a line of the log: who, what, the old value and the new one.
logged() { # PATTERN
	assert_match "$(output shield)" "Z uid 0, pid [0-9]+: $1"
}

test_log_names_who() {
	net_up
	server
	shield
	synhold set web rate=3k target-delay=50ms >/run/e2e/out
	logged "set: web rate none -> 3k, web target-delay 100ms -> 50ms"
	synhold close web --for 30s >/run/e2e/out
	logged "web: close open -> closed, for 30s"
	synhold open web >/run/e2e/out
	logged "web: open closed -> open"
	synhold bypass on --for 1m >/run/e2e/out
	logged "bypass off -> on, for 1m"
	assert_match "$(synhold explain web)" "What you can do: synhold bypass off"
	synhold bypass off >/run/e2e/out
	logged "bypass on -> off"
	synhold allow add 10.10.3.0/24 --rate 5 --note "$(printf 'checks')" >/run/e2e/out
	logged "allow 10.10.3.0/24: absent -> listed, rate 5 # checks"
	synhold allow add 10.10.3.0/24 --rate 9 >/run/e2e/out
	logged "allow 10.10.3.0/24: listed, rate 5 -> listed, rate 9"
	synhold allow del 10.10.3.0/24 >/run/e2e/out
	logged "allow 10.10.3.0/24: listed -> absent"
	synhold deny add 10.10.4.1 --confirm 1m >/run/e2e/out
	logged "deny 10.10.4.1: absent -> listed \\(unless confirmed, undone soon\\)"
	synhold confirm >/run/e2e/out
	logged "confirm: what waited stays"
	synhold ramp web --from 10% --to 90% --over 10m >/run/e2e/out
	logged "web: ramp from 10% to 90% over 10m, share 100.0% -> 10.[0-9]%"
	synhold flush web >/run/e2e/out
	logged "web: flush, 0 connections reset"
	# no line may look like several
	assert_eq "$("$TOOLS/ask" /run/synhold/default/control.sock '{"ask":"log","text":"one\ntwo"}')" '{"logged":true}'
	logged "one[?]two"
	synhold detach --all >/run/e2e/out
	wait_until "! running shield" 10
	logged "detach --all"
}

# ---------------------------------------------------------------------------------------------------- hold-down

# restart AWAY [KEY=VALUE...]: clients connect all the time while the listener is away for so long
restart() {
	local away=$1
	shift
	server
	shield "$@"
	clients herd clients=300 rate=60 patience=15000
	expect handshakes.settled\>=40
	stop server
	pass_time "$away"
	server
	finish herd 20
}

hold_down() {
	restart 2 hold-down=5s
	# what the server had taken but not answered when it was stopped is reset: its business, not ours, and few
	expect_line "$(output herd)" refused=0 timeout=0 failed=0
	assert_le "$(field reset "$(output herd)")" 3 "connections that the server took down with it"
	assert_eq "$(($(field served "$(output herd)") + $(field reset "$(output herd)")))" 300 "clients served, or taken down with the server"
	assert_ge "$(value over_limit.closed)" 60 "SYNs held while the listener was away"
	assert_match "$(output shield)" "nothing listens"
	assert_match "$(output shield)" "a listener is back after [12]\\.[0-9] s"
	expect state=open held=0
}
both hold_down

# A listener that was away so shortly that the daemon has not noticed.
test_hold_down_unnoticed() {
	net_up
	server
	shield hold-down=5s
	expect_line "$(storm clients=5)" served=5
	kill -STOP "${PROCESS[shield]}"
	stop server
	clients between first=100 clients=10 patience=6000
	wait_until 'number_holds "$(value over_limit.closed)" "==" 10' 1
	server
	kill -CONT "${PROCESS[shield]}"
	finish between 3
	expect_line "$(output between)" served=10 refused=0 timeout=0
	expect held=0
}

test_without_hold_down() {
	net_up
	restart 2
	assert_ge "$(field refused "$(output herd)")" 60 "clients refused"
}

test_hold_down_ends() {
	net_up
	server
	shield hold-down=3s # long enough for a busy machine to see that they are held
	expect_line "$(storm clients=5)" served=5
	stop server
	expect state=down
	assert_match "$(synhold explain web)" "What you can do: start the server"
	clients early first=100 clients=20 patience=12000
	expect -q held=20
	finish early 10
	expect_line "$(output early)" refused=20
	expect_line "$(storm first=200 clients=5)" refused=5
	server
	expect_line "$(storm first=300 clients=5)" served=5
}

# ---------------------------------------------------------------------------------------------------- explain, suggest

test_explain_and_suggest() {
	local lines
	net_up
	server delay_us=4000
	shield
	refused 1 "0 first bytes seen, 200 are needed" synhold suggest web
	assert_match "$(synhold explain web)" "nothing is known of the server's delay; its target is 100 ms"
	clients herd clients=1500 patience=20000
	wait_until 'number_holds "$(value held)" ">=" 500' 5
	assert_match "$(synhold explain web)" "The window is [0-9]+ handshakes, [0-9]+ are in flight, [0-9]+ SYNs wait: "
	finish herd 30
	expect_line "$(output herd)" served=1500
	lines=$(synhold explain web)
	assert_match "$lines" "The server's delay to its first byte is [0-9.]+ ms of a goal of [0-9.]+ ms"
	assert_match "$lines" "The last change was [0-9]+ -> [0-9]+, [0-9.]+ s ago, because of"
	assert_match "$lines" "SYNs were over: window [0-9]+"
	assert_match "$lines" "What you can do: "
	synhold explain web --json | jq -e '.window > 0 and .state and .goal_delay_seconds > 0' >/run/e2e/out

	lines=$(synhold suggest web)
	assert_match "$lines" "^# web: 1500 first bytes seen"
	assert_match "$lines" "synhold set web rate=[0-9]+  # twice the [0-9]+/s"
	# 250/s is what it can do
	assert_ge "$(synhold suggest web --json | jq -r '.suggestions[] | select(.key == "rate") | .value')" 300 "the rate"
	assert_le "$(synhold suggest web --json | jq -r '.suggestions[] | select(.key == "rate") | .value')" 750 "the rate"
	synhold suggest web --json | jq -r '.suggestions[] | select(.key) | "\(.service) \(.key)=\(.value)"' | while read -r service assignment; do
		synhold set "$service" "$assignment" >/run/e2e/out
	done
	assert_match "$(value rate)" "^[0-9]+$"
	! synhold suggest web | grep -q "rate=" || fail "what was set is suggested again"
}

PARALLEL=3
run_tests "$@"
