#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `synhold top` in a real terminal: what it shows, what its keys change, any size, without colour too.

. "$(dirname "$0")/lib.sh"

terminal() { # COLUMNS LINES [VARIABLE=VALUE...]
	local columns=$1 lines=$2
	shift 2
	export TMUX_TMPDIR=/run/e2e
	tmux -f /dev/null new-session -d -x "$columns" -y "$lines" "nsenter --net=/run/netns/$SRV env $* $SYNHOLD top --interval 200ms; echo left with status \$?; sleep 60"
}

screen() {
	tmux capture-pane -p
}

shows() { # TEXT [SECONDS]
	wait_until "screen | grep -qF -- '$1'" "${2:-8}" "'$1' on the screen"
}

keys() {
	tmux send-keys "$@"
}

test_what_it_shows() {
	net_up
	server delay_us=20000
	shield window=8
	terminal 80 24
	shows "synhold default"
	shows "s0 native"
	shows "open"
	clients herd clients=400 patience=30000
	shows "limiting"
	shows "window"
	shows "MOST HELD FROM"
	assert_le "$(screen | LC_ALL=C.UTF-8 wc -L)" 80 "columns used"
	finish herd 30
	shows "open" 15
	keys q
	shows "left with status 0"
}

test_keys() {
	net_up
	server
	shield
	terminal 80 24 NO_COLOR=1 TERM=vt100
	shows "web"
	keys r 5 0 Escape
	pass_time 0.5
	expect rate=null
	keys r 5 x Enter
	shows "is not accepted"
	expect rate=null
	keys r 5 BSpace 7 Enter
	shows "rate: none"
	expect rate=7
	keys c n
	pass_time 0.5
	expect state=open
	keys c y
	shows "closed"
	expect state=closed
	keys o y
	expect state=open
	keys b y
	shows "BYPASS is on"
	keys b y
	wait_until '[ "$(json .bypass)" = false ]' 5
	keys '?'
	shows "another service"
	keys '?' q
	shows "left with status 0"
	expect rate=7
}

test_any_size() {
	local size
	net_up
	server
	shield
	terminal 80 24
	shows "web"
	for size in 200x60 40x10 20x3 1x1 400x120 80x24; do
		tmux resize-window -x "${size%x*}" -y "${size#*x}"
		wait_until '[ "$(tmux display -p "#{window_width}x#{window_height}")" = '"$size"' ]' 3
	done
	shows "SERVICE"
	shows "web"
	keys q
	shows "left with status 0"
}

# Without a daemon, without an instance, without a terminal.
test_without() {
	net_up
	terminal 80 24
	shows "not attached"
	synhold attach s0 --port "web=$PORT"
	shows "NO DAEMON"
	shows "static"
	keys q
	shows "left with status 0"
	assert_eq "$(synhold top </dev/null 2>&1 || echo "status $?")" "synhold: top needs a terminal; synhold top --once, synhold status --json
status 1"
	assert_match "$(synhold top --once --interval 100ms)" "web +static"
	assert_eq "$(synhold top --json | jq -r '.services[0].name')" web "the service"
	refused 2 "not accepted here" synhold top web
}

run_tests "$@"
