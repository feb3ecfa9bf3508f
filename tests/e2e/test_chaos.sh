#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon killed, stopped, restarted, reloaded and upgraded at random moments of storms, with a connection that is
# never quiet and clients that all have to get in. SYNHOLD_E2E_ROUNDS (3; `make soak`: 200), SYNHOLD_E2E_SEED.

. "$(dirname "$0")/lib.sh"

ROUNDS=${SYNHOLD_E2E_ROUNDS:-3}
SEED=${SYNHOLD_E2E_SEED:-$((RANDOM))}
RANDOM=$SEED
NOW=$SYNHOLD
NEXT=$(dirname "$SYNHOLD")/next/synhold # with other maps: next_abi.sed
KINDS=(kill term freeze hiccup reload set bypass attach upgrade upgrade_kill upgrade_attach upgrade_cut)
declare -A HAPPENED=()

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
	upgrade)
		stop shield TERM
		SYNHOLD=$NEXT
		again
		;;
	upgrade_kill)
		stop shield KILL
		SYNHOLD=$NEXT
		again
		;;
	upgrade_attach)
		stop shield TERM
		SYNHOLD=$NEXT
		synhold attach s0 -c /run/e2e/chaos.conf >/run/e2e/out
		again
		;;
	upgrade_cut) # killed somewhere between its first call and its readiness
		stop shield TERM
		SYNHOLD=$NEXT
		start shield srv "$SYNHOLD" run s0 -c /run/e2e/chaos.conf
		pass_time "$(awk -v r="$RANDOM" 'BEGIN { printf "%.3f", r / 32768 * 0.6 }')"
		stop shield KILL
		again
		;;
	esac
}

# What was upgraded does not go back: it is taken away in a quiet moment, without a trace, and the round begins anew.
earlier_version() {
	[ "$SYNHOLD" = "$NEXT" ] || return 0
	stop shield TERM
	synhold detach --all >/run/e2e/out
	no_trace s0
	assert_eq "$(instances)" "" "instances after detach"
	SYNHOLD=$NOW
	again
	SHAPE=""
}

# What there is besides numbers, when nothing moves: pins, programs, the qdisc, synhold's processes and descriptors.
shape() {
	find /sys/fs/bpf -mindepth 1 -name '*+*' | sed 's/^/left over: /'
	find /sys/fs/bpf -mindepth 1 | wc -l | sed 's/^/pins /'
	in_srv tc qdisc show dev s0 | grep -c clsact | sed 's/^/clsact /'
	{ ip -n "$SRV" link show s0; in_srv tc filter show dev s0 ingress; in_srv tc filter show dev s0 egress; } |
		grep -c synhold_ | sed 's/^/programs /'
	{ find /proc -maxdepth 2 -name exe -lname "*/synhold*" 2>/dev/null || true; } | wc -l | sed 's/^/processes /'
	{ find "/proc/${PROCESS[shield]}/fd" -mindepth 1 2>/dev/null || true; } | wc -l | sed 's/^/descriptors /'
}

one_round() { # NUMBER KIND
	local before kind=$2 pause
	[[ $kind != upgrade* ]] || earlier_version
	[ -n "$SHAPE" ] || SHAPE=$(shape)
	before=$(counters)
	clients herd clients=1500 first=$(($1 % 30 * 1500)) patience=6000 retry=200 limit=90000
	pause=$(awk -v r="$RANDOM" 'BEGIN { printf "%.2f", 0.1 + r / 32768 * 1.5 }')
	pass_time "$pause"
	disturb "$kind"
	not_backwards "$before"
	before=$(counters)
	finish herd 95
	expect_line "$(output herd)" served=1500 corrupt=0
	not_backwards "$before"
	expect -t 15 held=0 inflight=0
	wait_until '[ "$(shape)" = "$SHAPE" ]' 10 "what was there before, after round $1 ($kind): $({ diff <(echo "$SHAPE") <(shape) || true; } | tr '\n' ' ')"
}

test_chaos() {
	local round kind
	echo "figure: seed $SEED, $ROUNDS rounds"
	net_up
	printf '[service web]\nport = %s,8100\nwindow = auto\n' "$PORT" >/run/e2e/chaos.conf
	server delay_us=2000
	start echo srv "$TOOLS/serve" :: 8100
	wait_until "grep -q ready $LOGS/echo.log" 5
	daemon shield s0 -c /run/e2e/chaos.conf
	SHAPE=""
	start witness cli "$TOOLS/stream" "$DST" 8100 $((ROUNDS * 30 + 30))
	for ((round = 0; round < ROUNDS; round++)); do
		# the first ones always: a crash, and an upgrade that is cut short
		case $round in
		0) kind="kill" ;;
		1) kind=upgrade_cut ;;
		*) kind=${KINDS[RANDOM % ${#KINDS[@]}]} ;;
		esac
		echo "round $round: $kind" >>"${CHAOS_LOG:-/dev/null}"
		one_round "$round" "$kind"
		HAPPENED[$kind]=$((${HAPPENED[$kind]:-0} + 1))
	done
	kill -INT "${PROCESS[witness]}"
	finish witness 20
	expect_line "$(output witness)" wrong=0
	assert_eq "$(field received "$(output witness)")" "$(field sent "$(output witness)")" "bytes of the stream"
	assert_le "$(field longest_gap_ms "$(output witness)")" 3000 "the longest silence"
	echo "figure: $(for kind in "${!HAPPENED[@]}"; do echo "$kind ${HAPPENED[$kind]}"; done | sort | paste -sd ,)"
	echo "figure: stream: $(output witness | tail -n 1)"
}

run_tests "$@"
