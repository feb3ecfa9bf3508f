#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a reviewer should not have to look for. Each check says OK or what is wrong; the exit status is 0 only if all are.
#
#   tests/lint.sh [CHECK]...    default: all of them (format tidy cppcheck shell spdx includes text size contract exact manual rules)
set -u

cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
jobs=$(nproc)
all=(format tidy cppcheck shell spdx includes text size contract exact manual rules)

# Files that may be longer than 400 lines, each with its own end and the reason.
size_limit=400
size_exceptions="
	include/synhold/abi.h            580   all that crosses the kernel line, on one page
	tests/unit/test_control.c        900   one story a storm, on one simulated plant
	tests/unit/test_holdq.c          900   one test a rule of the queue
	tests/unit/test_holdq_model.c    700   the queue against a naive model
	tests/unit/test_frame.c          450   golden and hostile frames beside each other
	tests/e2e/lib.sh                 600   the harness, one page to know it all
	tests/e2e/test_levers.sh         500   one test a lever
"

# What git would keep, or all that is there when this is no clone.
list_files()
{
	if [ -d .git ] && git -c safe.directory="$PWD" ls-files -co --exclude-standard 2>/dev/null; then
		return
	fi
	find . -path ./.git -prune -o -path ./build -prune -o -type f -print | sed 's|^\./||'
}
mapfile -t files < <(list_files | while read -r f; do [ ! -f "$f" ] || echo "$f"; done | sort -u)

matching() # REGEX
{
	printf '%s\n' "${files[@]}" | grep -E "$1"
}
mapfile -t sources < <(matching '\.[ch]$')
mapfile -t scripts < <(matching '\.sh$|^\.ci/run$')

need() # TOOL
{
	command -v "$1" >/dev/null && return
	echo "$1 is not installed: sudo tests/deps.sh lint"
	return 1
}

check_format()
{
	need clang-format || return
	local file bad=0
	for file in "${sources[@]}"; do
		clang-format --dry-run -Werror "$file" >/dev/null 2>&1 && continue
		echo "$file: clang-format -i $file would change $(clang-format "$file" | diff "$file" - | grep -c '^<') lines"
		bad=1
	done
	return $bad
}

# The rules of .clang-tidy; the compiler's own warnings are the build's business.
check_tidy()
{
	need clang-tidy || return
	local flags bpf_flags status=0
	make --no-print-directory -s BUILD="$BUILD" "$BUILD/gen/synhold.skel.h" >/dev/null || return
	flags=$(make --no-print-directory -s BUILD="$BUILD" compile-flags | grep -v '^-W') || return
	bpf_flags=$(make --no-print-directory -s BUILD="$BUILD" bpf-compile-flags | grep -v '^-W') || return
	export flags bpf_flags
	# shellcheck disable=SC2086 # one flag a word
	tidy()
	{
		clang-tidy --quiet "$@" -- $flags 2>/dev/null
	}
	export -f tidy
	matching '^user/.*\.c$' | xargs -P "$jobs" -n 6 bash -c 'tidy "$@"' tidy || status=1
	# tests may call ip(8) through system(), want the same numbers each time, and write bytes side by side
	matching '^tests/.*\.c$' | grep -v '\.bpf\.c$' | xargs -P "$jobs" -n 6 bash -c 'tidy "$@"' tidy \
		--checks=-cert-env33-c,-cert-msc30-c,-cert-msc32-c,-cert-msc50-cpp,-cert-msc51-cpp,-bugprone-suspicious-missing-comma ||
		status=1
	# packets are reached through 32-bit offsets in the context; a program's context may stay unused
	# shellcheck disable=SC2086
	matching '^bpf/.*\.bpf\.c$' | xargs -I{} clang-tidy --quiet \
		--checks=-performance-no-int-to-ptr,-misc-unused-parameters {} -- $bpf_flags 2>/dev/null || status=1
	return $status
}

