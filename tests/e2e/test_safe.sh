#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Least privilege: what the processes may still do, and that they can do all of their work with it.
. "$(dirname "$0")/lib.sh"

# bits NUMBER...: a mask of capabilities as /proc has it
bits() {
	local mask=0 number
	for number in "$@"; do
		mask=$((mask | 1 << number))
	done
	printf '%016x' "$mask"
}

proc_field() { # PID NAME
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}

# IPC_LOCK, where RLIMIT_MEMLOCK could not be lifted
lock_bit() { # PID
	grep -q '^Max locked memory  *unlimited  *unlimited' "/proc/$1/limits" || echo 14
}

# DAC_READ_SEARCH, NET_ADMIN, SYS_PTRACE, SYS_ADMIN and BPF of linux/capability.h
DAEMON_CAPS=(2 12 19 21 39)
# SETGID, SETUID, SETPCAP, NET_ADMIN, SYS_ADMIN, BPF
READER_CAPS=(6 7 8 12 21 39)

nothing_refused() {
	! grep -E 'sandbox refused|cannot be (dropped|filtered)' "$LOGS"/shield*.log || fail "see above"
}

test_status_of_the_processes() {
	local pid caps reader http
	net_up
	SHIELD_ARGS="--metrics 127.0.0.1:9477" shield
	pid=${PROCESS[shield]}
	# shellcheck disable=SC2046 # nothing, or one word
	caps=$(bits "${DAEMON_CAPS[@]}" $(lock_bit "$pid"))
	assert_eq "$(proc_field "$pid" CapEff)" "$caps" "CapEff of the daemon"
	assert_eq "$(proc_field "$pid" CapPrm)" "$caps" "CapPrm of the daemon"
	assert_eq "$(proc_field "$pid" CapBnd)" "$(bits)" "CapBnd of the daemon"
	assert_eq "$(proc_field "$pid" NoNewPrivs)" 1 "NoNewPrivs of the daemon"
	assert_eq "$(proc_field "$pid" Seccomp)" 2 "Seccomp of the daemon"
	assert_ge "$(proc_field "$pid" VmLck | cut -d ' ' -f 1)" 1000 "locked KiB of the daemon"
	wait_until 'in_srv curl -sf http://127.0.0.1:9477/metrics' 5
	reader=$(pgrep -x synhold-metrics -P "$pid")
	assert_eq "$(proc_field "$reader" CapPrm)" "$(bits "${READER_CAPS[@]}")" "CapPrm of the reader"
	assert_eq "$(proc_field "$reader" NoNewPrivs)" 1 "NoNewPrivs of the reader"
	http=$(pgrep -P "$reader")
	assert_eq "$(proc_field "$http" CapPrm)" "$(bits)" "CapPrm of the HTTP process"
	assert_eq "$(proc_field "$http" CapBnd)" "$(bits)" "CapBnd of the HTTP process"
	assert_eq "$(proc_field "$http" Uid | cut -f 1)" 65534 "user of the HTTP process"
	assert_eq "$(proc_field "$http" Seccomp)" 2 "Seccomp of the HTTP process"
	assert_eq "$(proc_field "$http" NoNewPrivs)" 1 "NoNewPrivs of the HTTP process"
	# it comes back, from a reader that has given its own away
	kill -KILL "$http"
	wait_until 'in_srv curl -sf http://127.0.0.1:9477/metrics | grep -q ^synhold_' 5 "metrics after the HTTP process was killed"
	nothing_refused
}

test_no_sandbox() {
	net_up
	SHIELD_ARGS="--no-sandbox" shield
	assert_eq "$(proc_field "${PROCESS[shield]}" Seccomp)" 0 "Seccomp"
	assert_eq "$(proc_field "${PROCESS[shield]}" CapEff)" "$(proc_field self CapEff)" "CapEff, which is all that was given"
	assert_match "$(output shield)" "--no-sandbox" "the log"
}

