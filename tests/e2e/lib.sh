#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Harness of the end-to-end tests. A test file sources it, defines functions called test_*, and ends with `run_tests "$@"`; arguments
# are names of the functions to run. Each function runs in mount and PID namespaces of its own, with an empty BPF file system, empty
# run and state directories and network namespaces that nobody else sees, so that whatever happens the kernel clears up when it ends.

set -u

E2E_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SYNHOLD=${SYNHOLD:-$E2E_DIR/../../build/synhold}
TOOLS=${TOOLS:-$E2E_DIR/../../build/tests/e2e}
export SYNHOLD TOOLS
PORT=8000 # of the service `web`
PROGRAMS=""

# ---------------------------------------------------------------------------------------------------- reports and conditions

fail() {
	trap - ERR
	echo "$*" >&2
	exit 1
}

now_ms() {
	local t=$EPOCHREALTIME
	echo $((${t/[.,]/} / 1000))
}

# wait_until CONDITION SECONDS [WHAT]: evaluates the condition until it holds.
wait_until() {
	local deadline=$(($(now_ms) + $2 * 1000))
	until eval "$1" >/dev/null 2>&1; do
		[ "$(now_ms)" -lt "$deadline" ] || fail "not within $2 s: ${3:-$1}"
		sleep 0.03
	done
}

# pass_time SECONDS: where time itself is the subject, as with heartbeats that must grow stale.
pass_time() {
	sleep "$1"
}

assert_eq() {
	[ "$1" = "$2" ] || fail "${3:-value} is '$1', expected '$2'"
}

number_holds() { # A OP B
	awk -v a="$1" -v b="$3" "BEGIN { exit !(a + 0 $2 b + 0 && a ~ /^-?[0-9.]+(e[-+]?[0-9]+)?\$/) }"
}

assert_le() {
	number_holds "$1" '<=' "$2" || fail "${3:-value} is '$1', expected at most $2"
}

assert_ge() {
	number_holds "$1" '>=' "$2" || fail "${3:-value} is '$1', expected at least $2"
}

assert_match() {
	[[ $1 =~ $2 ]] || fail "${3:-text} is '$1', expected to match '$2'"
}

# field NAME TEXT: of a line of NAME=VALUE words
field() {
	local word
	for word in $2; do
		if [ "${word%%=*}" = "$1" ]; then
			echo "${word#*=}"
			return
		fi
	done
	fail "no '$1' in '$2'"
}

