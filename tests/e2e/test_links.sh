#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Interfaces under a running daemon: deleted, made again, renamed, down and up, moved to another network namespace.
. "$(dirname "$0")/lib.sh"

interfaces() {
	json '[.interfaces[] | "\(.name) \(if .present then .mode else "gone" end)"] | sort | join(", ")'
}

expect_interfaces() {
	wait_until '[ "$(interfaces)" = "'"$1"'" ]' 5 "interfaces to be $1 (they are $(interfaces))"
}

logged() {
	wait_until "grep -q '$1' $LOGS/shield.log" 5 "the log to say: $1"
}

# A pair with the addresses of net_up, under the names it had.
again() {
	ip -n "$SRV" link add "${1:-s0}" type veth peer name c0 netns "$CLI"
	net_addresses c0 "${1:-s0}"
}

limited() { # what comes in is judged: one of ten is let in, as the tokens of the burst are gone
	expect_line "$(storm clients=10 first="$1" patience=700)" timeout=10
}

# Not one turn more than the ticks: what a daemon spends in a second that is quiet.
no_spin() {
	local before after
	before=$(awk '{ print $14 + $15 }' "/proc/${PROCESS[shield]}/stat")
	pass_time 1
	after=$(awk '{ print $14 + $15 }' "/proc/${PROCESS[shield]}/stat")
	assert_le $((after - before)) 40 "hundredths of a second of CPU in a second"
}

comes_back() { # MODE
	local seen
	server
	shield action=drop share=0%
	expect_interfaces "s0 $1"
	limited 1
	seen=$(value syn.seen)
	ip -n "$SRV" link del s0
	expect_interfaces "s0 gone"
	logged "interface s0 is gone"
	assert_match "$(synhold metrics)" 'synhold_interface_attached\{[^}]*s0[^}]*\} 0' "the metric"
	no_spin
	again
	expect_interfaces "s0 $1"
	logged "interface s0 is there again: attached"
	limited 1000
	assert_eq "$(value syn.seen)" $((seen + 10)) "SYNs seen"
	assert_eq "$(find /sys/fs/bpf/synhold/default -name 'link_*' | wc -l)" 1 "links"
	no_spin
}

test_deleted_and_made_again() {
	net_up
	comes_back native
}

test_deleted_and_made_again_generic() {
	net_up
	SHIELD_ARGS="--mode generic" comes_back generic
}

# Held SYNs of the interface that comes back are released through it, in its mode.
test_hold_after_it_came_back() {
	net_up
	server delay_us=8000
	SHIELD_ARGS="--mode generic" shield window=4
	ip -n "$SRV" link del s0
	expect_interfaces "s0 gone"
	again
	expect_interfaces "s0 generic"
	expect_line "$(storm clients=100 patience=20000)" served=100
	expect -q hold.released\>=50
}

test_many_times() {
	local i
	net_up
	shield share=0%
	for i in 1 2 3 4 5 6; do
		ip -n "$SRV" link del s0
		again
	done
	expect_interfaces "s0 native"
	assert_eq "$(find /sys/fs/bpf/synhold/default -name 'link_*' | wc -l)" 1 "links"
	synhold detach s0
	finish shield 5
}

test_renamed() {
	net_up
	server
	shield action=drop share=0%
	ip -n "$SRV" link set s0 name front0
	logged "interface s0 is called front0 now"
	expect_interfaces "front0 native"
	limited 1
	# what counts is the last name
	ip -n "$SRV" link del front0
	expect_interfaces "front0 gone"
	again front0
	expect_interfaces "front0 native"
	limited 1000
	synhold detach front0
	finish shield 5
	no_trace front0
}

test_down_and_up() {
	net_up
	server
	shield action=drop share=0%
	ip -n "$SRV" link set s0 down
	logged "interface s0 is down"
	expect_interfaces "s0 native"
	no_spin
	ip -n "$SRV" link set s0 up
	logged "interface s0 is up"
	ip -n "$SRV" route replace 10.10.0.0/16 via 10.9.0.1
	carriers c0 s0
	limited 1
}