test_limited_memory() { # without CAP_IPC_LOCK and CAP_SYS_RESOURCE: a line, and it runs
	net_up
	start shield srv prlimit --memlock=65536:65536 setpriv --bounding-set -ipc_lock,-sys_resource \
		--inh-caps -ipc_lock,-sys_resource "$SYNHOLD" run s0 --port "web=$PORT"
	wait_until "grep -q ' ready' $LOGS/shield.log || ! running shield" 20
	running shield || fail "the daemon ended: $(output shield)"
	assert_match "$(output shield)" "warning.*memory is .*RLIMIT_MEMLOCK is 64 KiB" "the log"
	server
	expect_line "$(storm clients=20 patience=3000)" served=20
}

# All that it does once it runs: hold, release, reload, lists, other processes' changes, an interface of another's.
test_everything_still_works() {
	local out
	net_up
	mkdir -p /run/e2e/conf
	printf '[synhold]\nallow = 10.10.1.7\nprefer = 10.10.2.0/24 3\n[service web]\nport = %s\nwindow = 4\n' "$PORT" \
		>/run/e2e/conf/a.conf
	chown 65534 /run/e2e/conf/a.conf
	chmod 0600 /run/e2e/conf/a.conf
	server delay_us=4000
	daemon shield s0 -c /run/e2e/conf/a.conf --metrics 127.0.0.1:9477
	clients herd clients=300 patience=8000 retry=200 limit=30000
	expect -q hold.entered\>=100
	assert_ge "$(synhold status web --held --json | jq .total)" 1 "held, as the daemon says"
	synhold explain web >/run/e2e/out
	printf 'deny = 10.10.9.0/24\n' >/run/e2e/conf/more
	sed -i '/^allow/r /run/e2e/conf/more' /run/e2e/conf/a.conf
	sed -i 's/window = 4/window = 5/' /run/e2e/conf/a.conf
	kill -HUP "${PROCESS[shield]}"
	expect -q window=5
	assert_match "$(synhold deny)" '10\.10\.9\.0/24' "the deny list after SIGHUP"
	synhold allow add 10.10.3.3 --for 60s >/run/e2e/out
	synhold prefer add 10.10.4.0/24 5 >/run/e2e/out
	synhold set web window=auto >/run/e2e/out
	synhold signal web depth 0.2 --target 1 >/run/e2e/out
	finish herd 40
	expect_line "$(output herd)" served=300 corrupt=0
	wait_until 'in_srv curl -sf http://127.0.0.1:9477/metrics | grep -q ^synhold_' 5
	in_srv curl -sf http://127.0.0.1:9477/status.json | jq -e '.services[0].name == "web"' >/run/e2e/out
	nothing_refused
	kill -TERM "${PROCESS[shield]}"
	finish shield 10
	assert_eq "$STATUS" 0 "exit status"
	daemon shield --detach-on-exit
	stop shield
	assert_eq "$STATUS" 0 "exit status with --detach-on-exit"
	assert_eq "$(instances)" "" "instances left"
	nothing_refused
}

# inject WHO PID KEY=VALUE...: what the process got from a call that we make it do
inject() {
	local out
	out=$("$TOOLS/inject" "${@:2}" 2>&1) || fail "inject into the $1: $out"
	[ "$out" != unsupported ] || skip "calls cannot be injected on this architecture"
	echo "$out"
}

