#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzzes each tests/fuzz/fuzz_*.c with libFuzzer, ASan and UBSan, for SECONDS (20) each, from tests/fuzz/corpus/NAME/ if
# that is there. The last line is `N passed, N failed`. What makes a target fail stays in $BUILD/crashes.
#
#   tests/fuzz.sh [SECONDS [PART OF A NAME]...]
#   tests/fuzz.sh long      FUZZ_RUNS (ten million) golden, mutated and random frames through the parser, natively under the sanitizers
#                           and, as root, through the kernel's: all must say the same. Two minutes
set -u

cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build/fuzz}
if [ "${1:-}" = long ]; then
	mkdir -p "$BUILD" || exit 1
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j "$(nproc)" BUILD="$BUILD/long" CFLAGS='-O1 -g' \
		SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined' \
		"$BUILD"/long/tests/{prog/test_parse,fuzz/parse.bpf.o} >"$BUILD/build.log" 2>&1 || {
		grep -E 'error:|\*\*\*' "$BUILD/build.log" | head -n 20
		echo "0 passed, 1 failed"
		exit 1
	}
	[ "$(id -u)" -eq 0 ] || export SYNHOLD_PARSE_NATIVE=1
	if SYNHOLD_BPF_OBJECT=$BUILD/long/synhold.bpf.o SYNHOLD_PARSE_FRAMES=${FUZZ_RUNS:-10000000} "$BUILD/long/tests/prog/test_parse"; then
		echo "1 passed, 0 failed"
		exit 0
	fi
	echo "0 passed, 1 failed"
	exit 1
fi
seconds=${1:-20}
[ $# -eq 0 ] || shift
passed=0
failed=0

probe=$(mktemp -d) || exit 1
trap 'rm -rf "$probe"' EXIT
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n > 1u << 30; }' >"$probe/probe.c"
if ! clang -fsanitize=fuzzer "$probe/probe.c" -o "$probe/probe" 2>/dev/null; then
	echo "clang has no libFuzzer here: sudo tests/deps.sh lint"
	echo "0 passed, 1 failed"
	exit 1
fi

# clang warns of what gcc accepts: warnings are the business of the normal build
make_core()
{
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make --no-print-directory -j "$(nproc)" BUILD="$BUILD" CC=clang WARNINGS=-w \
		CFLAGS='-O1 -g' SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined' "$@"
}
mkdir -p "$BUILD/crashes" || exit 1
if ! make_core "$BUILD/libcore.a" >"$BUILD/build.log" 2>&1; then
	grep -E 'error:|\*\*\*' "$BUILD/build.log" | head -n 20
	echo "the code under the fuzzers does not build with clang: $BUILD/build.log"
	echo "0 passed, 1 failed"
	exit 1
fi
mapfile -t flags < <(make_core -s compile-flags)
read -r -a libs < <(pkg-config --libs libbpf libelf zlib libevent_core inih jansson smartcols ncursesw libmnl libmicrohttpd libseccomp libcap-ng)

fuzz_one() # SOURCE NAME
{
	local source=$1 name=$2 work=$BUILD/corpus-$2 seeds=()
	clang -fsanitize=fuzzer "${flags[@]}" "$source" "$BUILD/libcore.a" "${libs[@]}" -lm -o "$BUILD/$name" || return
	mkdir -p "$work"
	[ ! -d "tests/fuzz/corpus/$name" ] || seeds=("tests/fuzz/corpus/$name")
	"$BUILD/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
		-artifact_prefix="$BUILD/crashes/$name-" "$work" "${seeds[@]}" >"$BUILD/$name.log" 2>&1
}

for source in tests/fuzz/fuzz_*.c; do
	[ -e "$source" ] || continue
	name=$(basename "$source" .c)
	[ $# -eq 0 ] || [[ " $* " == *" ${name#fuzz_} "* ]] || continue
	if fuzz_one "$source" "$name"; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$BUILD/$name.log")
		if [ "${runs:-0}" -gt 1000 ]; then
			echo "fuzz $name: $runs inputs in $seconds s"
			passed=$((passed + 1))
			continue
		fi
		echo "fuzz $name: only ${runs:-0} inputs in $seconds s"
	else
		echo "fuzz $name: failed"
		[ ! -e "$BUILD/$name.log" ] || tail -n 40 "$BUILD/$name.log"
	fi
	failed=$((failed + 1))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