# expect_line TEXT NAME=VALUE...: the words of the line
expect_line() {
	local text=${1//$'\n'/ } want
	shift
	for want in "$@"; do
		[[ " $text " == *" $want "* ]] || fail "expected $want in: $text"
	done
}

# skip REASON: the machine cannot do it
skip() {
	echo "skipped: $*"
	exit 77
}

# ---------------------------------------------------------------------------------------------------- processes

declare -A PROCESS=()
LOGS=/run/e2e/logs

# start NAME srv|cli COMMAND...: in the background in that network namespace, output in its log
start() {
	local name=$1 netns=$SRV
	[ "$2" = srv ] || netns=$CLI
	shift 2
	: >"$LOGS/$name.log" # now: nobody must find what an earlier process of that name wrote
	nsenter --net="/run/netns/$netns" "$@" >>"$LOGS/$name.log" 2>&1 &
	PROCESS[$name]=$!
}

running() {
	local state
	state=$(sed 's/.*) //; s/ .*//' "/proc/${PROCESS[$1]}/stat" 2>/dev/null) || return 1
	[ -n "$state" ] && [ "$state" != Z ]
}

# finish NAME SECONDS: waits for it to end by itself; STATUS is its exit status
finish() {
	local name=$1
	wait_until "! running $name" "$2" "$name to end"
	STATUS=0
	wait "${PROCESS[$name]}" || STATUS=$?
	unset "PROCESS[$name]"
}

# stop NAME [SIGNAL]
stop() {
	local name=$1 pid=${PROCESS[$1]:-}
	[ -n "$pid" ] || return 0
	kill -"${2:-TERM}" "$pid" 2>/dev/null || true
	finish "$name" 10
}

output() {
	cat "$LOGS/$1.log"
}

# ---------------------------------------------------------------------------------------------------- network

in_srv() {
	nsenter --net="/run/netns/$SRV" "$@"
}

in_cli() {
	nsenter --net="/run/netns/$CLI" "$@"
}

# net_up [bare]: a server behind s0 and its clients behind c0: 10.9.0.2 and fd09::2, clients 10.10.0.0/16 and fd00:10::/32. All of them are behind one
# neighbour, as behind a router.
net_up() {
	CLI=$E2E_NAME-c
	SRV=$E2E_NAME-s
	ip netns add "$CLI"
	ip netns add "$SRV"
	ip -n "$CLI" link set lo up
	ip -n "$SRV" link set lo up
	in_cli sysctl -qw net.ipv6.ip_nonlocal_bind=1 net.ipv4.ip_local_port_range='1024 65535' net.ipv4.conf.default.rp_filter=0 \
		net.ipv4.conf.all.rp_filter=0
	in_srv sysctl -qw net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.all.rp_filter=0
	in_cli sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.default.dad_transmits=0
	in_srv sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.default.dad_transmits=0
	# shellcheck disable=SC2086 # words
	ip -n "$SRV" link add s0 ${LINK_QUEUES:-} type veth peer name c0 ${LINK_QUEUES:-} netns "$CLI"
	if [ "${1:-}" != bare ]; then
		net_addresses c0 s0
	fi
	ip -n "$CLI" route add local 10.10.0.0/16 dev lo
	ip -n "$CLI" -6 route add local fd00:10::/32 dev lo
	family 4
}

# A second pair, 10.8.0.2 on s1 and c1. Replies to its clients go back by s1, or with `astray` by s0.
net_second() {
	ip -n "$SRV" link add s1 type veth peer name c1 netns "$CLI"
	ip -n "$CLI" addr add 10.8.0.1/24 dev c1
	ip -n "$SRV" addr add 10.8.0.2/24 dev s1
	ip -n "$CLI" link set c1 up
	ip -n "$SRV" link set s1 up
	carriers c1 s1
	if [ "${1:-}" != astray ]; then
		ip -n "$SRV" rule add from 10.8.0.2 table 8
		ip -n "$SRV" route add 10.10.0.0/16 via 10.8.0.1 table 8
	fi
}

net_addresses() { # CLIENT_DEVICE SERVER_DEVICE
	ip -n "$CLI" addr add 10.9.0.1/24 dev "$1"
	ip -n "$SRV" addr add 10.9.0.2/24 dev "$2"
	ip -n "$CLI" addr add fd09::1/64 dev "$1" nodad
	ip -n "$SRV" addr add fd09::2/64 dev "$2" nodad
	ip -n "$CLI" link set "$1" up
	ip -n "$SRV" link set "$2" up
	ip -n "$SRV" route add 10.10.0.0/16 via 10.9.0.1
	ip -n "$SRV" -6 route add fd00:10::/32 via fd09::1
	carriers "$1" "$2"
}

# Until the carrier has been noticed on both sides: before that, IPv6 sends nothing, and the link's state changes under our eyes.
carriers() { # CLIENT_DEVICE SERVER_DEVICE
	wait_until 'ip -n "$CLI" link show '"$1"' | grep -q "state UP" && ip -n "$SRV" link show '"$2"' | grep -q "state UP"' 5
}

# family 4|6: DST is the server then, NET_A the first 250 clients, NET_ALL all of them, HOST_A the first one
family() {
	if [ "$1" = 4 ]; then
		DST=10.9.0.2 NET_A=10.10.1.0/24 NET_ALL=10.10.0.0/16 HOST_A=10.10.1.1
	else
		DST=fd09::2 NET_A=fd00:10:1::/48 NET_ALL=fd00:10::/32 HOST_A=fd00:10:1:1::1
	fi
}

# both NAME: makes test_NAME_ipv4 and test_NAME_ipv6 of the function NAME
both() {
	eval "test_$1_ipv4() { net_up; family 4; $1; }; test_$1_ipv6() { net_up; family 6; $1; }"
}

# server [NAME] [key=value...]: serve on the service's port
server() {
	local name=server
	if [[ $# -gt 0 && $1 != *=* ]]; then
		name=$1
		shift
	fi
	start "$name" srv "$TOOLS/serve" "${SERVER_ADDR:-::}" "${SERVER_PORT:-$PORT}" "$@"
	wait_until "grep -q ready $LOGS/$name.log || ! running $name" 5
	running "$name" || fail "the server did not start: $(output "$name")"
}

storm() { # key=value...
	in_cli "$TOOLS/storm" "$DST" "$PORT" "$@"
}

syn() { # key=value...
	in_cli "$TOOLS/syn" "$DST" "$PORT" "$@"
}

# clients NAME key=value...: storm in the background
clients() {
	local name=$1
	shift
	start "$name" cli "$TOOLS/storm" "$DST" "$PORT" "$@"
}

# all_in NAME [SECONDS]: until they have all connected
all_in() {
	wait_until "grep -q all-in $LOGS/$1.log" "${2:-5}" "the clients of $1 to connect"
}

# ---------------------------------------------------------------------------------------------------- synhold

synhold() {
	if [ "${1:-}" = detach ]; then
		remember_programs
	fi
	if [ -e "/run/netns/$SRV" ]; then
		in_srv "$SYNHOLD" "$@"
	else
		"$SYNHOLD" "$@"
	fi
}

# The programs that are attached now: others may run tests at the same time, so that those of all the machine say nothing.
remember_programs() {
	local dev
	[ -e "/run/netns/$SRV" ] || return 0
	for dev in s0 s1; do
		PROGRAMS+=" $({ ip -n "$SRV" link show "$dev"; in_srv tc filter show dev "$dev" ingress; in_srv tc filter show dev "$dev" egress
			} 2>/dev/null | grep synhold_ | grep -o ' id [0-9]*' | grep -o '[0-9]*' | paste -sd ' ')" || true
	done
}

programs_gone() {
	local id
	for id in $PROGRAMS; do
		! bpftool prog show id "$id" || return 1
	done
}

# shield KEY=VALUE...: the daemon for `web` on s0. MODE=generic and such by SHIELD_ARGS.
shield() {
	# shellcheck disable=SC2086 # words, not a word
	daemon shield s0 --port "web=$PORT" ${SHIELD_ARGS:-} "$@"
}

# daemon NAME ARGUMENT...: `synhold run` with them, until it is ready
daemon() {
	local name=$1
	shift
	start "$name" srv "$SYNHOLD" run "$@"
	wait_until "grep -q ' ready' $LOGS/$name.log || ! running $name" 20 "the daemon to be ready"
	running "$name" || fail "the daemon ended: $(output "$name")"
}

snapshot() {
	synhold status --json
}

# json FILTER [SNAPSHOT]: jq on the status
json() {
	jq -r "$1" <<<"${2:-$(snapshot)}"
}

# value KEY: of the first service, such as syn.seen
value() {
	json ".services[0].$1"
}

# What of KEY=VALUE, KEY<=VALUE, KEY>=VALUE is not so in the snapshot; one line each. Reasons that are not listed are zero.
mismatches() { # SNAPSHOT SERVICE KEY=VALUE...
	local snap=$1 service=$2
	shift 2
	jq -r --arg service "$service" '
		(.services | map(select($service == "" or .name == $service)) | .[0]) as $s
		| if $s == null then "there is no service" else
		$ARGS.positional[] | capture("^(?<k>[a-z0-9_.]+)(?<op><=|>=|=)(?<v>.*)$") as $c
		| ($s | getpath($c.k | split("."))) as $raw
		| (if $raw == null and ($c.k | test("^(over_limit|would_limit|hold\\.discarded)\\.")) then 0 else $raw end) as $have
		| (if $c.v == "null" then null else ($c.v | tonumber? // $c.v) end) as $want
		| (if $c.op == "=" then $have == $want
		   elif $have == null then false
		   elif $c.op == "<=" then $have <= $want else $have >= $want end) as $good
		| if $good then empty else "\($c.k) is \($have), expected \($c.op) \($want)" end end' --args "$@" <<<"$snap"
}

# expect [-s SERVICE] [-t SECONDS] [-q] KEY=VALUE...: waits until all of it is so in one snapshot; and then it must stay so, unless -q
expect() {
	local service="" seconds=5 passing="" bad snap deadline
	while [[ $1 == -* ]]; do
		case $1 in
		-s) service=$2 ;;
		-t) seconds=$2 ;;
		-q) passing=1 ;;
		*) fail "expect $1" ;;
		esac
		[ "$1" = -q ] || shift
		shift
	done
	deadline=$(($(now_ms) + seconds * 1000))
	while :; do
		snap=$(snapshot)
		bad=$(mismatches "$snap" "$service" "$@")
		[ -n "$bad" ] || break
		[ "$(now_ms)" -lt "$deadline" ] || fail "${bad//$'\n'/; } after $seconds s; $(summary "$snap")"
		sleep 0.05
	done
	[ -z "$passing" ] || return 0
	sleep 0.15
	snap=$(snapshot)
	bad=$(mismatches "$snap" "$service" "$@")
	[ -z "$bad" ] || fail "${bad//$'\n'/; }, a moment after it was right; $(summary "$snap")"
}