check_cppcheck()
{
	need cppcheck || return
	matching '^(user|tests)/.*\.c$' | grep -v '\.bpf\.c$' >"$tmp/cppcheck"
	cat >"$tmp/macros.h" <<'EOF'
#define LIBBPF_OPTS(type, name, ...) struct type name = {0}
#define bpf_object__for_each_program(pos, obj) \
	for (pos = bpf_object__next_program(obj, 0); pos; pos = bpf_object__next_program(obj, pos))
#define json_array_foreach(list, i, value) \
	for (i = 0; i < json_array_size(list) && (value = json_array_get(list, i)); i++)
#define json_object_foreach(object, key, value) \
	for (key = json_next(object, 0); key && (value = json_object_get(object, key)); key = json_next(object, key))
EOF
	# void pointers count bytes in GNU C; assertions of tests guard what cppcheck cannot see
	cppcheck -q --enable=warning,performance,portability --error-exitcode=1 --inline-suppr --std=c11 -j "$jobs" \
		-Iinclude -Iuser -I. -D_GNU_SOURCE '-DSYNHOLD_VERSION=""' --include="$tmp/macros.h" \
		--suppress=missingIncludeSystem --suppress=arithOperationsOnVoidPointer \
		--suppress='nullPointer:tests/*' --suppress='nullPointerRedundantCheck:tests/*' --suppress='uninitvar:tests/*' --file-list="$tmp/cppcheck"
}

check_shell()
{
	need shellcheck || return
	shellcheck -f gcc "${scripts[@]}"
}

check_spdx()
{
	local file bad=0
	while read -r file; do
		head -n 2 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-or-later' && continue
		echo "$file: no 'SPDX-License-Identifier: GPL-2.0-or-later' in the first two lines"
		bad=1
	done < <(matching '\.([ch]|sh|service|yml|yaml|1|5|8)$|(^|/)Makefile$|^\.ci/run$')
	return $bad
}

check_includes()
{
	tests/check-includes.sh .
}

# Ends of lines and of files.
check_text()
{
	local file bad=0
	while read -r file; do
		grep -HnE '[[:blank:]]+$' "$file" | sed 's/:.*//;s/$/: blanks at the end of a line/' | sort -u | grep . && bad=1
		[ -z "$(tail -c 1 "$file")" ] || { echo "$file: no newline at the end"; bad=1; }
		grep -lq $'\r' "$file" && { echo "$file: carriage returns"; bad=1; }
	done < <(matching '\.([ch]|sh|md|service|yml|yaml|json|conf)$|(^|/)Makefile$|^\.ci/run$')
	return $bad
}

check_size()
{
	local file lines limit bad=0
	for file in "${sources[@]}" "${scripts[@]}"; do
		lines=$(wc -l <"$file")
		limit=$(awk -v f="$file" '$1 == f { print $2 }' <<<"$size_exceptions")
		[ "$lines" -gt "${limit:=$size_limit}" ] || continue
		echo "$file: $lines lines, $limit allowed"
		bad=1
	done
	wc -l "${sources[@]}" | awk -v limit="$size_limit" '
		$2 != "total" { n++; sum += $1; at[n] = $1 }
		END { asort_n(at, n); printf "%d C files, %d lines, median %d\n", n, sum, at[int((n + 1) / 2)] }
		function asort_n(a, n,   i, j, t) {
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
		}'
	return $bad
}

# What users may rely on is written down: every command, key, word and metric of the code stands in docs/design.md.
contract_names()
{
	sed -n 's/^[[:space:]]*{"\([a-z]*\)",.*/command `\1/p' user/cli/commands.c
	sed -n 's/^[[:space:]]*{"\([a-z0-9-]*\)", KEY_.*/key `\1`/p' user/lib/keys.c
	grep -oE 'X\([A-Z_]+, "[a-z_]+"\)' include/synhold/abi.h | sed 's/.*"\(.*\)".*/word \1/'
	grep -ohE '(family|per_service|per_word)\(&?page, "[a-z_]+"' user/export/prometheus*.c |
		sed 's/.*"\(.*\)"/metric synhold_\1/'
}
check_contract()
{
	local kind name bad=0 count=0
	while read -r kind name; do
		count=$((count + 1))
		grep -qF -- "$name" docs/design.md && continue
		echo "docs/design.md does not have the $kind ${name#\`}"
		bad=1
	done < <(contract_names)
	echo "$count names"
	[ "$count" -gt 70 ] || { echo "the sources are not read as they are written"; bad=1; }
	return $bad
}

