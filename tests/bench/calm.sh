#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What calm traffic notices: five pairs of 200 connections/s for ten seconds, without and with the shield in turn. Prints the 99th percentile
# of the time to connect of each, and their difference. Fails when the median of the differences is above one millisecond or anything was
# held. Root; private namespaces. PAIRS and SECONDS_EACH change the size.
. "$(dirname "$0")/../e2e/lib.sh"

test_calm_latency() {
	local pair without with all=() held
	net_up
	server
	for pair in $(seq "${PAIRS:-5}"); do
		without=$(field p99_us "$(storm do=dial rate=200 clients=$((200 * ${SECONDS_EACH:-10})) patience=3000)")
		shield
		with=$(field p99_us "$(storm do=dial rate=200 clients=$((200 * ${SECONDS_EACH:-10})) patience=3000)")
		held=$(json '.services[0].syn | .held + .dropped + .rejected')
		assert_eq "$held" 0 "SYNs held, dropped or rejected"
		stop shield
		synhold detach --all >/run/e2e/out
		all+=($((with - without)))
		echo "pair $pair: p99 to connect $without us without, $with us with" >>"$REPORT"
	done
	printf '%s\n' "${all[@]}" | sort -n | awk '{ v[NR] = $1 } END { print "median of the differences: " v[int((NR + 1) / 2)] " us" }' >>"$REPORT"
	assert_le "$(printf '%s\n' "${all[@]}" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')" 1000 \
		"median difference of the 99th percentiles, in us"
}

export REPORT=${REPORT:-$(mktemp)}
trap 'cat "$REPORT"' EXIT
( run_tests "$@" )