# Numbers of x86_64, where alone calls are injected. EPERM is 1; execve, and the two that are refused by their argument:
# bpf(BPF_PROG_LOAD) and socket(AF_PACKET).
test_refused_calls_of_the_daemon() {
	local pid
	net_up
	server
	shield window=none action=drop
	pid=${PROCESS[shield]}
	assert_eq "$(inject daemon "$pid" call=102)" result=0 "getuid(), which is allowed"
	nothing_refused
	assert_eq "$(inject daemon "$pid" call=59)" result=-1 "execve()"
	wait_until 'grep -q "error: the sandbox refused the system call execve: please report it" $LOGS/shield.log' 5
	assert_eq "$(inject daemon "$pid" call=321 first=5)" result=-1 "bpf(BPF_PROG_LOAD)"
	wait_until 'grep -q "sandbox refused the system call bpf:" $LOGS/shield.log' 5
	assert_eq "$(inject daemon "$pid" call=41 first=17)" result=-1 "socket(AF_PACKET)"
	wait_until 'grep -q "sandbox refused the system call socket:" $LOGS/shield.log' 5
	assert_eq "$(inject daemon "$pid" call=59)" result=-1 "execve() once more"
	# each is told once, and the daemon works on as before
	synhold set web action=hold window=2 >/run/e2e/out
	expect_line "$(storm clients=40 patience=8000)" served=40
	expect handshakes.settled=40 inflight=0
	assert_eq "$(grep -c 'sandbox refused' "$LOGS/shield.log")" 3 "lines about refused calls"
	assert_eq "$(proc_field "$pid" Seccomp)" 2 "Seccomp afterwards"
}

# The HTTP process, which speaks with strangers, does not survive what it must not do: the kernel ends it (SIGSYS is 31),
# another one takes its place, and the shield does not notice.
test_refused_call_of_the_http_process() {
	local reader http
	net_up
	SHIELD_ARGS="--metrics 127.0.0.1:9477" shield
	wait_until 'in_srv curl -sf http://127.0.0.1:9477/metrics' 5
	reader=$(pgrep -x synhold-metrics -P "${PROCESS[shield]}")
	http=$(pgrep -P "$reader")
	assert_eq "$(inject "HTTP process" "$http" call=2)" ended=31 "open()"
	wait_until 'in_srv curl -sf http://127.0.0.1:9477/metrics | grep -q ^synhold_' 5 "metrics after a refused call"
	[ "$(pgrep -P "$reader")" != "$http" ] || fail "it is still the same process"
	assert_eq "$(proc_field "$(pgrep -P "$reader")" Seccomp)" 2 "Seccomp of the next one"
	running shield || fail "the daemon ended"
	nothing_refused
}

SOCKET=/run/synhold/default/control.sock

ask_as() { # UID GID TEXT
	setpriv --reuid "$1" --regid "$2" --clear-groups "$TOOLS/ask" "$SOCKET" "$3"
}

test_control_socket_of_a_group() {
	local ping='{"ask":"ping"}' gid
	net_up
	gid=$(getent group daemon | cut -d : -f 3)
	refused 2 "--group 'nosuch' is no group" synhold run s0 --port "web=$PORT" --group nosuch
	SHIELD_ARGS="--group daemon" shield
	assert_eq "$(stat -c '%U %G %a' "$SOCKET")" "root daemon 660" "the control socket"
	assert_eq "$(ask_as 0 0 "$ping" | jq .pid)" "${PROCESS[shield]}" "pid, as root is told"
	assert_eq "$(ask_as 65534 "$gid" "$ping" | jq .pid)" "${PROCESS[shield]}" "pid, as the group is told"
	! ask_as 65534 65534 "$ping" 2>/run/e2e/err || fail "a stranger was let in"
	assert_match "$(cat /run/e2e/err)" "Permission denied" "what a stranger is told"
	# whoever opens the way to it has not opened it
	chmod 0666 "$SOCKET"
	chmod 0755 "${SOCKET%/*}"
	assert_match "$(ask_as 65534 65534 "$ping")" '"error":"not allowed' "what a stranger is told by the daemon"
	assert_eq "$(setpriv --reuid 65534 --regid 65534 --groups "$gid" "$TOOLS/ask" "$SOCKET" "$ping" | jq .pid)" \
		"${PROCESS[shield]}" "pid, as one more of the group is told"
	# the log is of those who may change something
	assert_match "$(ask_as 65534 "$gid" '{"ask":"log","text":"forged"}')" '"error":"not allowed' "the group, for the log"
	[[ $(output shield) != *forged* ]] || fail "the group writes into the log"
}