# The tests that docs/exact.md names are there.
check_exact()
{
	local words file name bad=0 count=0
	while read -r file words; do
		file=tests/${file%:}
		[ ! -e "$file.c" ] || file=$file.c
		[ ! -e "$file.sh" ] || file=$file.sh
		for name in $words; do
			count=$((count + 1))
			grep -qwsE "$name(\(\) \{|\(void \*\*state\))" "$file" && continue
			echo "docs/exact.md: no test $name in $file"
			bad=1
		done
	done < <(grep -oE '`[a-z0-9]+/test_[a-z0-9_]+: [a-z0-9_ ]+`' docs/exact.md | tr -d '`')
	echo "$count tests"
	[ "$count" -gt 60 ] || { echo "the table is not read as it is written"; bad=1; }
	return $bad
}

# The manual has the same names, each on its page, and mandoc finds nothing to say about the pages.
check_manual()
{
	need mandoc || return
	local kind name page bad=0 count=0
	while read -r kind name; do
		name=${name//\`/}
		page=deploy/man/synhold.8
		[ "$kind" != key ] || page=deploy/man/synhold.conf.5
		count=$((count + 1))
		grep -qE "(^|[^a-z0-9_-])$name([^a-z0-9_-]|\$)" "$page" && continue
		echo "$page does not have the $kind $name"
		bad=1
	done < <(contract_names)
	while read -r name; do
		count=$((count + 1))
		grep -qE "(Cm|Fl Fl) $name\b" deploy/man/synhold-drill.8 && continue
		echo "deploy/man/synhold-drill.8 does not have $name"
		bad=1
	done < <(sed -n 's/^\tOPTION("\([a-z-]*\)".*/\1/p; s/^\t&drill_\([a-z]*\),.*/\1/p' user/drill/drill.c)
	for page in deploy/man/*.[0-9]; do
		# pages that are not installed here are looked for in vain
		mandoc -Tlint "$page" 2>/dev/null | grep -vE 'referenced manual not found|trailing delimiter' && bad=1
	done
	echo "$count names"
	return $bad
}

# The alerts do what they say, and the dashboard is what its table makes.
check_rules()
{
	need promtool || return
	need jq || return
	local bad=0
	promtool check rules deploy/prometheus/synhold.rules.yml || bad=1
	promtool test rules deploy/prometheus/synhold.test.yml || bad=1
	sed -n 's/^ *- alert: //p' deploy/prometheus/synhold.rules.yml | while read -r alert; do
		grep -q "alertname: $alert\$" deploy/prometheus/synhold.test.yml || echo "no test has the alert $alert"
	done | grep . && bad=1
	deploy/grafana/generate.sh | diff - deploy/grafana/synhold.json || {
		echo "deploy/grafana/synhold.json is not of its table: deploy/grafana/generate.sh >deploy/grafana/synhold.json"
		bad=1
	}
	echo "$(grep -c 'alert:' deploy/prometheus/synhold.rules.yml) alerts"
	return $bad
}

[ $# -gt 0 ] || set -- "${all[@]}"
for check in "$@"; do
	[[ " ${all[*]} " == *" $check "* ]] || {
		echo "lint: no check '$check'; there are: ${all[*]}" >&2
		exit 2
	}
done
[ ${#sources[@]} -gt 0 ] || {
	echo "lint: no sources found" >&2
	exit 1
}

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0
wrong=()
for check in "$@"; do
	if "check_$check" >"$tmp/out" 2>&1; then
		printf '%-9s OK  %s\n' "$check" "$(tail -n 1 "$tmp/out")"
		passed=$((passed + 1))
	else
		printf '%-9s FAILED\n' "$check"
		sed 's/^/    /' "$tmp/out"
		wrong+=("$check")
	fi
done
echo "$passed checks passed, ${#wrong[@]} failed${wrong:+: ${wrong[*]}}"
[ ${#wrong[@]} -eq 0 ]
