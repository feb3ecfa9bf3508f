#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a kernel must do, run inside the guest on the harness of the end-to-end tests. PROGRAMS_MAKE: see
# tests/kernels/kernels. Guests are slow, and slower beside others: clients that wait are patient, and those that are
# meant to give up do so long before they would send their SYN again.
. "$(dirname "$0")/../e2e/lib.sh"

# The harness asks jq, which takes a third of a second here; these do the same for the one service that there is.
flat() # SNAPSHOT
{
	awk -f "${BASH_SOURCE[0]%/*}/flat.awk" <<<"$1"
}

# load SNAPSHOT: VALUE[syn.seen] and so on, of the first service
declare -A VALUE=()
load()
{
	local path value
	VALUE=()
	while IFS='=' read -r path value; do
		[[ $path != services.0.* ]] || VALUE[${path#services.0.}]=$value
	done < <(flat "$1")
	[ ${#VALUE[@]} -gt 0 ] || fail "no service in $1"
}

mismatches() # SNAPSHOT SERVICE KEY=VALUE...
{
	local want have good
	load "$1"
	shift 2
	for want in "$@"; do
		[[ $want =~ ^([a-z0-9_.]+)(>=|=)(.*)$ ]] || fail "expect $want"
		have=${VALUE[${BASH_REMATCH[1]}]-}
		if [ "${BASH_REMATCH[2]}" = '>=' ]; then
			good=$((${have:--1} >= BASH_REMATCH[3]))
		else
			good=$([ "$have" = "${BASH_REMATCH[3]}" ] && echo 1)
		fi
		[ "$good" = 1 ] || echo "${BASH_REMATCH[1]} is '$have', expected $want"
	done
}

sum() # PREFIX
{
	local path total=0
	for path in "${!VALUE[@]}"; do
		[[ $path != "$1".* ]] || total=$((total + ${VALUE[$path]}))
	done
	echo "$total"
}

equations() # SNAPSHOT
{
	local outcomes excess
	load "$1"
	excess=$((${VALUE[syn.held]} + ${VALUE[syn.dropped]} + ${VALUE[syn.rejected]}))
	outcomes=$((${VALUE[handshakes.settled]} + ${VALUE[handshakes.abandoned]} + ${VALUE[handshakes.expired]}))
	[ "${VALUE[syn.seen]}" = $((${VALUE[syn.admitted]} + excess)) ] || echo "seen is not the sum of the verdicts: $1"
	[ "$(sum over_limit)" = "$excess" ] || echo "over_limit is not held + dropped + rejected: $1"
	[ "${VALUE[hold.entered]}" = $((${VALUE[hold.released]} + $(sum hold.discarded) + VALUE[held])) ] ||
		echo "entered is not released + discarded + held: $1"
	[ "${VALUE[handshakes.started]}" = $((outcomes + VALUE[inflight])) ] || echo "started is not the sum: $1"
	[ "${VALUE[inflight]}" -ge 0 ] || echo "inflight is negative: $1"
}

counters_only()
{
	flat "$(cat)" | grep -E '^services\.[0-9]+\.(syn|hold|handshakes|held|inflight)'
}

SOON=(patience=300)
PATIENT=(patience=20000)
WORK=/tmp/verifier

declare -A MAKES=([newest]=synhold [static]=synhold_static [lock]=synhold_lock)

verify_all()
{
	local object
	for object in "${MAKES[@]}"; do
		echo "$object"
		"$TOOLS/verifier" "$OBJECTS/$object.bpf.o" >"$WORK.$object" 2>&1
		echo $? >"$WORK.$object.status"
		grep instructions "$WORK.$object"
	done
}

# verified OBJECT PROGRAM...: they load, well below the verifier's end of a million instructions
verified()
{
	local object=$1 program work
	shift
	assert_eq "$(cat "$WORK.$object.status")" 0 "the verifier's answer to $object ($(tail -n 20 "$WORK.$object"))"
	for program in "$@"; do
		work=$(awk -v p="$program" '$1 == p { print $2 }' "$WORK.$object")
		assert_ge "$work" 2 "instructions of $program"
		assert_le "$work" 800000 "instructions of $program"
	done
}

# What the kernel is to take loads, and so does what older ones take; what newer ones take does not.
test_programs_load()
{
	local programs=(synhold_shield synhold_egress synhold_reject synhold_sweep) make refused=1
	[ "$PROGRAMS_MAKE" = lock ] || programs+=(synhold_release)
	for make in newest static lock; do
		[ "$make" != "$PROGRAMS_MAKE" ] || refused=0
		if [ "$refused" = 0 ]; then
			verified "${MAKES[$make]}" "${programs[@]}"
		else
			assert_eq "$(cat "$WORK.${MAKES[$make]}.status")" 1 "the verifier's answer to ${MAKES[$make]}"
		fi
	done
}

# says TEXT...: each of them stands in what check has said
says()
{
	local text
	for text in "$@"; do
		[[ $FOUND == *"$text"* ]] || fail "check does not say '$text': $FOUND"
	done
}

test_check()
{
	local status=0
	net_up
	FOUND=$(synhold check s0) || status=$?
	[[ $FOUND != *fail\ * ]] || fail "what check says stands in the way: $FOUND"
	case $PROGRAMS_MAKE in
	newest) says "make of the programs: for this kernel" ;;
	static) says "make of the programs: for kernels before 6.2" ;;
	lock) says "make of the programs: for kernels before 5.12, with a lock" ;;
	esac
	if [ "$PROGRAMS_MAKE" = lock ]; then
		assert_eq "$status" 3 "exit status of check"
		says "warn  holding: this kernel cannot put a held SYN back" "do: Linux 5.18 or newer; until then action=hold drops"
	else
		says "ok    holding: this kernel can put a held SYN back"
		[ "$status" = 0 ] || assert_eq "$status" 3 "exit status of check"
	fi
}

verdicts() # native|generic
{
	local line
	server
	synhold attach s0 --port "web=$PORT" action=drop window=none --mode "$1"
	assert_match "$(synhold status)" "interface s0 \($1\)" status
	expect_line "$(storm clients=8 "${PATIENT[@]}")" served=8 corrupt=0
	expect -q state=static syn.seen=8 syn.admitted=8 handshakes.started=8 handshakes.settled=8 inflight=0

	synhold deny add "$NET_A"
	expect_line "$(storm clients=6 port=11000 "${SOON[@]}")" served=0 timeout=6
	expect -q syn.seen=14 syn.admitted=8 syn.dropped=6 over_limit.deny=6
	synhold deny del "$NET_A"

	synhold close web
	expect_line "$(storm clients=5 port=12000 "${SOON[@]}")" served=0 timeout=5
	expect -q state=closed syn.seen=19 syn.dropped=11 over_limit.deny=6 over_limit.closed=5

	synhold set web action=reject
	expect_line "$(storm clients=4 port=13000 "${PATIENT[@]}")" refused=4
	expect -q syn.seen=23 syn.dropped=11 syn.rejected=4 over_limit.closed=9

	synhold open web
	synhold set web rate=1 burst=3
	line=$(storm clients=9 port=14000 "${PATIENT[@]}")
	assert_eq $(($(field served "$line") + $(field refused "$line"))) 9 "clients that were served or refused at once"
	assert_ge "$(field served "$line")" 3 "clients let in by the burst"
	assert_ge "$(field refused "$line")" 1 "clients refused by the rate"
	expect syn.seen=32 syn.admitted=$((8 + $(field served "$line"))) syn.rejected=$((4 + $(field refused "$line"))) \
		over_limit.service_rate="$(field refused "$line")" inflight=0
}

test_verdicts_native_ipv4() { net_up; verdicts native; }
test_verdicts_native_ipv6() { net_up; family 6; verdicts native; }
test_verdicts_generic_ipv4() { net_up; verdicts generic; }

# A window and a rate for each source, with the daemon; what is in excess is dropped and comes back by itself.
test_limits()
{
	net_up
	server
	shield action=drop window=none source-rate=1 source-burst=2
	expect_line "$(storm clients=6 sources=1 "${SOON[@]}")" timeout=4 served=2
	expect -q syn.seen=6 syn.admitted=2 syn.dropped=4 over_limit.source_rate=4
	synhold set web source-rate=none window=3
	expect_line "$(storm clients=12 port=11000 "${PATIENT[@]}")" served=12
	expect handshakes.settled=14 syn.held=0 inflight=0
}

hold_and_release() # native|generic
{
	server delay_us=3000
	SHIELD_ARGS="--mode $1" shield window=2
	assert_match "$(synhold status)" "interface s0 \($1\)" status
	clients herd clients=30 "${PATIENT[@]}"
	finish herd 60
	expect_line "$(output herd)" served=30 corrupt=0 timeout=0 refused=0
	expect -t 10 handshakes.started=30 handshakes.settled=30 inflight=0 held=0 hold.entered\>=10 over_limit.window\>=10
	load "$(snapshot)"
	assert_eq "${VALUE[hold.released]}" "${VALUE[hold.entered]}" "released, of those that entered"
	assert_eq "$(grep -c no_hold <<<"${VALUE[*]}")" 0 "flags that say that it cannot hold"
}

# Linux before 5.18: what would be held is dropped under the limit's own reason, and everybody is told.
hold_drops()
{
	server delay_us=3000
	synhold attach s0 --port "web=$PORT" action=hold window=none 2>/run/e2e/err
	assert_match "$(cat /run/e2e/err)" "action=hold drops here" "what attach says"
	synhold close web
	expect_line "$(storm clients=5 "${SOON[@]}")" timeout=5
	expect -q syn.seen=5 syn.dropped=5 syn.held=0 over_limit.closed=5 over_limit.fallback=0 over_limit.hold_full=0
	synhold open web
	shield window=4
	assert_match "$(output shield)" "action=hold drops here" "the log of the daemon"
	assert_match "$(snapshot)" "no_hold" "what status has of it"
	assert_match "$(synhold status)" "web: action=hold drops" "what status says"
	clients herd clients=10 port=11000 "${PATIENT[@]}" # in waves: at once, after one second, after three
	finish herd 60
	expect_line "$(output herd)" served=10 corrupt=0
	expect -t 10 handshakes.settled=10 inflight=0 held=0 syn.held=0 hold.entered=0 over_limit.window\>=1 over_limit.hold_full=0
}

if [ "$PROGRAMS_MAKE" = lock ]; then
	test_hold_drops_ipv4() { net_up; hold_drops; }
	test_hold_drops_ipv6() { net_up; family 6; hold_drops; }
else
	test_hold_native_ipv4() { net_up; hold_and_release native; }
	test_hold_native_ipv6() { net_up; family 6; hold_and_release native; }
	test_hold_generic_ipv4() { net_up; hold_and_release generic; }
fi

. "$(dirname "$0")/chain.sh"

[ "${1:-}" = --one ] || verify_all
run_tests "$@"