daemon_fds() {
	find "/proc/${PROCESS[shield]}/fd" -mindepth 1 | wc -l
}

# Clients a second through the shield while somebody hurts the control socket: at least half of what it is without.
test_control_socket_under_attack() {
	local how calm out before fds most=0 number=0
	net_up
	server delay_us=5000
	shield window=4
	before=$(daemon_fds)
	for how in half noise held; do
		number=$((number + 1))
		calm=$(field elapsed_ms "$(storm first=$((number * 1000)) clients=300 patience=8000 retry=200 limit=30000)")
		start flood srv "$TOOLS/ask" "$SOCKET" flood="$how" peers=1000 ms=8000
		wait_until '[ "$(daemon_fds)" -gt "$before" ]' 5
		number=$((number + 1))
		clients herd first=$((number * 1000)) clients=300 patience=8000 retry=200 limit=30000
		while running herd; do
			fds=$(daemon_fds)
			[ "$fds" -le "$most" ] || most=$fds
			sleep 0.1
		done
		finish herd 5
		running flood || fail "the attack was over before the herd was in"
		out=$(output herd)
		expect_line "$out" served=300 corrupt=0
		assert_le "$(field elapsed_ms "$out")" $((calm * 2 + 1000)) "ms for the herd during $how; $calm without"
		echo "figure: $how: $calm ms without, $(field elapsed_ms "$out") ms with"
		# and who has a question gets an answer, after the attack at the latest
		stop flood
		assert_eq "$(ask_as 0 0 '{"ask":"ping"}' | jq .pid)" "${PROCESS[shield]}" "pid after the attack"
	done
	# 64 peers; a listing takes a while, in which some go and others come
	assert_le "$most" $((before + 150)) "file descriptors of the daemon, with 1,000 peers at the door"
	nothing_refused
}

# The pace of release is the service's rate, whatever goes on at the socket: held clients leave at 40 a second, never a
# second without one, while 1,000 peers hurt it in each way, and as a stranger who has found the way to it open.
test_release_pace_under_attack() {
	local how since now was is last number=0 rate=40
	net_up
	server
	shield window=none rate="$rate" burst=1
	for how in half noise held stranger; do
		number=$((number + 1))
		clients herd first=$((number * 1000)) port=$((8000 + number * 2000)) clients=240 patience=30000 limit=30000
		expect -q held\>=180
		if [ "$how" = stranger ]; then
			chmod 0666 "$SOCKET"
			chmod 0755 "${SOCKET%/*}"
			start flood srv setpriv --reuid 65534 --regid 65534 --clear-groups "$TOOLS/ask" "$SOCKET" flood=held peers=1000 ms=20000
		else
			start flood srv "$TOOLS/ask" "$SOCKET" flood="$how" peers=1000 ms=20000
		fi
		wait_until '[ "$(daemon_fds)" -ge 60 ] || [ "'"$how"'" = stranger ]' 5 "the attack to fill the daemon's places"
		was=$(value hold.released) since=$(now_ms) last=$was now=$since
		while [ $((now - since)) -lt 2500 ]; do
			pass_time 0.9
			is=$(value hold.released) now=$(now_ms)
			[ "$is" -gt "$last" ] || fail "nobody was released in a second during $how"
			last=$is
		done
		running flood || fail "the attack was over too early: $(output flood)"
		echo "figure: $how: $(((last - was) * 1000 / (now - since))) a second, $rate expected"
		assert_ge $((last - was)) $((rate * (now - since) / 2000)) "released in $((now - since)) ms during $how"
		assert_le $((last - was)) $((rate * (now - since) / 1000 + rate)) "released in $((now - since)) ms during $how"
		stop flood
		finish herd 30
		expect_line "$(output herd)" served=240 corrupt=0
		assert_eq "$(ask_as 0 0 '{"ask":"ping"}' | jq .pid)" "${PROCESS[shield]}" "pid after the attack"
	done
	nothing_refused
}

PARALLEL=2
run_tests "$@"
