#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the controller goes by, and that anybody can see it: signals with their ages, servers that accept lazily, starts warm and cold.
. "$(dirname "$0")/lib.sh"

signal() { # NAME KEY
	json ".services[0].signals[] | select(.name == \"$1\") | .$2"
}

signal_is() { # NAME JQ-CONDITION, of `.`
	[ "$(json ".services[0].signals | map(select(.name == \"$1\"))[0] | . != null and ($2)")" = true ]
}

metric() { # NAME LABELS
	synhold metrics | sed -n "s/^synhold_$1{shield=\"default\",service=\"web\"${2:-}} //p"
}

signals_of_a_service() {
	server delay_us=5000
	shield
	clients calm rate=60 clients=600 parallel=100 limit=20000
	wait_until 'signal_is first_byte ".value >= 0.004 and .value < 2 and .unit == \"seconds\" and .target > 0 and .age_seconds < 3"' 10
	wait_until 'signal_is settlements ".value > 20 and .value < 200 and .unit == \"per_second\" and .target == null"' 10
	wait_until 'signal_is base_delay ".value > 0.003 and .value < 2"' 10
	wait_until 'signal_is accept_queue ".target >= 128 and .age_seconds < 3" && signal_is listen_overflows ".value == 0"' 5
	wait_until 'signal_is syn_recv ".age_seconds < 10"' 5
	assert_ge "$(metric settlements_per_second)" 1 "settlements per second"
	assert_ge "$(metric signal_value ',signal="first_byte"')" 0.003 "signal_value of first_byte"
	assert_le "$(metric signal_age_seconds ',signal="first_byte"')" 5 "its age"
	# an application's own; one that bears the name of another is told apart
	synhold signal web sessions 30 --target 100 --for 2s >/run/e2e/out
	synhold signal web first_byte 5 --target 8 --for 2s >/run/e2e/out
	wait_until 'signal_is sessions ".value == 30 and .target == 100"' 3
	wait_until 'signal_is app.first_byte ".value == 5 and .target == 8"' 3
	assert_match "$(synhold status web)" "sessions +30 +100 +[0-9.]+ s" "status for people"
	assert_match "$(synhold status web)" "first_byte +[0-9.]+ ms" "status for people"
	# what nobody repeats grows old; what is measured does not
	wait_until 'signal_is sessions ".age_seconds > 2.5"' 5
	wait_until 'signal_is accept_queue ".age_seconds < 2"' 3
	# and without a daemon, all of it does
	stop calm
	stop shield KILL
	wait_until 'signal_is accept_queue ".age_seconds > 2" && signal_is settlements ".age_seconds > 2"' 6
	wait_until 'signal_is sessions ".age_seconds > 3"' 6
	assert_match "$(synhold status web)" "accept_queue .*" "status for people"
}
both signals_of_a_service

test_half_open_handshakes_are_counted() {
	net_up
	server
	shield
	# the SYN-ACKs get lost, so that nobody completes a handshake, or refuses one
	in_cli nft add table inet e2e
	in_cli nft 'add chain inet e2e in { type filter hook prerouting priority -300; }'
	in_cli nft add rule inet e2e in 'tcp flags & (syn | ack) == (syn | ack) drop'
	syn count=20
	wait_until 'signal_is syn_recv ".value == 20"' 10
}

# Listeners of several addresses and both families are one service.
test_queues_are_summed() {
	net_up
	SERVER_ADDR=10.9.0.2 server four mode=deaf backlog=16
	SERVER_ADDR=fd09::2 server six mode=deaf backlog=32
	shield window=400
	family 4
	clients a do=ask clients=3 patience=20000 limit=20000
	family 6
	clients b do=ask clients=2 patience=20000 limit=20000
	wait_until 'signal_is accept_queue ".value == 5 and .target == 48"' 8
	assert_eq "$(json '.services[0].accept_queue | "\(.length) of \(.max)"')" "5 of 48" "accept_queue"
}

# A server that froze: in calm traffic nothing is held and no limit bites, so somebody has to say so.
server_freezes() { # at once, or after the first answers
	server
	[ "$1" != early ] || kill -STOP "${PROCESS[server]}"
	shield
	if [ "$1" != early ]; then
		expect_line "$(storm clients=30 rate=50)" served=30
		kill -STOP "${PROCESS[server]}"
	fi
	clients calm first=100 rate=40 clients=4000 patience=2000 retry=500 limit=60000
	wait_until '[ "$(json ".services[0].flags | index(\"stalled\") != null")" = true ]' 8 "the flag stalled"
	assert_match "$(output shield)" "warning: web: the server answers nobody: no first byte for [0-9.]+ s, [0-9]+ handshakes wait for one"
	assert_match "$(synhold status)" "web: the server answers nobody, though handshakes wait; synhold explain web"
	assert_match "$(synhold explain web)" "the server has answered nobody for [0-9.]+ s, so it "
	assert_match "$(synhold explain web)" "What you can do: look at the server, it does not answer"
	assert_match "$(synhold top --once -n 200ms)" "web: the server answers nobody; synhold explain web"
	expect -q window=8 state=limiting
	assert_match "$(synhold explain web)" "down to the least \\(window-min\\), which goes on probing"
	kill -CONT "${PROCESS[server]}"
	wait_until '[ "$(json ".services[0].flags | index(\"stalled\")")" = null ]' 8 "the flag to go"
	assert_match "$(output shield)" "web: the server answers again, or nobody waits, after [0-9.]+ s"
	# what it answered after their slots had expired is told apart
	expect -q handshakes.late\>=1
	assert_match "$(synhold status)" "web: [0-9]+ answers came late, beside SERVED: after their slot had expired, so their clients may have left"
	assert_match "$(synhold status web)" "handshakes: started .*; answered late [0-9]+"
	stop calm
}

test_server_freezes_at_once() {
	net_up
	server_freezes early
}

test_server_freezes_in_calm() {
	net_up
	server_freezes later
}

kernel_overflows() {
	in_srv nstat -asz TcpExtListenOverflows | awk '/ListenOverflows/ { print $2 }'
}

# A queue that nobody empties: once it has been seen filling, SYNs wait outside, and the kernel has nothing to drop.
lazy_server_is_spared() {
	server mode=deaf backlog=16
	shield window=400
	clients first do=ask clients=12 patience=30000 limit=30000
	wait_until 'signal_is accept_queue ".value == 12 and .target == 16"' 5
	clients herd first=1000 clients=200 patience=3000 limit=5000
	expect -q -t 8 held\>=190 over_limit.window\>=190
	wait_until 'signal_is accept_queue ".value == 12"' 3
	finish herd 12
	assert_eq "$(kernel_overflows)" 0 "connections that the kernel could not queue"
	assert_eq "$(value handshakes.started)" 12 "handshakes that were let in"
	stop first
	expect -t 15 held=0
}
both lazy_server_is_spared

# The same queue with the guard's reason gone: nothing fills, nothing is looked at, nobody is held.
test_eager_server_is_not_looked_at() {
	net_up
	server backlog=16
	shield window=400
	expect_line "$(storm clients=400 rate=200 patience=5000 limit=20000)" served=400 corrupt=0
	expect syn.held=0 over_limit.window=0
}

test_a_new_server_is_cold() {
	net_up
	server
	shield
	wait_until 'grep -q ready "$LOGS/shield.log"' 5
	assert_eq "$(value window)" 64 "the window with a server that stood there in calm"
	stop server KILL
	server again
	wait_until 'grep -q "starting cold" "$LOGS/shield.log"' 5
	expect window=8
	assert_match "$(value flags)" cold "flags after the restart of the server"
	# it answers in time, and is trusted with more
	expect_line "$(storm clients=300 rate=100 patience=5000 limit=20000)" served=300 corrupt=0
	expect -q window\>=32
	# each change is one line in the log and one more in the counter
	assert_ge "$(grep -c 'web: window .*demand' "$LOGS/shield.log")" 3 "lines in the log"
	assert_eq "$(grep -c 'web: window .*demand' "$LOGS/shield.log")" \
		"$(synhold metrics | awk '/^synhold_window_changes_total.*signal="demand"/ { n += $2 } END { print n }')" "counted changes"
}

test_a_new_daemon_is_warm() {
	local window
	net_up
	server delay_us=10000
	shield target-delay=400ms
	clients herd clients=500 patience=20000 limit=40000
	wait_until '[[ "$(value flags)" != *cold* ]]' 15 "the server's limit to be seen"
	finish herd 41
	expect held=0 inflight=0
	stop shield
	window=$(value window)
	if [ "$window" = 64 ] || [ "$window" = 8 ]; then
		fail "window $window: nothing was learned"
	fi
	shield target-delay=400ms
	expect window="$window"
	[[ "$(value flags)" != *cold* ]] || fail "cold after a restart of the daemon"
	assert_eq "$(grep "web: window" "$LOGS/shield.log" || true)" "" "changes of the window by the new daemon"
}

PARALLEL=4
run_tests "$@"
