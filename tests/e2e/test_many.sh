#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Very many connections through one shield in one run, ended in every way at the same time: each is counted once, no slot
# is left, and neither the daemon nor the maps grow. SYNHOLD_E2E_CONNECTIONS (60,000; `make soak`: 10,000,000).
. "$(dirname "$0")/lib.sh"

TOTAL=${SYNHOLD_E2E_CONNECTIONS:-60000}
ROUNDS=$((TOTAL < 1000000 ? 3 : 20))
# how they end, the service's port, the share of a hundred, and how its clients behave
KINDS="banner:8001:40:do=banner parallel=150
reset:8002:40:do=reset parallel=150
talk:8003:12:do=talk parallel=100
mute:8004:3:do=ask parallel=8000 linger=2500
idle:8005:3:do=idle parallel=8000 linger=2500
deaf:8006:2:do=dial parallel=2000 linger=600"

each_kind() { # FUNCTION: with kind, port, the number of clients in a round, and their behaviour as words
	local kind port share words
	while IFS=: read -r kind port share words; do
		# shellcheck disable=SC2086 # words
		"$1" "$kind" "$port" $((TOTAL * share / 100 / ROUNDS)) $words
	done <<<"$KINDS"
}

begin() { # KIND PORT COUNT WORD...
	PORT=$2 clients "$1" first=$((ROUND * $3)) clients="$3" limit=3000000 patience=20000 "${@:4}"
}

end() { # KIND PORT COUNT WORD...
	finish "$1" 3000
	expect_line "$(output "$1")" unfinished=0 corrupt=0 failed=0
}

# Memory of the maps, in kB, as the kernel accounts for it; and how many handshakes it remembers.
maps_kb() {
	local pin
	for pin in /sys/fs/bpf/synhold/default/*; do
		bpftool -j map show pinned "$pin" 2>/dev/null || true
	done | jq -s 'map(.bytes_memlock // 0) | add / 1024 | floor'
}

marks() {
	bpftool map dump pinned /sys/fs/bpf/synhold/default/marks | grep -c '"state"' || true
}

daemon_kb() {
	awk '/^VmRSS/ { print $2 }' "/proc/${PROCESS[shield]}/status"
}

# Frames that the wire had no room for.
lost() {
	{ ip -n "$CLI" -s -j link show c0; ip -n "$SRV" -s -j link show s0; } |
		jq -s '[.[][].stats64 | .rx.dropped + .tx.dropped] | add'
}

# Of all rounds. A SYN that the wire or the listener's queue had no room for comes again after a second; its slot has expired
# by then, and it starts another handshake. A RST does not come again. On a busy machine that happens, to few.
books() { # KIND PORT COUNT WORD...
	local n=$(($3 * ROUNDS)) most=$(($3 * ROUNDS * 97 / 100))
	# each client is one, and nobody was turned away
	expect -s "$1" inflight=0 "syn.offered<=$n" syn.held=0 syn.dropped=0 syn.rejected=0
	[ "$1" = deaf ] || expect -s "$1" "syn.offered=$n" "handshakes.started>=$n"
	case $1 in
	banner | talk)
		expect -s "$1" "handshakes.settled>=$most" handshakes.abandoned=0
		assert_eq "$(json ".services[] | select(.name == \"$1\").handshakes | .settled + .late")" "$n" "answers of $1"
		;;
	reset) expect -s "$1" "handshakes.abandoned>=$most" "handshakes.abandoned<=$n" handshakes.settled=0 ;;
	mute | idle) expect -s "$1" "handshakes.expired>=$most" handshakes.abandoned=0 handshakes.settled=0 ;;
	deaf) expect -s "$1" "syn.offered>=$((n / 2))" handshakes.settled=0 ;; # its clients do not try twice
	esac
}

serve_kind() { # KIND PORT COUNT WORD...
	case $1 in
	talk) SERVER_PORT=$2 server "at_$1" ;;
	banner) SERVER_PORT=$2 server "at_$1" mode=banner ;;
	deaf) SERVER_PORT=$2 server "at_$1" mode=deaf backlog=64 ;;
	*) SERVER_PORT=$2 server "at_$1" mode=silent ;;
	esac
}

add_port() {
	PORTS+=(--port "$1=$2")
}

many() {
	local rss_kb=0 memory_kb=0 began fds
	PORTS=()
	each_kind serve_kind
	each_kind add_port
	daemon shield s0 "${PORTS[@]}" window=none
	began=$(now_ms)
	for ((ROUND = 0; ROUND < ROUNDS; ROUND++)); do
		each_kind begin
		each_kind end
		wait_until '[ "$(json "[.services[].inflight] | add")" = 0 ]' 15 "all slots to come back; $(summary "$(snapshot)")"
		[ "$ROUND" != 0 ] || { # a daemon that has worked
			rss_kb=$(daemon_kb)
			memory_kb=$(maps_kb)
			fds=$(find "/proc/${PROCESS[shield]}/fd" -mindepth 1 | wc -l)
		}
		echo "round $ROUND: $(daemon_kb) kB of daemon, $(maps_kb) kB of maps, $(($(now_ms) - began)) ms" >>"${MANY_LOG:-/dev/null}"
	done
	each_kind books
	wait_until '[ "$(marks)" = 0 ]' 40 "the last handshakes to be forgotten" # twice the longest life of a slot
	assert_ge "$memory_kb" 1000 "kB of maps"
	assert_eq "$(maps_kb)" "$memory_kb" "kB of maps at the end"
	assert_le "$(daemon_kb)" $((rss_kb * 101 / 100)) "kB of the daemon at the end, after $rss_kb"
	assert_le "$(find "/proc/${PROCESS[shield]}/fd" -mindepth 1 | wc -l)" "$fds" "descriptors at the end"
	echo "figure: $(json '[.services[].handshakes.started] | add') connections in $((($(now_ms) - began) / 1000)) s;" \
		"daemon $rss_kb -> $(daemon_kb) kB, maps $memory_kb -> $(maps_kb) kB, $(marks) marks, $(lost) frames lost on the wire"
}

test_many() {
	net_up
	many
}

run_tests "$@"
