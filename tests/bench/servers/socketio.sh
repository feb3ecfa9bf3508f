#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# socketio.sh [--json]: a Node.js server with socket.io loses all its sessions at once, and its clients (socket.io-client with its defaults, each
# with an address of its own) come back by their own policy, without and with the shield. Fails when it takes the shielded server more
# than 1.25 times its ideal until all are back. The ideal is sessions / capacity; the capacity is measured twice in the same run, by
# letting the same clients in a few at a time, and the quicker of the two counts. Root; private namespaces.
#
# CLIENTS; WORK_MS of CPU time for each session; KEYS are key=value words for the shield; LIMIT_S is the longest storm.
USAGE="socketio.sh [--json]"
export CLIENTS=${CLIENTS:-3000} WORK_MS=${WORK_MS:-5} KEYS=${KEYS:-} LIMIT_S=${LIMIT_S:-90}
. "$(dirname "$0")/lib.sh"

fill() { # NAME: the server with all its clients; RATE
	local out
	node_server "$WORK_MS"
	node_clients clients "$CLIENTS" 8 "$LIMIT_S"
	wait_until "grep -q full $LOGS/clients.log || ! running clients" 300 "all clients to be in"
	out=$(output clients)
	RATE=$(calc "$CLIENTS * 1000 / $(field elapsed_ms "$out")")
	row "closed loop" run="$1" per_second="$RATE" connections_each="$(calc "$(field tcp "$out") / $CLIENTS")"
}

cut() { # NAME: until they are back
	local out before seconds
	before=$(cpu_ms server)
	kill -USR2 "${PROCESS[server]}"
	finish clients $((LIMIT_S + 60))
	out=$(output clients)
	out=${out##*$'\n'}
	seconds=$(calc "$(field elapsed_ms "$out") / 1000")
	TIMES=$(calc "$seconds / $IDEAL")
	BACK=$(field count "$out")
	row storm run="$1" back="$BACK" seconds="$seconds" times_ideal="$TIMES" connections="$(field tcp "$out")" \
		attempts="$(field attempts "$out")" server_cpu_s="$(calc "($(cpu_ms server) - $before) / 1000")"
	say "back in each second: $(field series "$out")"
	stop server KILL
}

test_socketio() {
	local first
	net_wide
	fill without
	first=$RATE
	IDEAL=$(calc "$CLIENTS / $RATE")
	cut without
	fill with
	bound "the slower closed loop, of the quicker one" "$(calc "($first < $RATE ? $first / $RATE : $RATE / $first)")" '>=' 0.9
	RATE=$(calc "$first > $RATE ? $first : $RATE")
	IDEAL=$(calc "$CLIENTS / $RATE")
	row capacity per_second="$RATE" ideal_s="$IDEAL"
	# shellcheck disable=SC2086 # words
	shield $KEYS
	cut with
	row shield "first_byte_p50_ms=$(json '.services[0].first_byte_seconds.p50 * 1000 | round')" window="$(value window)" \
		expired="$(value handshakes.expired)" abandoned="$(value handshakes.abandoned)"
	bound "sessions that are back with the shield" "$BACK" '>=' "$CLIENTS"
	bound "times the ideal with the shield" "$TIMES" '<=' 1.25
}

bench socketio "clients=$CLIENTS work_ms=$WORK_MS${KEYS:+ keys=${KEYS//[ =]/:}}" "$@"
