# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --chain: beside other XDP programs in libxdp's dispatcher. Not every machine's own kernel has what that takes
# (freplace), so it is tested in guests; what does not depend on the make of the programs, on the newest only. Their `early` program runs before the shield, `late` after it (neighbour.bpf.c).

neighbours() { # SECTION...
	local section
	for section in "$@"; do
		in_srv xdp-loader load s0 -m "${CHAIN_MODE:-native}" -s "xdp/$section" "$TOOLS/neighbour.bpf.o" >/run/e2e/loader 2>&1 ||
			fail "xdp-loader: $(cat /run/e2e/loader)"
	done
}

# what the dispatcher on s0 runs, in its order, as libxdp itself says
company() {
	in_srv xdp-loader status s0 | awk '$1 == "=>" { print $3 }' | paste -sd ' '
}

seen_by() { # early|late: SYNs it has counted
	local place=0 id
	[ "$1" = early ] || place=1
	id=$(in_srv xdp-loader status s0 | awk -v n="$1" '$1 == "=>" && $3 == n { print $4 }')
	id=$(bpftool -j prog show id "$id" | grep -o '"map_ids":\[[0-9]*' | grep -o '[0-9]*$')
	bpftool -j map lookup id "$id" key "$place" 0 0 0 | grep -o '"value":[0-9]*' | grep -o '[0-9]*$'
}

expect_company() {
	assert_eq "$(company)" "$1" "programs in the dispatcher"
}

# Theirs as it was, nothing of ours.
left_alone() { # PROGRAM...
	expect_company "$*"
	assert_eq "$(find /sys/fs/bpf -mindepth 1 -name 'synhold*')" "" "what is left in the BPF file system"
	[[ $(in_srv tc filter show dev s0 ingress) != *synhold* ]] || fail "filters are left"
	in_srv xdp-loader unload s0 --all >/run/e2e/loader 2>&1 || fail "xdp-loader: $(cat /run/e2e/loader)"
	[[ $(ip -n "$SRV" link show s0) != *xdp* ]] || fail "something is left on s0: $(ip -n "$SRV" link show s0)"
}

chained() { # native|generic
	local mode=$1 early late status=0
	CHAIN_MODE=native
	[ "$mode" = native ] || CHAIN_MODE=skb
	net_up
	server
	neighbours early
	synhold attach s0 --port "web=$PORT" action=drop window=none >/run/e2e/out 2>&1 || status=$?
	assert_eq "$status" 1 "exit status without --chain"
	assert_match "$(cat /run/e2e/out)" "another XDP program: xdp_dispatcher.*--chain joins it" "what it says"
	status=0
	synhold check s0 >/run/e2e/out || status=$?
	assert_eq "$status" 3 "exit status of check"
	assert_match "$(cat /run/e2e/out)" "s0 is shared by libxdp: $mode, in a dispatcher with early .id [0-9]*" "check"

	synhold attach s0 --chain --port "web=$PORT" action=drop window=none >/run/e2e/out
	assert_match "$(cat /run/e2e/out)" "attached to s0 .$mode, in a dispatcher with early .id [0-9]*" "attach"
	expect_company "early synhold_shield"
	neighbours late # somebody who comes later
	expect_company "early synhold_shield late"
	assert_match "$(synhold status)" "s0 .$mode, in a dispatcher with early .id [0-9]*., late .id" "status"
	assert_match "$(synhold check s0 || true)" "s0 is shielded already .xdp_dispatcher.*late" "check"
	early=$(seen_by early) late=$(seen_by late)
	expect_line "$(storm clients=6 "${PATIENT[@]}")" served=6
	expect -q syn.seen=6 syn.admitted=6
	assert_eq "$(seen_by early) $(seen_by late)" "$((early + 6)) $((late + 6))" "SYNs that the others saw pass"

	synhold deny add "$NET_A"
	expect_line "$(storm clients=4 port=11000 "${SOON[@]}")" timeout=4
	expect -q syn.seen=10 syn.dropped=4
	assert_eq "$(seen_by early) $(seen_by late)" "$((early + 10)) $((late + 6))" "SYNs the others saw, of those dropped"
	synhold deny del "$NET_A"
	synhold attach s0 --port "other=7777" # in place; and a port that early lets nobody to
	expect_company "early synhold_shield late"
	PORT=7777 storm clients=2 port=12000 "${SOON[@]}" >/run/e2e/out
	expect_line "$(cat /run/e2e/out)" timeout=2
	synhold close web
	synhold set web action=reject
	if [[ $(synhold status) == *"action=reject drops"* ]]; then
		[ "$mode" = native ] || fail "in generic mode RSTs need no metadata"
		expect_line "$(storm clients=3 port=13000 "${SOON[@]}")" timeout=3
	else
		expect_line "$(storm clients=3 port=13000 "${PATIENT[@]}")" refused=3
	fi
	assert_eq "$(snapshot | grep -o '"seen": *[0-9]*' | grep -o '[0-9]*' | paste -sd ' ')" "13 0" "SYNs seen, by service"
	synhold detach --all >/run/e2e/out
	left_alone early late
}

test_chain_native() { chained native; }
test_chain_generic() { chained generic; }