summary() {
	jq -c 'def some: with_entries(select(.value != 0));
		.services[] | {name, state, flags, window, inflight, held, syn: (.syn | some), over_limit: (.over_limit | some),
			would_limit: (.would_limit | some), hold: (.hold | .discarded |= some | some), handshakes: (.handshakes | some)}' <<<"$1"
}

# The equations of the contract, for each service of a snapshot; one line for each that does not hold.
equations() {
	jq -r '
		def sum: [.[]?] | add // 0;
		.services[] | .name as $n
		| (if .syn.seen != .syn.admitted + .syn.held + .syn.dropped + .syn.rejected
		   then "\($n): seen \(.syn.seen) is not the sum of \(.syn)" else empty end),
		  (if (.over_limit | sum) != .syn.held + .syn.dropped + .syn.rejected
		   then "\($n): over_limit \(.over_limit) is not held + dropped + rejected of \(.syn)" else empty end),
		  (if .hold.entered != .hold.released + (.hold.discarded | sum) + .held
		   then "\($n): entered \(.hold.entered) is not released \(.hold.released) + discarded \(.hold.discarded) + held \(.held)"
		   else empty end),
		  (if .handshakes.started != .handshakes.settled + .handshakes.abandoned + .handshakes.expired + .inflight
		   then "\($n): started is not the sum of \(.handshakes) + inflight \(.inflight)" else empty end),
		  (if .inflight < 0 then "\($n): inflight \(.inflight)" else empty end)' <<<"$1"
}

