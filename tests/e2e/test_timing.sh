#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where milliseconds are the subject: one test at a time.
. "$(dirname "$0")/lib.sh"

# A connection that was there before the storm does not notice it.
stream() {
	local out
	server delay_us=2000
	shield
	start stream cli "$TOOLS/stream" "$DST" "$PORT" 8
	wait_until "grep -q streaming $LOGS/stream.log" 5
	clients herd clients=2000 patience=2000 retry=300 limit=7000
	expect -q hold.entered\>=100
	finish herd 15
	finish stream 45
	out=$(output stream)
	assert_eq "$STATUS" 0 "exit status of the stream ($out)"
	expect_line "$out" wrong=0 received="$(field sent "$out")"
	assert_ge "$(field sent "$out")" 500000 "bytes sent"
	assert_le "$(field longest_gap_ms "$out")" 999 "longest silence on the connection, in ms"
}
both stream

# From the settlement that frees a slot to the release that takes it.
test_release_delay() {
	net_up
	server delay_us=1000
	shield window=4
	expect_line "$(storm clients=600 patience=20000)" served=600
	expect hold.released\>=300
	assert_le "$(value release_delay_seconds.p99)" 0.02 "release delay, p99"
	assert_le "$(value release_delay_seconds.p50)" 0.002 "release delay, median"
}

# CPU time, of a daemon that has nothing to do.
test_idle() {
	local before after pid
	net_up
	server
	shield
	expect_line "$(storm clients=20)" served=20
	expect inflight=0
	pass_time 2
	pid=${PROCESS[shield]}
	cpu_ns() {
		if [ -r "/proc/$pid/schedstat" ]; then
			cut -d ' ' -f 1 "/proc/$pid/schedstat"
		else
			awk '{ print ($14 + $15) * 10000000 }' "/proc/$pid/stat"
		fi
	}
	before=$(cpu_ns)
	pass_time 5
	after=$(cpu_ns)
	assert_le $(((after - before) / 1000)) 25000 "us of CPU time in 5 s"
}

run_tests "$@"
