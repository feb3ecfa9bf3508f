#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Calm and storms in turn, with real traffic: nobody is kept back in calm, nothing is left over, the daemon costs next to nothing and
# does not grow. HOUR_SECONDS makes it longer than the 20 s of a quick look (tests/bench/hour.sh: an hour).
. "$(dirname "$0")/lib.sh"

CALM_SECONDS=6
STORM_CLIENTS=800

cpu_ms() { # of the daemon, all its threads
	local task sum=0
	for task in /proc/"${PROCESS[shield]}"/task/*/schedstat; do
		sum=$((sum + $(cut -d' ' -f1 "$task") / 1000000))
	done
	echo "$sum"
}

memory_kib() {
	awk '/^RssAnon/ { print $2 }' "/proc/${PROCESS[shield]}/status"
}

touched() { # SYNs that any limit has touched
	json '.services[0] | .syn.held + .syn.dropped + .syn.rejected'
}

calm() {
	local before cpu began out
	before=$(touched)
	cpu=$(cpu_ms)
	began=$(now_ms)
	out=$(storm first=40000 rate=40 clients=$((40 * CALM_SECONDS)) patience=10000 limit=60000)
	expect_line "$out" served=$((40 * CALM_SECONDS)) corrupt=0
	assert_eq "$(($(touched) - before))" 0 "SYNs held, dropped or rejected in calm"
	CALM_CPU_MS=$((CALM_CPU_MS + $(cpu_ms) - cpu))
	CALM_MS=$((CALM_MS + $(now_ms) - began))
}

test_calm_and_storms() {
	local rounds=0 first_kib=0 deadline
	CALM_CPU_MS=0 CALM_MS=0
	net_up
	server delay_us=2000
	shield
	deadline=$(($(now_ms) + ${HOUR_SECONDS:-20} * 1000))
	calm
	while [ "$(now_ms)" -lt "$deadline" ]; do
		expect_line "$(storm clients="$STORM_CLIENTS" patience=20000 retry=200 limit=60000)" served="$STORM_CLIENTS" corrupt=0
		expect -t 20 held=0 inflight=0
		calm
		rounds=$((rounds + 1))
		[ "$rounds" != 1 ] || first_kib=$(memory_kib)
	done
	expect -t 20 held=0 inflight=0
	assert_ge "$(touched)" 1 "SYNs that the storms had held"
	assert_ge "$rounds" 1 "rounds"
	assert_le "$(memory_kib)" "$((first_kib + 1024))" "memory of the daemon at the end, KiB, after $first_kib"
	echo "$rounds rounds, memory $first_kib -> $(memory_kib) KiB, daemon $CALM_CPU_MS ms of CPU in $CALM_MS ms of calm" >"${REPORT:-/dev/null}"
	assert_le "$((CALM_CPU_MS * 1000 / CALM_MS))" "${CPU_PERMILLE:-50}" "CPU of the daemon in calm, per mille"
}

run_tests "$@"
