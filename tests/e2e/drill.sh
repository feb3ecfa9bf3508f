# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For the tests of drills: one run of a drill, in a network of its own. After lib.sh.

# drill NAME OPTION...: its object in $OBJECT, its exit status in $STATUS. One whose capacity could not be measured is tried again.
drill() {
	local try
	for try in 1 2 3; do
		STATUS=0
		unshare -n "$SYNHOLD" drill "$@" --json --svg /run/e2e/drill.svg --log /run/e2e/drill.log >/run/e2e/drill.json \
			2>/run/e2e/drill.err || STATUS=$?
		OBJECT=$(cat /run/e2e/drill.json)
		[ "$(jq -r '.error.code' <<<"$OBJECT")" = EAGAIN ] || return 0
		assert_eq "$STATUS" 1 "exit status of a drill that was inconclusive (try $try)"
	done
	skip "the capacity could not be measured: the machine is busy"
}