# Held and released; the daemon killed, and another one; detached by itself when it ends.
test_chain_daemon() {
	net_up
	server delay_us=3000
	neighbours early
	if [ "$PROGRAMS_MAKE" = lock ]; then
		SHIELD_ARGS=--chain shield window=10 action=drop
	else
		SHIELD_ARGS=--chain shield window=2
	fi
	assert_match "$(output shield)" "interface s0 .native, in a dispatcher with early" "the log"
	clients herd clients=20 "${PATIENT[@]}"
	finish herd 60
	expect_line "$(output herd)" served=20 corrupt=0
	expect -t 10 handshakes.settled=20 inflight=0 held=0
	[ "$PROGRAMS_MAKE" = lock ] || expect -q hold.entered\>=5
	stop shield KILL
	daemon shield
	expect_company "early synhold_shield"
	expect_line "$(storm clients=5 port=12000 "${PATIENT[@]}")" served=5
	expect -t 10 handshakes.settled=25 inflight=0
	stop shield
	daemon shield --detach-on-exit
	stop shield
	# shellcheck disable=SC2153 # of the harness
	assert_eq "$STATUS" 0 "exit status with --detach-on-exit"
	[[ $(output shield) != *refused* ]] || fail "the sandbox is in the way: $(output shield)"
	left_alone early
}

[ "$PROGRAMS_MAKE" = newest ] || return 0

# Alone at first and at last: its dispatcher goes with it. Deleted under the daemon, it joins what is there then.
test_chain_alone() {
	net_up
	server
	SHIELD_ARGS=--chain shield action=drop share=0%
	expect_company synhold_shield
	assert_match "$(synhold status)" "s0 .native, in a dispatcher." status
	ip -n "$SRV" link del s0
	wait_until '[[ $(synhold status) == *"s0 (native, gone)"* ]]' 10
	ip -n "$SRV" link add s0 type veth peer name c0 netns "$CLI"
	net_addresses c0 s0
	wait_until '[ "$(company)" = synhold_shield ]' 10
	expect_line "$(storm clients=4 "${SOON[@]}")" timeout=4
	expect -q syn.seen=4
	kill -STOP "${PROCESS[shield]}" # wedged
	synhold detach s0 >/run/e2e/out
	[[ $(ip -n "$SRV" link show s0) != *xdp* ]] || fail "left on s0: $(ip -n "$SRV" link show s0)"
	kill -CONT "${PROCESS[shield]}"
	finish shield 10
}

# With what is needed to know it half gone; and by a build without libxdp, which leaves an empty place behind.
test_chain_detach() {
	net_up
	neighbours early
	synhold attach s0 --chain --port "web=$PORT" action=drop window=none share=0%
	rm /sys/fs/bpf/synhold/default/chain_*
	synhold detach s0
	expect_company early
	synhold attach s0 --chain --port "web=$PORT" action=drop window=none share=0%
	rm /sys/fs/bpf/synhold/default/{control,interfaces,policy}
	synhold detach --all
	expect_company early
	synhold attach s0 --chain --port "web=$PORT" action=drop window=none share=0%
	server
	expect_line "$(storm clients=3 "${SOON[@]}")" timeout=3
	in_srv "$SYNHOLD-unchained" detach --all
	expect_line "$(storm clients=3 port=10500 "${PATIENT[@]}")" served=3
	neighbours late # puts what is in the dispatcher into a new one: what is left of the shield lets all pass
	expect_line "$(storm clients=3 port=11000 "${PATIENT[@]}")" served=3
	assert_eq "$(find /sys/fs/bpf -mindepth 1 -name 'synhold*')" "" "what is left in the BPF file system"
	synhold attach s0 --chain --port "web=$PORT" action=drop window=none share=0% # and it can be joined again
	expect_company "early synhold_shield late"
	expect_line "$(storm clients=3 port=12000 "${SOON[@]}")" timeout=3
	expect -q syn.seen=3
	synhold detach --all
	left_alone early late
}

test_chain_refused() {
	local status=0
	net_up
	in_srv "$TOOLS/foreign" s0 native
	synhold attach s0 --chain --port "web=$PORT" >/run/e2e/out 2>&1 || status=$?
	assert_eq "$status" 1 "exit status"
	assert_match "$(cat /run/e2e/out)" "s0 has an XDP program that runs by itself.*someone_else, id" "the reason"
	ip -n "$SRV" link set dev s0 xdp off
	synhold attach s0 --port "web=$PORT" window=8
	status=0
	synhold attach s0 --chain >/run/e2e/out 2>&1 || status=$?
	assert_eq "$status" 1 "exit status where the shield is by itself"
	assert_match "$(cat /run/e2e/out)" "has the shield without a dispatcher; synhold detach s0" "the reason"
	synhold detach --all
	neighbours early
	status=0
	synhold attach s0 --chain --mode generic --port "web=$PORT" >/run/e2e/out 2>&1 || status=$?
	assert_eq "$status" 1 "exit status in another mode"
	assert_match "$(cat /run/e2e/out)" "dispatcher in native mode" "the reason"
	left_alone early
}

test_chain_upgrade() {
	local before
	net_up
	server
	neighbours early
	synhold attach s0 --chain --port "web=$PORT" action=drop window=none
	expect_line "$(storm clients=5 "${PATIENT[@]}")" served=5
	expect handshakes.settled=5 inflight=0
	SYNHOLD=${SYNHOLD%/*}/next-synhold
	synhold attach s0
	expect_company "early synhold_shield"
	expect_line "$(storm clients=4 port=11000 "${PATIENT[@]}")" served=4
	expect syn.seen=9 handshakes.settled=9 inflight=0
	synhold detach --all
	left_alone early
}
