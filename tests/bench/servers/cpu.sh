#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cpu.sh [job|quota] [--json]: in the middle of a storm the server's CPU is halved, by a job that competes for it or by a quota of its cgroup, and
# 9 s later restored; without and with the shield. Fails when it takes the shielded server's throughput more than 2 s to get to 85 % of what it can
# do then, or when it does not stay there on average; the capacities are measured in the same run by closed loops. Root; private namespaces.
#
# CLIENTS, PATIENCE and RETRY (ms) are the clients; COST_US of CPU time is what each costs; KEYS are key=value words for the shield.
USAGE="cpu.sh [job|quota] [--json]"
export CLIENTS=${CLIENTS:-11000} PATIENCE=${PATIENCE:-5000} RETRY=${RETRY:-100} COST_US=${COST_US:-2000} KEYS=${KEYS:-}
case ${1:-} in
job | quota)
	HOW=$1
	shift
	;;
*) HOW=${HOW:-job} ;;
esac
export HOW GROUP=${GROUP:-synhold-bench-$$}
. "$(dirname "$0")/lib.sh"

HALVE_S=7 RESTORE_S=16 # seconds of the storm

# The control group that the server can be throttled in: cgroup v1 or v2, or nothing.
cpu_group() {
	if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ] || [ -e /sys/fs/cgroup/cpu/cgroup.procs ]; then
		echo "/sys/fs/cgroup/cpu/$GROUP"
	elif grep -qw cpu /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
		echo "/sys/fs/cgroup/$GROUP"
	fi
}

end_bench() {
	local group
	group=$(cpu_group)
	[ ! -d "$group" ] || rmdir "$group"
}

quota() { # US of each 100 ms, or max
	local group
	group=$(cpu_group)
	[ -n "$group" ] || fail "no cgroup with a CPU controller here: use cpu.sh job"
	mkdir -p "$group"
	echo "${PROCESS[server]}" >"$group/cgroup.procs"
	# outside the session that it shares with the rest of the bench: the same weight against other people's work
	if [ -e "$group/cpu.weight" ]; then echo 8668 >"$group/cpu.weight"; else echo 88761 >"$group/cpu.shares"; fi
	if [ -e "$group/cpu.max" ]; then
		echo "$1" >"$group/cpu.max"
	else
		echo "${1/max/-1}" >"$group/cpu.cfs_quota_us"
	fi
}

worker() {
	cpu_server "$COST_US"
	[ "$HOW" = job ] || quota max # it is in the group from the beginning: one thing changes at a time
}

halve() {
	if [ "$HOW" = job ]; then busy job; else quota 50000; fi
}

restore() {
	if [ "$HOW" = job ]; then stop job KILL; else quota max; fi
}

until_s() { # SECOND of the storm
	local left=$((BEGAN + $1 * 1000 - $(now_ms)))
	[ "$left" -le 0 ] || pass_time "$(calc "$left / 1000")"
}

# part NAME FROM TO CAPACITY: mean and worst second of [FROM, TO) of SERIES (half seconds), as shares of the capacity
part() {
	local figures
	figures=$(awk -v s="$SERIES" -v a="$2" -v b="$3" -v c="$4" 'BEGIN {
		split(s, v, ","); low = 1e9
		for (t = a * 2 + 1; t <= b * 2; t++) { sum += v[t]; n++; if (t < b * 2 && v[t] + v[t + 1] < low) low = v[t] + v[t + 1] }
		printf "%.3f %.3f %.1f", sum * 2 / n / c, low / c, sum * 2 / n }')
	read -r MEAN WORST PACE <<<"$figures"
	row storm run="$RUN" part="$1" seconds="$2-$3" per_second="$PACE" of_capacity="$MEAN" worst_second="$WORST"
}

# follows SECOND CAPACITY: how long after SECOND of SERIES until a second with 85 % of the capacity begins
follows() {
	FOLLOWS=$(awk -v s="$SERIES" -v a="$1" -v c="$2" 'BEGIN { m = split(s, v, ",")
		for (t = a * 2 + 1; t < m && v[t] + v[t + 1] < 0.85 * c; t++) { }
		print (t < m ? (t - a * 2 - 1) / 2 : 99) }')
}

storm_half() { # NAME
	local out end
	RUN=$1
	start herd cli taskset -c "$CLIENT_CPUS" "$TOOLS/storm" "$DST" "$PORT" clients="$CLIENTS" patience="$PATIENCE" retry="$RETRY" limit=32000 series=500
	BEGAN=$(now_ms)
	until_s "$HALVE_S"
	halve
	until_s "$RESTORE_S"
	restore
	finish herd 60
	out=$(output herd)
	out=${out##*$'\n'}
	SERIES=$(field series "$out")
	row outcome run="$1" served="$(field served "$out")" seconds="$(calc "$(field elapsed_ms "$out") / 1000")" p50_ms="$(p50_of "$out" "$CLIENTS")" \
		attempts="$(field attempts "$out")"
	say "served in each half second: $SERIES"
	# while there are enough clients left to fill the server: until nine of ten have been served
	end=$(awk -v s="$SERIES" -v n="$CLIENTS" 'BEGIN { m = split(s, v, ","); for (t = 1; t <= m && sum <= 0.9 * n; t++) sum += v[t]
		print (sum <= 0.9 * n ? 30 : int((t - 2) / 2)) }')
	[ "$end" -ge $((RESTORE_S + 5)) ] || fail "nine of ten were served after $end s: more CLIENTS"
	part full 2 "$HALVE_S" "$FULL"
	part halved $((HALVE_S + 2)) "$RESTORE_S" "$HALF"
	HALVED=$MEAN
	follows "$HALVE_S" "$HALF"
	DOWN_S=$FOLLOWS
	part restored $((RESTORE_S + 2)) "$end" "$FULL"
	RESTORED=$MEAN
	follows "$RESTORE_S" "$FULL"
	UP_S=$FOLLOWS
}

test_cpu() {
	net_wide
	worker
	agreed plain_loop
	FULL=$RATE
	halve
	LOOP=700 agreed plain_loop
	HALF=$RATE
	restore
	row capacity full="$FULL" halved="$HALF"
	storm_half without
	stop server KILL
	worker
	# shellcheck disable=SC2086 # words
	shield $KEYS
	storm_half with
	bound "seconds until throughput has followed, halved" "$DOWN_S" '<=' 2
	bound "seconds until throughput has followed, restored" "$UP_S" '<=' 2
	bound "share of the halved capacity, from 2 s after" "$HALVED" '>=' 0.85
	bound "share of the restored capacity, from 2 s after" "$RESTORED" '>=' 0.85
}

bench cpu "how=$HOW clients=$CLIENTS patience_ms=$PATIENCE retry_ms=$RETRY cost_us=$COST_US" "$@"