test_moved_and_back() {
	local other=$E2E_NAME-o
	net_up
	server
	shield action=drop share=0%
	ip netns add "$other"
	ip -n "$SRV" link set s0 netns "$other"
	logged "interface s0 has gone to another network namespace"
	expect_interfaces "s0 gone"
	[[ $(ip -n "$other" link show s0) != *prog/xdp* ]] || fail "the program is still on s0, elsewhere"
	ip -n "$other" link set s0 netns "$SRV"
	expect_interfaces "s0 native"
	ip -n "$SRV" addr add 10.9.0.2/24 dev s0
	ip -n "$SRV" link set s0 up
	ip -n "$SRV" route add 10.10.0.0/16 via 10.9.0.1
	carriers c0 s0
	limited 1
}

# In the way at its return: said once, and tried again when that changes.
test_foreign_program_in_the_way() {
	net_up
	shield share=0%
	kill -STOP "${PROCESS[shield]}"
	ip -n "$SRV" link del s0
	ip -n "$SRV" link add s0 type veth peer name c0 netns "$CLI"
	in_srv "$TOOLS/foreign" s0 native
	kill -CONT "${PROCESS[shield]}"
	logged "interface s0 is there again, and cannot be attached to: .*someone_else"
	no_spin
	assert_eq "$(grep -c 'cannot be attached to' "$LOGS/shield.log")" 1 "times it was said"
	ip -n "$SRV" link set dev s0 xdp off
	expect_interfaces "s0 native"
}

# The other interface goes on.
test_one_of_two() {
	net_up
	net_second
	server
	daemon shield s0 s1 --port "web=$PORT" action=drop share=0%
	ip -n "$SRV" link del s0
	expect_interfaces "s0 gone, s1 native"
	DST=10.8.0.2 limited 1
	synhold detach s0
	expect_interfaces "s1 native"
	again
	no_spin
	expect_interfaces "s1 native"
	no_trace s0
}

test_cpus() {
	local last
	last=$(($(nproc --all) - 1))
	net_up
	daemon shield s0 --port "web=$PORT" --cpus "$last"
	assert_eq "$(taskset -pc "${PROCESS[shield]}" | sed 's/.*: //')" "$last" "CPUs of the daemon"
	assert_match "$(chrt -p "${PROCESS[shield]}")" "SCHED_RR.*priority: 1" "its scheduling"
	stop shield
	refused 2 "accepted: CPU numbers" in_srv "$SYNHOLD" run s0 --cpus 0-
	refused 2 "accepted: CPU numbers" in_srv "$SYNHOLD" run s0 --cpus 1-0
	refused 2 "this machine has 0 to $last" in_srv "$SYNHOLD" run s0 --cpus 0,900
}

# What joining does is tested in guests (tests/kernels/chain.sh), as it takes a kernel with freplace. Here: why it does not.
test_chain_is_refused() {
	local program
	net_up
	for program in "$SYNHOLD-unchained:built without libxdp" "$SYNHOLD:does not let a program take the place of another's function .freplace.: Operation not permitted"; do
		if [[ $program != *unchained* ]] && in_srv "$SYNHOLD" attach s0 --chain --port "web=$PORT" >/run/e2e/out 2>&1; then
			assert_match "$(synhold status)" "s0 .native, in a dispatcher" "status, where the kernel can"
			synhold detach --all >/run/e2e/out
			continue
		fi
		refused 1 "${program#*:}" in_srv "${program%%:*}" run s0 --chain --port "web=$PORT"
		refused 1 "${program#*:}" in_srv "${program%%:*}" attach s0 --chain --port "web=$PORT"
	done
	refused 2 "no interface given" in_srv "$SYNHOLD" attach --chain
}

PARALLEL=3
run_tests "$@"
