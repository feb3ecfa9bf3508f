#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is wrong is refused: one line that says what and why, the right exit status, and nothing is changed.
. "$(dirname "$0")/lib.sh"

test_ports() {
	local port
	net_up
	for port in 0 99999 443-80 -5 abc 80,,90 80- web= 'We b=80' 80,80 80-90,85 10.0.0.1/33:80 '[fd00::/129]:80' '10.0.0.1/8:80' ''; do
		refused 2 "." synhold attach s0 --port "$port" window=4
	done
	refused 2 "'0'|0 " synhold run s0 --port 0
	refused 2 "99999" synhold run s0 --port 99999
	refused 2 "443-80" synhold run s0 --port 443-80
	refused 2 "port" synhold attach s0
	refused 2 "port" synhold run s0
	# the same again when there is something that could be changed by mistake
	synhold attach s0 --port "web=$PORT" window=4
	refused 2 "99999" synhold attach s0 --port 99999
	refused 2 "web|other|$PORT" synhold attach s0 --port "other=$PORT"
}

test_keys() {
	local word
	net_up
	for word in rate=-1 rate=abc rate=0 rate=1.5 rate= rate=1x burst=0 window=0 window=65537 window=some share=101% share=50 \
		hold-time=5 hold-time=5parsecs mode=loud action=hug fallback=closed source-prefix4=33 source-prefix6=129 settle-bytes=0 \
		target-delay=0s hold-max=65537 hold-order=oldest; do
		refused 2 "${word%%=*}.*accepted" synhold attach s0 --port "web=$PORT" "$word"
	done
	refused 2 "wibble" synhold attach s0 --port "web=$PORT" wibble=1
	refused 2 "window-min" synhold attach s0 --port "web=$PORT" window-min=9 window-max=8
	synhold attach s0 --port "web=$PORT" window=4 rate=10
	for word in rate=-1 rate=abc share=200% wibble=1 rate; do
		refused 2 "." synhold set web "$word"
	done
	refused 2 "rate" synhold set web burst=9 rate=abc
	refused 2 "global-rate" synhold set web global-rate=5
	refused 2 "." synhold set web
	refused 2 "." synhold set
}

# What was meant is guessed, in words.
test_hints() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	refused 2 "'rate' is given twice.*each key once" synhold set web rate=3k burst=9 rate=4k
	refused 2 "'rate' is given twice.*each key once" synhold attach s0 rate=3k rate=4k
	refused 2 "'ports'; .*--port NAME=80; in a file, a line port = 80" synhold set web ports=80
	refused 2 "'ports'; .*--port NAME=80" synhold attach s0 ports=80
	refused 2 "'shop'; .*--port shop=80,443" synhold attach s0 shop=80,443
	refused 2 "accepted: target-delay=50ms" synhold set web target_delay=50ms
	refused 2 "synhold close SERVICE" synhold set web closed=yes
	printf '[service web]\nports = 80\n' >/run/e2e/conf
	refused 2 "conf:2: unknown key 'ports'; accepted: port = SPEC" synhold reload -c /run/e2e/conf
	refused 2 "accepted: 10.0.0.0/8 for all of the prefix, or 10.0.0.1 for the one address" synhold allow add 10.0.0.1/8
	refused 2 "accepted: fd00::/8 for all of the prefix, or fd00::1 for" synhold deny del fd00::1/8
	refused 2 "accepted: 10.0.0.0/8 for all" synhold prefer add 10.0.0.1/8 4
	refused 2 "--for '0s' is not accepted.*above zero" synhold close web --for 0s
	refused 2 "--for '0s' is not accepted.*above zero" synhold bypass on --for 0s
	# which side is which
	printf '[service web]\nport = %s\nwindow = 4\nrate = 5k\n' "$PORT" >/run/e2e/conf
	assert_eq "$(synhold diff -c /run/e2e/conf)" "# in force → /run/e2e/conf"$'\n'"web rate: none → 5k" "what diff prints"
	# a change that waits: as many seconds as were asked for
	synhold set web rate=9 --confirm 10s >/run/e2e/out
	refused 1 "undone by itself in ([0-9][.][0-9]|10) s" synhold set web rate=8
	synhold confirm >/run/e2e/out
}

# Two commands that everybody tries first, and what they find when there is nothing.
test_nothing_attached() {
	net_up
	assert_match "$(synhold status)" "not attached; synhold check IFACE .*synhold run IFACE --port PORT"
	assert_match "$(synhold top --once -n 10ms)" "synhold run IFACE --port PORT protects a port"
	refused 1 "not attached; synhold run IFACE --port PORT" synhold explain web
	server listening
	SERVER_ADDR=127.0.0.1 SERVER_PORT=9477 server taken
	in_srv ip link set lo up
	refused 1 "cannot listen on 127.0.0.1:9477 for --metrics: Address already in use; give another port" \
		synhold run s0 --port "web=$PORT" --metrics 127.0.0.1:9477
	refused 1 "an address of this machine" synhold run s0 --port "web=$PORT" --metrics 192.0.2.1:9477
}