counters() { # numbers that must never go backwards, one a line
	json '.services[] | .name as $n
		| (.syn, .over_limit, .handshakes, .hold.discarded, {entered: .hold.entered, released: .hold.released})
		| to_entries[] | "\($n).\(.key) \(.value)"' | sort
}

not_backwards() { # BEFORE
	join -a 1 <(echo "$1") <(counters) | while read -r key was is; do
		[ "${is:-0}" -ge "$was" ] || fail "$key went from $was to ${is:-nothing}"
	done
}

instances() {
	local dir
	for dir in /sys/fs/bpf/synhold/*/; do
		[ -d "$dir" ] && basename "$dir"
	done
	return 0
}

counters_only() {
	jq -c '[.services[] | .syn, .hold, .handshakes, .held, .inflight]'
}

# Nothing moves any more.
quiet() {
	[ "$(snapshot | counters_only)" = "$(sleep 0.2; snapshot | counters_only)" ]
}

# After each test: with the load gone, the sums must be exact; and a detach must leave nothing.
close_books() {
	local name instance snap bad
	[ "${WRONG:-0}" = 0 ] || fail "$WRONG commands were not refused as they should be"
	for name in "${!PROCESS[@]}"; do
		[[ $name == shield* ]] || stop "$name" KILL
	done
	for instance in $(instances); do
		export SYNHOLD_INSTANCE=$instance
		wait_until quiet 20 "the counters of instance $instance to come to rest"
		snap=$(snapshot)
		bad=$(equations "$snap")
		[ -z "$bad" ] || fail "${bad//$'\n'/; }"
	done
	for name in "${!PROCESS[@]}"; do
		kill -CONT "${PROCESS[$name]}" 2>/dev/null || true
		stop "$name"
	done
	for instance in $(instances); do
		SYNHOLD_INSTANCE=$instance synhold detach --all >/run/e2e/out
	done
	unset SYNHOLD_INSTANCE
	assert_eq "$(find /sys/fs/bpf -mindepth 1 -name 'synhold*')" "" "what detach left in the BPF file system"
	assert_eq "$(find /run/synhold -mindepth 1 2>/dev/null || true)" "" "what detach left in the run directory"
	if [ -e "/run/netns/$SRV" ]; then
		no_trace s0
	fi
}

# no_trace IFACE: neither program nor filter nor qdisc of ours
no_trace() {
	local rest
	[ -n "$(ip -n "$SRV" link show "$1" 2>/dev/null || true)" ] || return 0
	rest=$(ip -n "$SRV" link show "$1" | grep -o 'prog/xdp.*\|xdp.*' || true)
	assert_eq "$rest" "" "XDP on $1"
	rest=$(in_srv tc qdisc show dev "$1" | grep clsact || true)
	[ -n "${KEEPS_CLSACT:-}" ] || assert_eq "$rest" "" "clsact on $1"
	rest=$(in_srv tc filter show dev "$1" ingress; in_srv tc filter show dev "$1" egress)
	[[ $rest != *synhold* ]] || fail "filters on $1: $rest"
}

# Everything that a refused command must leave alone: pins, links, filters, policy.
state_of_all() {
	local instance
	find /sys/fs/bpf -mindepth 1 -path '*synhold*' | sort
	{ find /run/synhold /var/lib/synhold -mindepth 1 2>/dev/null || true; } | sort
	ip -n "$SRV" link show
	in_srv tc qdisc show
	for dev in $(ip -n "$SRV" -o link show | sed 's/^[0-9]*: \([^:@]*\).*/\1/'); do
		in_srv tc filter show dev "$dev" ingress
		in_srv tc filter show dev "$dev" egress
	done
	for instance in $(instances); do
		echo "instance $instance"
		SYNHOLD_INSTANCE=$instance synhold save
		SYNHOLD_INSTANCE=$instance synhold status --json | jq -c '.interfaces, .daemon.pid, [.services[] | .name, .ports, .flags]'
	done
}

