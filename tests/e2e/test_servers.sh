#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Other people's servers, and capacity that moves: the short form of tests/bench/servers, with bounds that hold on a busy machine. What counts
# there is the server's own CPU time: a storm may cost it little more than the same clients cost one after the other.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/servers.sh"

# costs_little BEFORE_MS ONCE_MS WHAT: the server's CPU time since, against what the same clients cost it in a closed loop
costs_little() {
	assert_le "$(($(cpu_ms server) - $1))" $(($2 * 2)) "CPU time of the server for $3, in ms; they cost it $2 in a closed loop"
}

# A storm with all of its clients at once, who leave after two seconds and come back: all are served, and the handshakes are made once.
tls() { # haproxy|nginx
	local before once
	net_wide
	certificate 3072
	tls_server "$1"
	expect_line "$(tls_storm clients=100 parallel=4 patience=20000)" served=100
	before=$(cpu_ms server)
	expect_line "$(tls_storm clients=800 parallel=4 patience=20000)" served=800
	once=$(($(cpu_ms server) - before))
	shield
	before=$(cpu_ms server)
	expect_line "$(tls_storm clients=800 patience=2000 retry=200 limit=40000)" served=800 unfinished=0
	expect hold.entered\>=400
	costs_little "$before" "$once" "800 handshakes"
}
test_tls_haproxy() { tls haproxy; }
test_tls_nginx() { tls nginx; }

# socket.io: sessions of four connections each, all cut at once, come back by the library's own policy. The window is one that many of
# those connections have to wait for, on a quick machine too.
test_socketio() {
	local before once out
	net_wide
	node_server 5
	before=$(cpu_ms server)
	node_clients clients 150 4 60
	wait_until "grep -q full $LOGS/clients.log" 60 "the clients of socket.io to be in"
	once=$(($(cpu_ms server) - before))
	shield window=16
	before=$(cpu_ms server)
	kill -USR2 "${PROCESS[server]}"
	finish clients 80
	out=$(output clients)
	expect_line "${out##*$'\n'}" count=150
	expect hold.entered\>=150
	costs_little "$before" "$once" "150 sessions"
}

# Jobs take half of every CPU in the middle of a storm: all are served, and little is worked on in vain.
test_cpu_halved() {
	local before cpu
	net_wide
	cpu_server 2000
	shield
	before=$(cpu_ms server)
	start herd cli "$TOOLS/storm" "$DST" "$PORT" clients=1500 patience=5000 retry=200 limit=90000
	expect -q -t 40 handshakes.settled\>=300
	for cpu in "${CPUS[@]}"; do
		busy "job$cpu"
	done
	expect -q -t 60 handshakes.settled\>=700
	for cpu in "${CPUS[@]}"; do
		stop "job$cpu" KILL
	done
	finish herd 100
	expect_line "$(tail -n 1 "$LOGS/herd.log")" served=1500 unfinished=0
	costs_little "$before" 3000 "1,500 connections of 2 ms"
}

# 100 connections a second that complete and stay silent, from 50 sources: the others are served as before, in calm and in a storm.
test_silent() {
	local out
	net_wide
	server delay_us=2000
	shield
	clients calm first=1000 rate=50 clients=400 patience=5000 retry=500
	expect -q handshakes.settled\>=25
	clients silent do=idle rate=100 sources=50 port=30000 clients=6000 linger=20000 patience=20000
	finish calm 30
	out=$(tail -n 1 "$LOGS/calm.log")
	expect_line "$out" served=400 unfinished=0
	assert_le "$(field p50_ms "$out")" 100 "ms to be served beside silent connections"
	expect -q -t 10 handshakes.expired\>=200
	expect_line "$(storm first=1000 clients=1000 patience=20000 limit=20000)" served=1000 unfinished=0
	stop silent KILL
}

# Nobody but such connections since the shield was attached, at first with its smallest window: what comes then is served all the same.
test_silent_alone() {
	local out
	net_wide
	server delay_us=2000
	shield
	clients silent do=idle rate=100 sources=50 port=30000 clients=6000 linger=20000 patience=20000
	expect -q -t 20 handshakes.expired\>=300 handshakes.asked=0 handshakes.settled=0
	out=$(storm first=1000 clients=1000 patience=20000 limit=20000)
	expect_line "$out" served=1000 unfinished=0
	assert_le "$(field p50_ms "$out")" 8000 "ms to be served after silent connections only"
	expect handshakes.asked\>=1000
	stop silent KILL
}

run_tests "$@"
