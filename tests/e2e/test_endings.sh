#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every way in which a connection can end, one after the other: each has exactly its outcome, and no slot is left. All at
# the same time and in great number: test_many.sh. SYNHOLD_E2E_ENDINGS (20,000).
. "$(dirname "$0")/lib.sh"

TOTAL=${SYNHOLD_E2E_ENDINGS:-20000}
EACH=$((TOTAL / 5))

# in_batches FIRST LARGEST key=value...: EACH clients, LARGEST at a time, one batch after the other
in_batches() {
	local next=$1 largest=$2 end=$(($1 + EACH)) count
	shift 2
	while [ "$next" -lt "$end" ]; do
		count=$((end - next < largest ? end - next : largest))
		storm first="$next" clients="$count" "$@"
		next=$((next + count))
	done
}

sum_of() { # FIELD TEXT
	grep -o "\b$1=[0-9]*" <<<"$2" | awk -F= '{ n += $2 } END { print n + 0 }'
}

# The life of a slot is 1 to 10 s; so the last ones must be over by then.
drained() {
	expect -t 12 "$@" inflight=0
}

endings() {
	local out connected began
	SERVER_PORT=8001 server banner mode=banner
	SERVER_PORT=8002 server silent mode=silent
	SERVER_PORT=8003 server deaf mode=deaf backlog=64
	# shellcheck disable=SC2086 # words, not a word
	daemon shield s0 ${SHIELD_ARGS:-} --port banner=8001 --port silent=8002 --port deaf=8003 window=none

	PORT=8001 # the server closes first
	out=$(in_batches 0 10000 do=banner parallel=200)
	assert_eq "$(sum_of served "$out")" "$EACH" "connections that the server closed"
	drained -s banner handshakes.started="$EACH" handshakes.settled="$EACH" handshakes.abandoned=0 handshakes.expired=0 \
		syn.seen="$EACH" syn.admitted="$EACH"

	PORT=8002 # the client resets
	out=$(in_batches 0 10000 do=reset parallel=200)
	assert_eq "$(sum_of served "$out")" "$EACH" "connections that the client reset"
	drained -s silent handshakes.started="$EACH" handshakes.abandoned="$EACH" handshakes.settled=0 handshakes.expired=0

	# the client never sends, and goes when its slot has been given up
	out=$(in_batches 100000 4000 do=idle linger=2500)
	assert_eq "$(sum_of connected "$out")" "$EACH" "connections without a word"
	drained -s silent handshakes.started=$((2 * EACH)) handshakes.abandoned="$EACH" handshakes.expired="$EACH" handshakes.settled=0

	# the server never answers
	out=$(in_batches 200000 4000 do=ask linger=2500)
	assert_eq "$(sum_of connected "$out")" "$EACH" "connections without an answer"
	drained -s silent handshakes.started=$((3 * EACH)) handshakes.abandoned="$EACH" handshakes.expired=$((2 * EACH)) \
		handshakes.settled=0 syn.seen=$((3 * EACH)) syn.admitted=$((3 * EACH))

	PORT=8003 # the listener's queue overflows: some connect and leave, the others never hear of it
	out=$(in_batches 0 1000 do=dial linger=600)
	connected=$(sum_of connected "$out")
	assert_ge "$connected" 60 "connections that found a place in the queue"
	assert_le "$connected" $((EACH - 1)) "connections that found a place in the queue"
	drained -s deaf handshakes.started="$EACH" handshakes.abandoned="$connected" \
		handshakes.expired=$((EACH - connected)) handshakes.settled=0 syn.seen="$EACH"
}
both endings

endings_generic() {
	SHIELD_ARGS="--mode generic" endings
}

test_endings_generic() {
	net_up
	TOTAL=$((TOTAL / 4)) EACH=$((EACH / 4))
	endings_generic
}

# The same without a daemon: slots expire in the data plane.
test_without_daemon() {
	net_up
	server mode=silent
	synhold attach s0 --port "web=$PORT" window=none
	clients mute do=ask clients=1000 linger=20000
	all_in mute
	expect_line "$(storm do=reset clients=1000 first=10000)" served=1000
	expect -t 12 handshakes.started=2000 handshakes.expired=1000 handshakes.abandoned=1000 inflight=0
	stop mute
	synhold set web window=50 action=drop
	# a full window is free again after a second, however its slots were lost
	expect_line "$(storm do=ask clients=50 first=20000 patience=800 linger=100)" connected=50
	stop server KILL
	server
	wait_until 'storm first=$((RANDOM + 30000)) patience=300 | grep -q served=1' 12 "the window to have room"
	expect -t 12 inflight=0
}

PARALLEL=2
run_tests "$@"