# refused STATUS PATTERN COMMAND...: a run of it and one with --json at the end fail as the contract says, and change nothing. What is
# wrong with one command does not hide what is wrong with the next: the test fails at its end.
refused() {
	(check_refused "$@") || WRONG=$((${WRONG:-0} + 1))
}

check_refused() {
	local status=$1 pattern=$2 before after got
	shift 2
	before=$(state_of_all)
	got=0
	"$@" >/run/e2e/out 2>/run/e2e/err || got=$?
	assert_eq "$got" "$status" "exit status of '$*' ($(head -c 300 /run/e2e/err))"
	assert_eq "$(cat /run/e2e/out)" "" "standard output of '$*'"
	assert_eq "$(wc -l </run/e2e/err)" 1 "lines on standard error of '$*' ($(head -c 500 /run/e2e/err))"
	assert_match "$(cat /run/e2e/err)" "$pattern" "the message of '$*'"
	got=0
	"$@" --json >/run/e2e/out 2>/run/e2e/err || got=$?
	assert_eq "$got" "$status" "exit status of '$* --json'"
	assert_eq "$(wc -l </run/e2e/err)" 1 "lines on standard error of '$* --json'"
	jq -e '.error | (.code | type == "string" and length > 0) and (.message | type == "string" and length > 0)
		and (.hint | type == "string" and length > 0)' /run/e2e/out >/run/e2e/jq 2>&1 ||
		fail "standard output of '$* --json' is no error object: $(head -c 300 /run/e2e/out)"
	after=$(state_of_all)
	[ "$before" = "$after" ] || fail "'$*' changed something: $(diff <(echo "$before") <(echo "$after") | head -c 600)"
}

# ---------------------------------------------------------------------------------------------------- running

