#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon killed, stopped, restarted and reloaded at random moments of storms, with a connection that is never quiet
# and clients that all have to get in. SYNHOLD_E2E_ROUNDS (2; `make soak`: 200), SYNHOLD_E2E_SEED.

. "$(dirname "$0")/lib.sh"

ROUNDS=${SYNHOLD_E2E_ROUNDS:-2}
RANDOM=${SYNHOLD_E2E_SEED:-$((RANDOM))}

again() { # another daemon, once the last one has let go
	wait_until '! running shield' 10 "the last daemon to end"
	daemon shield s0 -c /run/e2e/chaos.conf
}

disturb() { # KIND
	case $1 in
	kill)
		stop shield KILL
		again
		;;
	term)
		stop shield TERM
		again
		;;
	freeze)
		kill -STOP "${PROCESS[shield]}"
		pass_time 1.3 # beyond a stale heartbeat
		kill -CONT "${PROCESS[shield]}"
		;;
	hiccup)
		kill -STOP "${PROCESS[shield]}"
		pass_time 0.3
		kill -CONT "${PROCESS[shield]}"
		;;
	reload) kill -HUP "${PROCESS[shield]}" ;;
	set) synhold set web "window-max=$((1000 + RANDOM))" >/run/e2e/out ;;
	bypass) synhold bypass on --for 200ms >/run/e2e/out ;;
	attach) synhold attach s0 -c /run/e2e/chaos.conf >/run/e2e/out ;;
	esac
}

test_chaos() {
	local kinds=(kill term freeze hiccup reload set bypass attach) before round kind pause fds
	net_up
	printf '[service web]\nport = %s,8100\nwindow = auto\n' "$PORT" >/run/e2e/chaos.conf
	server delay_us=2000
	start echo srv "$TOOLS/serve" :: 8100
	wait_until "grep -q ready $LOGS/echo.log" 5
	daemon shield s0 -c /run/e2e/chaos.conf
	start witness cli "$TOOLS/stream" "$DST" 8100 $((ROUNDS * 30 + 30))
	before=$(counters)
	for ((round = 0; round < ROUNDS; round++)); do
		clients herd clients=1500 first=$((round % 30 * 1500)) patience=6000 retry=200 limit=90000
		# the first ones always: they are what a crash and an upgrade look like
		kind=${kinds[round < 2 ? round : RANDOM % ${#kinds[@]}]}
		pause=$(awk -v r="$RANDOM" 'BEGIN { printf "%.2f", 0.1 + r / 32768 * 1.5 }')
		pass_time "$pause"
		disturb "$kind"
		not_backwards "$before"
		before=$(counters)
		finish herd 95
		expect_line "$(output herd)" served=1500 corrupt=0
		not_backwards "$before"
		before=$(counters)
		fds=$(find "/proc/${PROCESS[shield]}/fd" -mindepth 1 | wc -l)
		assert_le "$fds" 120 "descriptors of the daemon after round $round ($kind)"
	done
	expect held=0 inflight=0
	kill -INT "${PROCESS[witness]}"
	finish witness 20
	expect_line "$(output witness)" wrong=0
	assert_eq "$(field received "$(output witness)")" "$(field sent "$(output witness)")" "bytes of the stream"
	assert_le "$(field longest_gap_ms "$(output witness)")" 3000 "the longest silence"
}

run_tests "$@"
