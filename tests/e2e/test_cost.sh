#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the daemon costs: next to nothing when nothing happens, and little of a core while a herd stands at the door.
# SYNHOLD_E2E_HERD (6,000; `make soak`: 50,000) clients; with 50,000 the bounds are the real ones.
. "$(dirname "$0")/lib.sh"

HERD=${SYNHOLD_E2E_HERD:-6000}
CROWDS=4 # processes: none may have more than 20,000 descriptors
if [ "$HERD" -ge 50000 ]; then
	IDLE_SECONDS=60 IDLE_PERMILLE=5 STORM_PERMILLE=250
else # a busy machine, and short looks
	IDLE_SECONDS=4 IDLE_PERMILLE=30 STORM_PERMILLE=600
fi
RSS_KB=65536

cpu_us() { # of the daemon, all its threads
	cat /proc/"${PROCESS[shield]}"/task/*/schedstat | awk '{ sum += $1 } END { printf "%d\n", sum / 1000 }'
}

daemon_kb() { # VmRSS, VmHWM
	awk -v of="$1:" '$1 == of { print $2 }' "/proc/${PROCESS[shield]}/status"
}

# busy FUNCTION [ARGUMENT...]: PERMILLE is the daemon's share of a core meanwhile, ELAPSED_MS how long that was
busy() {
	local began cpu # of this call: what it runs may call it again
	began=$(now_ms)
	cpu=$(cpu_us)
	"$@"
	ELAPSED_MS=$(($(now_ms) - began))
	PERMILLE=$((($(cpu_us) - cpu) / ELAPSED_MS))
}

test_idle() {
	net_up
	server
	shield
	storm clients=50 patience=5000 >/run/e2e/out # a daemon that has worked
	expect -t 15 handshakes.settled=50 inflight=0 held=0
	busy pass_time "$IDLE_SECONDS"
	echo "figure: idle: $PERMILLE permille of a core in $ELAPSED_MS ms, $(daemon_kb VmRSS) kB resident"
	assert_le "$PERMILLE" "$IDLE_PERMILLE" "permille of a core"
	assert_ge "$(daemon_kb VmRSS)" 1 "kB resident"
	assert_le "$(daemon_kb VmRSS)" "$RSS_KB" "kB resident"
}

herd() {
	local i held
	for ((i = 0; i < CROWDS; i++)); do
		clients "herd$i" clients=$((HERD / CROWDS)) first=$((HERD * i / CROWDS)) patience=10000 retry=500 limit=300000
	done
	for ((i = 0; i < CROWDS; i++)); do
		while running "herd$i"; do
			busy pass_time 1
			[ "$PERMILLE" -le "$MOST" ] || MOST=$PERMILLE
			held=$(value held)
			[ "$held" -le "$HELD" ] || HELD=$held
		done
		finish "herd$i" 10
		expect_line "$(output "herd$i")" served=$((HERD / CROWDS)) corrupt=0 unfinished=0
	done
}

test_storm() {
	local before
	HELD=0 MOST=0
	net_up
	server delay_us=500
	shield
	before=$(daemon_kb VmRSS)
	busy herd
	expect -t 15 held=0 inflight=0
	echo "figure: $HERD clients, up to $HELD held: $PERMILLE permille of a core in $ELAPSED_MS ms, at most $MOST in a second;" \
		"$(daemon_kb VmHWM) kB resident at most"
	assert_ge "$HELD" $((HERD / 4)) "held at once"
	assert_le "$PERMILLE" "$STORM_PERMILLE" "permille of a core"
	# a held SYN costs little more than its frame and what is known of it
	assert_le "$(($(daemon_kb VmHWM) - before))" $((4096 + HELD * 700 / 1024)) "kB that the daemon has grown by"
}

run_tests "$@"