test_services() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	refused 1 "nosuch.*web|web.*nosuch" synhold set nosuch rate=5
	refused 1 "nosuch" synhold open nosuch
	refused 1 "nosuch" synhold close nosuch
	refused 1 "nosuch" synhold status nosuch
	refused 1 "nosuch" synhold explain nosuch
	refused 2 "." synhold close
	refused 2 "." synhold close web other
	refused 2 "--for" synhold close web --for 5
	refused 2 "--for" synhold close web --for -5s
	refused 2 "--for" synhold bypass on --for soon
	refused 2 "." synhold bypass
	refused 2 "." synhold bypass maybe
}

test_commands() {
	net_up
	refused 2 "wibble" synhold wibble
	refused 2 "command" synhold
	refused 2 "wibble" synhold --wibble status
	refused 2 "wibble" synhold status --wibble
	refused 2 "mode" synhold attach s0 --port "web=$PORT" --mode magic
	refused 2 "." synhold --instance 'no/such' status
	refused 2 "." synhold --instance '../../x' attach s0 --port "web=$PORT" window=3
	refused 2 "." synhold attach --port "web=$PORT" window=4
	assert_eq "$(find / -xdev -name 'x' -newer /run/e2e/logs -path '*synhold*' 2>/dev/null)" "" "files that a wrong name made"
}

test_lists() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	refused 2 "10.0.0.0/33" synhold deny add 10.0.0.0/33
	refused 2 "10.0.0.1/8" synhold deny add 10.0.0.1/8
	refused 2 "nonsense" synhold allow add nonsense
	refused 2 "." synhold allow add
	refused 2 "rate" synhold allow add 10.0.0.1 --rate 0
	refused 2 "for" synhold deny add 10.0.0.1 --for 5
	refused 1 "10.0.0.9" synhold deny del 10.0.0.9
	refused 2 "frob" synhold deny frob 10.0.0.1
	printf '10.1.0.0/16\n10.2.0.0/16 rate\nx\n' >/run/e2e/list
	refused 2 "list:[23]" synhold deny load /run/e2e/list
	refused 1 "nosuch" synhold deny load /run/e2e/nosuch
	assert_eq "$(synhold deny --json | jq '[.. | .cidr? // empty] | length')" 0 "entries"
}

# What is accepted but is likely to be a mistake: a line on standard error, and it is done.
warned() { # PATTERN COMMAND...
	local pattern=$1
	shift
	"$@" >/run/e2e/out 2>/run/e2e/err || fail "'$*' failed: $(cat /run/e2e/err)"
	assert_match "$(cat /run/e2e/err)" "$pattern" "the warning of '$*'"
	assert_eq "$(wc -l </run/e2e/err)" 1 "lines on standard error of '$*'"
}

test_warnings() {
	net_up
	synhold attach s0 --port "web=$PORT" window=16 2>/run/e2e/err
	assert_eq "$(cat /run/e2e/err)" "" "what attach warns of"
	synhold set web window=4 2>/run/e2e/err
	assert_eq "$(cat /run/e2e/err)" "" "a window below a bound that nobody gave"
	warned "window=4 .* window-min=6" synhold set web window-min=6
	warned "shuts every IPv4 client out" synhold deny add 0.0.0.0/0
	warned "shuts every client out" synhold deny add ::/0
	warned "switches the shield off for every IPv4 client, up to 20 SYN/s" synhold allow add 0.0.0.0/0
	synhold deny add ::/0 --confirm 1m 2>/run/e2e/err
	synhold deny add 10.0.0.0/8 2>>/run/e2e/err
	assert_eq "$(cat /run/e2e/err)" "" "warnings without need"
	refused 2 "with a unit" synhold set web target-delay=50
}

test_interfaces() {
	net_up
	ip netns add "$E2E_NAME-x"
	ip -n "$E2E_NAME-x" link add far0 type veth peer name far1
	refused 1 "nosuch0" synhold attach nosuch0 --port "web=$PORT" window=4
	refused 1 "nosuch0" synhold run nosuch0 --port "web=$PORT"
	refused 1 "far0" synhold attach far0 --port "web=$PORT" window=4
	refused 1 "far0" synhold run far0 --port "web=$PORT"
	refused 1 "nosuch0" synhold attach s0 nosuch0 --port "web=$PORT" window=4
	refused 2 "." synhold attach a-name-that-is-too-long --port "web=$PORT" window=4
	no_trace s0
}

