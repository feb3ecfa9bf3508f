#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two instances on one machine, and what stands in each other's way.
. "$(dirname "$0")/lib.sh"

as() { # INSTANCE COMMAND...
	local SYNHOLD_INSTANCE=$1
	export SYNHOLD_INSTANCE
	shift
	"$@"
}

test_two_instances() {
	net_up
	net_second
	server
	daemon shield_a --instance a s0 --port "web=$PORT" action=drop rate=1 burst=3
	daemon shield_b --instance b s1 --port "web=$PORT" action=drop rate=1 burst=5
	expect_line "$(storm clients=10 patience=800)" served=3
	as a expect syn.seen=10 syn.admitted=3 over_limit.service_rate=7
	as b expect syn.seen=0
	DST=10.8.0.2
	expect_line "$(storm clients=10 patience=800)" served=5
	as b expect syn.seen=10 syn.admitted=5 over_limit.service_rate=5
	as a expect syn.seen=10
	as a synhold close web
	as a expect state=closed
	as b expect state=open
	as b synhold deny add 10.10.0.0/16
	assert_eq "$(as a synhold deny --json | jq '[.. | .cidr? // empty] | length')" 0 "entries of the other's list"
	as a synhold detach --all
	finish shield_a 5
	as b expect syn.seen=10
	running shield_b || fail "the second daemon ended with the first instance"
	no_trace s0
	assert_eq "$(instances)" "b" "instances"
	# without a name it is the default one that is meant
	assert_eq "$(json '.services | length')" 0 "services of the default instance"
}

test_instance_by_option() {
	net_up
	synhold --instance a attach s0 --port "web=$PORT" window=4
	assert_eq "$(synhold --instance a status --json | jq -r '.instance, .services[0].name' | paste -sd ' ')" "a web" "the status"
	assert_eq "$(synhold status --json | jq -r '.services | length')" 0 "services of the default instance"
	synhold --instance a detach s0
}

test_interface_of_another_instance() {
	net_up
	shield
	refused 1 "synhold_shield|instance 'default'" synhold --instance b attach s0 --port "web=$PORT" window=4
	refused 1 "synhold_shield|instance 'default'" synhold --instance b run s0 --port "web=$PORT"
	assert_eq "$(instances)" "default" "instances"
}

# All interfaces or none.
test_second_interface_is_taken() {
	net_up
	net_second
	synhold --instance a attach s1 --port "web=$PORT" window=4
	refused 1 "s1" synhold attach s0 s1 --port "web=$PORT" window=4
	no_trace s0
}

# One policy, one set of counters, over all interfaces of the instance.
test_one_instance_two_interfaces() {
	net_up
	net_second
	server
	daemon shield s0 s1 --port "web=$PORT" action=drop rate=1 burst=6
	expect_line "$(storm clients=4 patience=800)" served=4
	DST=10.8.0.2
	expect_line "$(storm clients=4 first=100 patience=800)" served=2
	expect syn.seen=8 syn.admitted=6 over_limit.service_rate=2 handshakes.settled=6
}

# A request comes in by one interface, the answer leaves by another of the same instance: it settles all the same.
test_answers_by_the_other_interface() {
	net_up
	net_second astray
	server
	daemon shield s0 s1 --port "web=$PORT" window=4
	DST=10.8.0.2
	expect_line "$(storm clients=100)" served=100
	expect handshakes.started=100 handshakes.settled=100 inflight=0
}

PARALLEL=3
run_tests "$@"