private_places() {
	mount -t tmpfs -o mode=0755 e2e /run
	mkdir -p /run/netns "$LOGS"
	mkdir -p /run/e2e
	mount -t tmpfs -o mode=0755 e2e /var/lib
	if [ -d /etc/synhold ]; then
		mount -t tmpfs -o mode=0755 e2e /etc/synhold
	fi
	mount -t bpf bpf /sys/fs/bpf
}

clear_up() {
	local status=$? name
	trap - EXIT ERR
	set +e
	if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
		for name in $(instances); do
			echo "--- instance $name: $(summary "$(SYNHOLD_INSTANCE=$name timeout 5 "$SYNHOLD" status --json)")"
		done
	fi
	for name in "${!PROCESS[@]}"; do
		kill -CONT "${PROCESS[$name]}" 2>/dev/null
		kill -KILL "${PROCESS[$name]}" 2>/dev/null
	done
	if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
		for name in "$LOGS"/*.log; do
			[ -s "$name" ] || continue
			echo "--- last lines of $(basename "$name")"
			tail -n 12 "$name"
		done
	fi
	exit "$status" # the last process of these namespaces: the kernel takes them and all that is in them away
}

run_one() {
	set -eEuo pipefail
	E2E_NAME=sh-${1#test_}-$2
	E2E_NAME=${E2E_NAME//[^a-z0-9-]/-}
	SRV=none
	private_places
	trap clear_up EXIT
	trap 'exit 130' INT TERM
	trap 'echo "${BASH_SOURCE[0]##*/}:$LINENO: exit status $?: ${BASH_COMMAND%%$'"'\\n'"'*}" >&2' ERR
	"$1"
	close_books
}

# The functions of the file, one after the other, or as many at a time as PARALLEL or SYNHOLD_E2E_JOBS says.
run_tests() {
	local functions function passed=0 failed=0 began pids=() dir name status
	if [ "${1:-}" = --one ]; then
		run_one "$2" "$3"
		exit
	fi
	[ "$(id -u)" = 0 ] || {
		echo "these tests need root" >&2
		exit 1
	}
	for name in "$SYNHOLD" "$TOOLS/serve" "$TOOLS/storm" "$TOOLS/stream" "$TOOLS/syn"; do
		[ -x "$name" ] || {
			echo "$name is missing: make test-e2e builds it" >&2
			exit 1
		}
	done
	if [ $# -gt 0 ]; then
		functions=("$@")
	else
		mapfile -t functions < <(declare -F | sed -n 's/^declare -f \(test_.*\)$/\1/p')
	fi
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	trap 'for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null; done; wait; exit 130' INT TERM
	for function in "${functions[@]}"; do
		while [ "$(jobs -rp | wc -l)" -ge "${SYNHOLD_E2E_JOBS:-${PARALLEL:-1}}" ]; do
			wait -n
		done
		{
			began=$(now_ms)
			status=0
			unshare --mount --propagation private --pid --fork --kill-child --mount-proc -- \
				bash "$0" --one "$function" $$ >"$dir/$function.out" 2>&1 </dev/null &
			trap 'kill -KILL $! 2>/dev/null; exit 130' INT TERM # with it goes all that runs inside
			wait $! || status=$?
			name=${function#test_}
			if [ "$status" = 0 ]; then
				echo "ok $name ($(($(now_ms) - began)) ms)"
				sed -n 's/^figure: /    /p' "$dir/$function.out"
				: >"$dir/$function.ok"
			elif [ "$status" = 77 ]; then
				echo "skipped $name: $(sed -n 's/^skipped: //p' "$dir/$function.out")"
				: >"$dir/$function.skipped"
			else
				echo "FAILED $name ($(($(now_ms) - began)) ms)"
				sed '/: line [0-9]*: *[0-9]* \(Killed\|Terminated\) /d; s/^/    /' "$dir/$function.out" | head -n 60
			fi
		} &
		pids+=($!)
	done
	wait
	for function in "${functions[@]}"; do
		if [ -e "$dir/$function.ok" ]; then
			passed=$((passed + 1))
		elif [ ! -e "$dir/$function.skipped" ]; then
			failed=$((failed + 1))
		fi
	done
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ] || exit 1
	exit 0
}
