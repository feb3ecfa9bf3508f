#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# silent.sh [--json]: 100 connections a second, from 50 sources, that complete and then say nothing, beside a storm of honest clients on a shielded
# server. Fails when they cost the others more than 10 % of the throughput. Storms without and with them take turns, twice; in a last one they
# have been there for five seconds before it begins. Root; private namespaces.
#
# CLIENTS, PATIENCE and RETRY (ms) are the honest clients; COST_US of CPU time is what each costs; SILENT a second; KEYS for the shield.
USAGE="silent.sh [--json]"
export CLIENTS=${CLIENTS:-6000} PATIENCE=${PATIENCE:-5000} RETRY=${RETRY:-100} COST_US=${COST_US:-2000} SILENT=${SILENT:-100} KEYS=${KEYS:-}
. "$(dirname "$0")/lib.sh"

# The honest clients' throughput from the second second on, until four of five are served.
pace() { # LINE
	awk -v s="$(field series "$1")" -v n="$CLIENTS" 'BEGIN { m = split(s, v, ","); for (t = 1; t <= m && sum < 0.8 * n; t++) { sum += v[t]
		if (t > 4) { in_it += v[t]; steps++ } } printf "%.1f", steps ? in_it * 2 / steps : 0 }'
}

run_half() { # NAME SILENT_PER_SECOND SECONDS_AHEAD
	local out
	cpu_server "$COST_US"
	# shellcheck disable=SC2086 # words
	shield $KEYS
	if [ "$2" != 0 ]; then
		start silent cli taskset -c "$CLIENT_CPUS" "$TOOLS/storm" "$DST" "$PORT" do=idle rate="$2" clients=$((60 * $2)) sources=50 port=30000 \
			linger=20000 patience=20000 limit=60000
		pass_time "$3"
	fi
	out=$(herd first=1000 clients="$CLIENTS" patience="$PATIENCE" retry="$RETRY" limit="$LIMIT_MS" series=500)
	PACE=$(pace "$out")
	row storm run="$1" ahead_s="$3" served="$(field served "$out")" seconds="$(calc "$(field elapsed_ms "$out") / 1000")" \
		per_second="$PACE" p50_ms="$(p50_of "$out" "$CLIENTS")" window="$(value window)" expired="$(value handshakes.expired)"
	say "served in each half second: $(field series "$out")"
	[ "$2" = 0 ] || stop silent KILL
	stop shield
	synhold detach --all >/run/e2e/out
	stop server KILL
}

test_silent() {
	local base=0 beside=0 turn
	net_wide
	cpu_server "$COST_US"
	agreed plain_loop
	row capacity per_second="$RATE" ideal_s="$(calc "$CLIENTS / $RATE")"
	LIMIT_MS=$(calc "3000 * $CLIENTS / $RATE" | sed 's/\..*//')
	stop server KILL
	for turn in 1 2; do
		run_half alone 0 0
		base=$(calc "$base + $PACE")
		run_half beside "$SILENT" 0
		beside=$(calc "$beside + $PACE")
	done
	run_half after "$SILENT" 5
	bound "throughput beside the silent ones, of that without" "$(calc "$beside / $base")" '>=' 0.9
	bound "throughput when they were there before, of that without" "$(calc "2 * $PACE / $base")" '>=' 0.9
}

bench silent "clients=$CLIENTS patience_ms=$PATIENCE retry_ms=$RETRY cost_us=$COST_US silent_per_second=$SILENT" "$@"