# An instance belongs to the network namespace that it was made in.
test_instance_of_another_namespace() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	in_cli "$SYNHOLD" attach c0 --port "web=$PORT" window=4 >/run/e2e/out 2>/run/e2e/err && fail "attached in two namespaces"
	assert_match "$(cat /run/e2e/err)" "another network namespace" "the message"
	expect window=4
	assert_eq "$(json '[.interfaces[].name] | join(" ")')" s0 "interfaces"
}

as_nobody() {
	nsenter --net="/run/netns/$SRV" setpriv --reuid 65534 --regid 65534 --clear-groups /run/e2e/synhold "$@"
}

test_not_root() {
	net_up
	install -m 0755 "$SYNHOLD" /run/e2e/synhold
	chmod 0755 /run/e2e
	refused 1 "root" as_nobody attach s0 --port "web=$PORT" window=4
	refused 1 "root" as_nobody run s0 --port "web=$PORT"
	synhold attach s0 --port "web=$PORT" window=4
	refused 1 "root|sudo" as_nobody set web rate=5
	refused 1 "root|sudo" as_nobody close web
	refused 1 "root|sudo" as_nobody bypass on
	refused 1 "root|sudo" as_nobody deny add 10.0.0.1
	refused 1 "root|sudo" as_nobody detach s0
	refused 1 "root|sudo" as_nobody status
	refused 1 "root|sudo" as_nobody attach s0 --port other=8100
}

test_no_bpffs() {
	net_up
	umount /sys/fs/bpf
	refused 1 "mount -t bpf" synhold attach s0 --port "web=$PORT" window=4
	refused 1 "mount -t bpf" synhold run s0 --port "web=$PORT"
	no_trace s0
	mount -t bpf bpf /sys/fs/bpf
}

foreign_program() {
	net_up
	in_srv "$TOOLS/foreign" s0 "$1"
	refused 1 "someone_else" synhold attach s0 --port "web=$PORT" window=4
	refused 1 "someone_else" synhold run s0 --port "web=$PORT"
	assert_match "$(ip -n "$SRV" link show s0)" "someone_else" "the other program"
	ip -n "$SRV" link set dev s0 xdp off
	ip -n "$SRV" link set dev s0 xdpgeneric off
}

test_foreign_program_native() {
	foreign_program native
}

test_foreign_program_generic() {
	foreign_program generic
}

test_not_attached() {
	net_up
	refused 1 "not attached" synhold set web rate=5
	refused 1 "not attached" synhold close web
	refused 1 "not attached" synhold open web
	refused 1 "not attached" synhold bypass on
	refused 1 "not attached" synhold confirm
	refused 1 "not attached" synhold deny add 10.0.0.1
	refused 1 "not attached" synhold save
	refused 1 "not attached" synhold reload
	refused 1 "not attached" synhold diff
	refused 1 "not attached" synhold ramp web --from 1% --to 100% --over 1m
	refused 1 "not attached" synhold signal web queue 1
	refused 1 "not attached" synhold status web
	local command
	for command in allow deny prefer "explain web" "suggest web" "flush web"; do
		# shellcheck disable=SC2086 # words
		refused 1 "'default' is not attached; synhold run .* or synhold attach " synhold $command
	done
	refused 2 "rate" synhold set web rate=abc
}

test_config_files() {
	local line
	net_up
	refused 1 "nosuch.conf" synhold attach s0 -c /run/e2e/nosuch.conf
	: >/run/e2e/empty.conf
	refused 2 "service" synhold attach s0 -c /run/e2e/empty.conf
	for line in 'rate = abc' 'wibble = 1' 'rate' '[service web]' '[nonsense]' 'port = 0' 'rate = 5
rate = 6'; do
		printf '[service web]\nport = %s\n%s\n' "$PORT" "$line" >/run/e2e/bad.conf
		refused 2 "bad.conf:[34]:" synhold attach s0 -c /run/e2e/bad.conf
		refused 2 "bad.conf:[34]:" synhold run s0 -c /run/e2e/bad.conf
	done
	printf '[service web]\nrate = 5\n' >/run/e2e/bad.conf
	refused 2 "port" synhold attach s0 -c /run/e2e/bad.conf
	synhold attach s0 --port "web=$PORT" window=4
	refused 2 "bad.conf" synhold reload -c /run/e2e/bad.conf
	refused 1 "nosuch.conf" synhold reload -c /run/e2e/nosuch.conf
}

PARALLEL=3
run_tests "$@"
