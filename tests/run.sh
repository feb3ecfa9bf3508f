#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds and runs the tests. The last line is `N passed, N failed`; the exit status is 0 only if something ran and
# nothing failed. Logs stay in $BUILD/test-logs.
#
#   tests/run.sh [unit|prog|kernel|e2e|deploy]... [PART OF A NAME]...
#
# unit    pure cores, any user; prog  BPF programs through BPF_PROG_TEST_RUN, root
# kernel  Debian's kernels in QEMU, see tests/kernels; it fetches them, and needs no root
# e2e     the whole in namespaces, root; these two end with their own `N passed, N failed`
# deploy  package, units and image, on a clean Debian; root, and only where it is asked for
set -u

cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
limit_s=${TEST_LIMIT_S:-900} # of one program; none should come near
owner=${SUDO_UID:-$(id -u)}
logs=$BUILD/test-logs
passed=0
failed=0
skipped=0

kinds=()
patterns=()
for word in "$@"; do
	case $word in
	unit | prog | kernel | e2e | deploy) kinds+=("$word") ;;
	-*)
		sed -n 's/^#   \(tests.*\)/usage: \1/p' "$0" >&2
		exit 2
		;;
	*) patterns+=("$word") ;;
	esac
done
[ ${#kinds[@]} -gt 0 ] || kinds=(unit prog kernel e2e)

as_owner() # builds belong to the one who called sudo, not to root
{
	if [ "$(id -u)" -eq 0 ] && [ "$owner" -ne 0 ]; then
		setpriv --reuid "$owner" --regid "${SUDO_GID:-$owner}" --clear-groups "$@"
	else
		"$@"
	fi
}

wanted() # NAME
{
	local pattern
	[ ${#patterns[@]} -gt 0 ] || return 0
	for pattern in "${patterns[@]}"; do
		[[ $1 == *"$pattern"* ]] && return 0
	done
	return 1
}

# cmocka's TAP: a test that did not say `ok`, because it failed or because the program died, has failed.
count_tap() # LOG
{
	awk '
		/^1\.\.[0-9]+$/ { planned += substr($0, 4) }
		/^ok [0-9]+ - / { ok++ }
		/^(not )?ok [0-9]+ # SKIP/ { skip++ }
		END { printf "%d %d %d\n", ok, planned - ok - skip, skip }' "$1"
}

count_own() # LOG
{
	awk '
		/^[0-9]+ passed, [0-9]+ failed$/ { ok = $1; bad = $3; found = 1 }
		END { printf "%d %d 0\n", ok, found ? bad : 1 }' "$1"
}

# Runs it, and leaves log, exit status and how long it took.
execute() # KIND NAME PROGRAM
{
	local kind=$1 log=$logs/$1-$2.log start=$EPOCHREALTIME
	case $kind in
	e2e | deploy)
		ROOTS=$(realpath -m "$BUILD/deploy") DEB=${DEB:-} DIST=${DIST:-} \
			SYNHOLD=$(realpath "$BUILD/synhold") TOOLS=$(realpath -m "$BUILD/tests/e2e") \
			timeout -k 10 "$limit_s" bash "$3" >"$log" 2>&1 </dev/null
		;;
	kernel) BUILD=$BUILD timeout -k 10 "$limit_s" tests/kernels/run.sh "$3" >"$log" 2>&1 </dev/null ;;
	*)
		CMOCKA_MESSAGE_OUTPUT=TAP SYNHOLD_BPF_OBJECT=$(realpath -m "${OBJECT:-$BUILD/synhold.bpf.o}") \
			timeout -k 10 "$limit_s" "$3" >"$log" 2>&1 </dev/null
		;;
	esac
	echo "$? $start $EPOCHREALTIME" >"$log.status"
}

# Says how it went, and counts it.
report() # KIND NAME
{
	local kind=$1 name=$2 log=$logs/$1-$2.log status start end ok bad skip note=
	read -r status start end <"$log.status"
	case $kind in
	kernel | e2e | deploy) read -r ok bad skip < <(count_own "$log") ;;
	*) read -r ok bad skip < <(count_tap "$log") ;;
	esac
	if [ "$status" -ne 0 ]; then
		[ "$bad" -gt 0 ] || bad=1
		note=", exit status $status"
		[ "$status" -ne 124 ] || note=", stopped after $limit_s s"
	elif [ $((ok + bad + skip)) -eq 0 ]; then
		bad=1
		note=", ran no test"
	fi
	[ "$skip" -eq 0 ] || note="$note, $skip skipped"
	printf '%-6s %-28s %4d passed, %d failed%s  (%.1f s)\n' "$kind" "$name" "$ok" "$bad" "$note" \
		"$(awk -v a="$start" -v b="$end" 'BEGIN { print b - a }')"
	if [ "$bad" -gt 0 ]; then
		echo "---- $log"
		if [ "$(wc -l <"$log")" -gt 200 ]; then # what failed, with what was said just before, and the end
			grep -n -B 3 -A 3 -E '^not ok|ERROR|FAIL|Sanitizer' "$log" | head -n 120
			echo "[...]"
			tail -n 40 "$log"
		else
			cat "$log"
		fi
		echo "----"
	fi
	passed=$((passed + ok))
	failed=$((failed + bad))
	skipped=$((skipped + skip))
}

