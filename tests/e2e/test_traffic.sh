#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What users notice: nothing when it is calm, a storm as short as it can be, and no harm where we cannot see.
. "$(dirname "$0")/lib.sh"

# Far below what the server can do: nobody is held or turned away.
calm() {
	server
	shield
	expect_line "$(storm rate=200 clients=1000 patience=900)" served=1000 timeout=0
	expect syn.seen=1000 syn.admitted=1000 syn.held=0 syn.dropped=0 syn.rejected=0 handshakes.settled=1000 state=open
}
both calm

test_calm_generic() {
	net_up
	SHIELD_ARGS="--mode generic" calm
}

# A storm of clients that give up after a while and come again: all of them are served, in about the time that the work takes.
test_storm() {
	local out
	net_up
	server delay_us=2000
	shield
	out=$(storm clients=3000 patience=4000 retry=500 limit=60000)
	expect_line "$out" served=3000 corrupt=0 unfinished=0
	assert_le "$(field elapsed_ms "$out")" 18000 "ms, for 6 s of work"
	expect -t 12 inflight=0 held=0
}

# Clients that left answer a late SYN-ACK with RST, which the kernel counts among the listener's drops: nothing has overflowed.
test_resets_are_no_overflow() {
	net_up
	server delay_us=2000
	shield window=16
	storm clients=1500 patience=700 retry=100 limit=4000 >/run/e2e/out
	expect -t 12 inflight=0 held=0 handshakes.abandoned\>=50
	assert_eq "$(synhold metrics | sed -n 's/^synhold_listen_overflows_total{.*} //p')" 0 "overflows counted"
}

# Answers leave where we are not: a window would starve the server, so it steps aside, and says so.
astray() { # WINDOW
	local out
	net_second astray
	server
	daemon shield s1 --port "web=$PORT" "$@"
	DST=10.8.0.2
	out=$(storm do=idle rate=200 clients=1000 linger=3000 patience=8000 limit=40000)
	wait_until '[ "$(json ".services[0].flags | index(\"window_suspended\") != null")" = true ]' 10 "the flag"
	wait_until "grep -q 'window suspended' $LOGS/shield.log" 2
	assert_eq "$(grep -c 'window suspended' "$LOGS/shield.log")" 1 "lines about it"
	expect_line "$out" connected=1000 timeout=0
	# nothing waits, and nobody is turned away
	out=$(storm clients=1000 first=20000 rate=400 patience=900)
	expect_line "$out" served=1000 timeout=0
	# what ends in sight is no expiry: connections that the client closes are seen to end
	expect -t 12 inflight=0 handshakes.settled=0 handshakes.expired\<=1000 handshakes.abandoned\>=1000
	# once an answer is seen, the window is in force again
	synhold attach s0
	expect_line "$(storm clients=20 first=40000)" served=20
	wait_until '[ "$(json ".services[0].flags | index(\"window_suspended\")")" = null ]' 5 "the flag to go"
	expect handshakes.settled\>=20
}

test_answers_astray() {
	net_up
	astray window=4
}

test_answers_astray_auto() {
	net_up
	astray
}

PARALLEL=2
run_tests "$@"
