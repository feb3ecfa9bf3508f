# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the benches with other people's servers share. A bench sources it, defines one function test_*, and ends with `bench NAME "$@"`. It
# runs in private namespaces as the end-to-end tests do, when no drill and no other bench runs on this machine; the server has a CPU for itself.
# Its function reports by row and bound. In the end all of it is printed, as tables or with --json as one object; the exit status is 1
# when a bound was missed or the measurement failed.

. "$(dirname "${BASH_SOURCE[0]}")/../../e2e/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../../e2e/servers.sh"
pin_apart

# ------------------------------------------------------------------------------------------------------ what is reported

say() {
	echo "$*" >&7
}

calc() { # EXPRESSION: to three places
	awk "BEGIN { printf \"%.3f\", ($1) }"
}

# row TABLE KEY=VALUE...: values are numbers or words
row() {
	local table=$1
	shift
	say "$table: $*"
	jq -nc --arg table "$table" '{table: $table, row: (reduce ($ARGS.positional[] | capture("^(?<k>[^=]*)=(?<v>.*)$")) as $c
		({}; .[$c.k] = ($c.v | tonumber? // $c.v)))}' --args "$@" >>"$RESULTS"
}

# bound WHAT VALUE OPERATOR LIMIT
bound() {
	local good=false
	! number_holds "$2" "$3" "$4" || good=true
	say "$1: $2, must be $3 $4"
	jq -nc --arg what "$1" --argjson value "$2" --arg must "$3 $4" --argjson ok $good '{bound: $what, value: $value, must: $must, ok: $ok}' >>"$RESULTS"
}

# ------------------------------------------------------------------------------------------------------ measuring

# agreed FUNCTION: runs it until two of its RATEs in a row differ by at most 5 %; RATE is their mean then. What is measured here is what
# everything else is compared with, so a machine that is too busy for it is an error.
agreed() {
	local before=0 try
	for try in 1 2 3 4 5 6; do
		"$@"
		row "closed loop" run="$try" "per_second=$RATE"
		if number_holds "$(calc "$before > 0 && ($before - $RATE) ^ 2 <= (0.05 * $RATE) ^ 2")" '==' 1; then
			RATE=$(calc "($before + $RATE) / 2")
			return
		fi
		before=$RATE
	done
	fail "six closed loops in a row, and no two that agree within 5 %: something else wants this machine's time"
}

rate_of() { # a client tool's last line
	calc "$(field served "$1") * 1000 / $(field elapsed_ms "$1")"
}

p50_of() { # a client tool's last line, CLIENTS: of all of them, and nothing when fewer than half were served
	if [ "$(field served "$1")" -ge $(($2 / 2)) ]; then
		field p50_ms "$1"
	else
		echo none
	fi
}

herd() { # key=value...: plain clients off the server's CPU
	on_client_cpus "$TOOLS/storm" "$DST" "$PORT" "$@"
}

plain_loop() {
	RATE=$(rate_of "$(herd clients="${LOOP:-1500}" parallel=8 patience=60000)")
}

# ------------------------------------------------------------------------------------------------------ running

print_results() { # JSON
	if [ -n "$JSON" ]; then
		jq . <<<"$1"
		return
	fi
	jq -r '"\(.bench), \(.settings | to_entries | map("\(.key) \(.value)") | join(", "))",
		(.tables | to_entries[] | "", .key, ((.value[0] | keys_unsorted | @tsv), (.value[] | map(tostring) | @tsv) | "\t" + .)),
		"", (.bounds[] | "\(if .ok then "kept  " else "MISSED" end) \(.bound): \(.value), must be \(.must)")' <<<"$1" |
		awk -F'\t' 'NF == 1 { print; next } { for (i = 2; i <= NF; i++) printf("%*s", (length($i) > 16 ? length($i) + 2 : 18), $i); print "" }'
}

# bench NAME SETTINGS ARGUMENT...: SETTINGS are KEY=VALUE words that belong to the figures
bench() {
	local name=$1 settings=$2 child status=0 result
	shift 2
	case ${1:-} in
	--one) run_tests "$@" ;; # in the namespaces
	--all) run_tests "${@:2}" ;;
	esac
	JSON=
	[ "${1:-}" != --json ] || { JSON=1; shift; }
	[ $# = 0 ] || { echo "$0: '$1' is not understood; the form is: ${USAGE:-$0 [--json]}" >&2; exit 2; }
	[ -x "$TOOLS/turn" ] || { echo "$TOOLS/turn is missing: make e2e-binaries builds it" >&2; exit 1; }
	exec 7>&2
	RESULTS=$(mktemp)
	export RESULTS
	log=$(mktemp)
	trap 'rm -f "$RESULTS" "$log"; end_bench' EXIT
	"$TOOLS/turn" bash "$0" --all "$(declare -F | sed -n 's/^declare -f \(test_.*\)$/\1/p')" >"$log" 2>&1 </dev/null &
	child=$!
	trap 'kill -TERM $child; wait $child; exit 130' INT TERM HUP
	wait $child || status=$?
	result=$(jq -s --arg bench "$name" --arg settings "$settings" '{bench: $bench,
		settings: ($settings | split(" ") | map(select(. != "") | split("=") | {(.[0]): (.[1] | tonumber? // .)}) | add),
		tables: (reduce (.[] | select(.table)) as $r ({}; .[$r.table] += [$r.row])),
		bounds: map(select(.bound))}
		| .ok = (.bounds | length > 0 and all(.ok))' "$RESULTS")
	print_results "$result"
	if [ $status != 0 ]; then
		cat "$log" >&2
		exit 1
	fi
	jq -e .ok <<<"$result" >/dev/null || exit 1
	exit 0
}

end_bench() {
	:
}