run_one() # KIND PROGRAM [MAKE]
{
	local name
	name=$(basename "$2" .sh)${3:+-$3}
	wanted "$name" || return 0
	execute "$1" "$name" "$2"
	report "$1" "$name"
}

# What the programs do must not depend on the kernel that they are made for.
run_older() # PROGRAM
{
	local make
	for make in static lock; do
		SYNHOLD_VERIFIER_BUDGET=tests/prog/verifier_budget_older.txt OBJECT=$BUILD/synhold_$make.bpf.o \
			run_one prog "$1" "$make"
	done
}

# Guests are single processors: two at a time.
run_kernels()
{
	local series names=() running=0
	while read -r series _; do
		wanted "$series" || continue
		names+=("$series")
		[ "$running" -lt 2 ] || wait -n
		running=$((running < 2 ? running + 1 : 2))
		execute kernel "$series" "$series" &
	done < <(grep -v '^#' tests/kernels/kernels)
	wait
	for series in "${names[@]}"; do
		report kernel "$series"
	done
}

# What the tests of deployment start from; without it, none of them is run.
prepare_deploy()
{
	local version
	version=$(cat VERSION)
	DEB=$(realpath -m "$BUILD/synhold_${version}_$(dpkg --print-architecture).deb")
	DIST=$(realpath -m "$BUILD/synhold-$version.tar.gz")
	tests/deploy/roots.sh "$BUILD/deploy" "$DEB" && return
	failed=$((failed + 1))
	return 1
}

run_kind() # KIND
{
	local kind=$1 program target
	case $kind in
	unit) target=unit-binaries ;;
	prog) target=prog-binaries ;;
	kernel) target=kernel-binaries ;;
	e2e) target=e2e-binaries ;;
	deploy) target=deploy-binaries ;;
	esac
	if [[ $kind == prog || $kind == e2e || $kind == deploy ]] && [ "$(id -u)" -ne 0 ]; then
		echo "$kind: not run: it needs root (sudo tests/run.sh $kind)"
		failed=$((failed + 1))
		return
	fi
	if ! as_owner env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
		make --no-print-directory -k -j "$(nproc)" BUILD="$BUILD" "$target" >"$logs/build-$kind.log" 2>&1; then
		grep -E 'error:|undefined|\*\*\*' "$logs/build-$kind.log" | head -n 40
		echo "$kind: does not build (make BUILD=$BUILD $target); what did build is run"
		failed=$((failed + 1))
	fi
	if [ "$kind" = kernel ]; then
		run_kernels
	elif [ "$kind" = e2e ] || [ "$kind" = deploy ]; then
		[ -x "$BUILD/synhold" ] || return
		[ "$kind" = e2e ] || prepare_deploy || return 0
		for program in tests/"$kind"/test_*.sh; do
			[ ! -e "$program" ] || run_one "$kind" "$program"
		done
	else
		for program in tests/"$kind"/test_*.c; do
			program=$BUILD/${program%.c}
			[ ! -x "$program" ] || run_one "$kind" "$program"
			[ ! -x "$program" ] || [ "$kind" = unit ] || run_older "$program"
		done
	fi
}

as_owner mkdir -p "$BUILD" || exit 1
mkdir -p "$logs" || exit 1
rm -f "$logs"/*.log "$logs"/*.status
[ "$(id -u)" -eq "$owner" ] || chown "$owner" "$logs"
for kind in "${kinds[@]}"; do
	run_kind "$kind"
done
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
[ "$((passed + failed))" -gt 0 ] || echo "no test ran"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
