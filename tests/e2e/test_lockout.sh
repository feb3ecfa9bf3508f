#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whoever sets a shield up over SSH: told in time, and back in by themselves when they have locked themselves out.
. "$(dirname "$0")/lib.sh"

SESSION="10.10.1.1 50000 10.9.0.2 $PORT" # of the first client, as sshd has it

told() { # what the last command said on stderr
	grep -c "own SSH session.*synhold allow add 10.10.1.1, or --allow-me" /run/e2e/err || true
}

attach_in() { # SSH_CONNECTION ARGUMENT...
	local session=$1
	shift
	SSH_CONNECTION=$session synhold attach s0 --port "ssh=$PORT" "$@" >/run/e2e/out 2>/run/e2e/err
}

test_warning() {
	net_up
	attach_in "$SESSION" rate=10
	assert_eq "$(told)" 1 "warnings of attach"
	SSH_CONNECTION=$SESSION synhold set ssh rate=20 >/run/e2e/out 2>/run/e2e/err
	assert_eq "$(told)" 1 "warnings of set"
	# sudo takes the variable away, and the shell that started it still has it
	SSH_CONNECTION=$SESSION bash -c 'env -u SSH_CONNECTION "$@"; exit $?' bash \
		nsenter --net="/run/netns/$SRV" "$SYNHOLD" set ssh rate=30 >/run/e2e/out 2>/run/e2e/err
	assert_eq "$(told)" 1 "warnings without the variable"
	# another port, another address of this host, nothing enforced: nothing to warn of
	for session in "10.10.1.1 50000 10.9.0.2 22" "nonsense"; do
		SSH_CONNECTION=$session synhold set ssh rate=20 >/run/e2e/out 2>/run/e2e/err
		assert_eq "$(cat /run/e2e/err)" "" "warnings in session '$session'"
	done
	SSH_CONNECTION=$SESSION synhold set ssh mode=monitor >/run/e2e/out 2>/run/e2e/err
	assert_eq "$(told)" 0 "warnings of a service that only counts"
	synhold allow add 10.10.0.0/16 >/run/e2e/out
	SSH_CONNECTION=$SESSION synhold set ssh mode=enforce >/run/e2e/out 2>/run/e2e/err
	assert_eq "$(told)" 0 "warnings with the address on the list"
}

test_allow_me() {
	net_up
	refused 1 "no SSH session" env -u SSH_CONNECTION "$SYNHOLD" attach lo --port "ssh=$PORT" --allow-me
	attach_in "$SESSION" rate=10 --allow-me
	assert_eq "$(cat /run/e2e/err)" "" "warnings of attach --allow-me"
	assert_eq "$(synhold allow --json | jq -c '[.[].cidr]')" '["10.10.1.1"]' "the allow list"
	synhold allow del 10.10.1.1 >/run/e2e/out
	SSH_CONNECTION=$SESSION synhold set ssh rate=20 --allow-me --confirm 1s >/run/e2e/out 2>/run/e2e/err
	assert_eq "$(synhold allow --json | jq length)" 1 "entries with set --allow-me"
	# one change: unconfirmed, both are undone
	wait_until '[ "$(synhold allow --json | jq length)" = 0 ]' 5
	expect rate=10
}

# Cut off by one's own hand: 5 s later a new connection works again.
cut_off() {
	local began
	server
	expect_line "$(storm clients=1 patience=1000)" served=1
	began=$(now_ms)
	attach_in "$SESSION" rate=none action=drop mode=enforce share=0% --confirm 5s
	expect_line "$(storm clients=1 first=1 patience=800)" served=0
	wait_until 'storm clients=1 first=2 patience=800 | grep -q served=1' 15 "a new connection to get in again"
	assert_ge $(($(now_ms) - began)) 4500 "ms until it did"
	wait_until '[ -z "$(instances)" ]' 5 "the shield to be off"
}
both cut_off

PARALLEL=3
run_tests "$@"
