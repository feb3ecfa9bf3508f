#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Dependencies point one way: include/synhold <- bpf; include/synhold <- user/lib <- user/{daemon,cli,export,drill}. The
# last four know nothing of one another, but for cli, which may call the one entry header of each. Tests may include all;
# nothing includes tests.
#
#   tests/check-includes.sh [DIR]    DIR: the tree to look at, default: this one
set -u

cd "${1:-$(dirname "$0")/..}" || exit 1

# FILE:LINE:#include "what" -> complaints
find include bpf user -name '*.[ch]' -exec grep -HnE '^[[:space:]]*#[[:space:]]*include' {} + | awk -F: '
	function bad(why) {
		printf "%s:%d: %s: %s\n", $1, $2, what, why
		wrong++
	}
	{
		seen++
		split($1, part, "/")
		quoted = match($0, /"[^"]+"/)
		if (!quoted && !match($0, /<[^>]+>/))
			next
		what = substr($0, RSTART + 1, RLENGTH - 2)
		split(what, to, "/")
		dir = part[2]

		if (what ~ /(^|\/)\.\.?\//)
			bad("path relative to the file; write it from user/, bpf/ or include/")
		else if (part[1] == "include") {
			if (quoted || what !~ /^linux\//)
				bad("the ABI depends on kernel headers only")
		} else if (part[1] == "bpf") {
			if (quoted && what ~ /\//)
				bad("the data plane includes its own headers and synhold/abi.h only")
		} else if (!quoted) {
			if (to[1] ~ /^(lib|daemon|cli|export|drill|tests)$/)
				bad("headers of this project are included with quotes")
		} else if (what ~ /\.skel\.h$/) {
			if (dir != "lib" && dir != "daemon")
				bad("only lib and the daemon know the BPF objects")
		} else if (to[1] !~ /^(lib|daemon|cli|export|drill)$/)
			bad("not a header of user/, written from there")
		else if (to[1] != "lib" && to[1] != dir &&
			!(dir == "cli" && what ~ /^(daemon\/daemon|export\/export|drill\/drill)\.h$/))
			bad(dir " must not depend on " to[1])
	}
	END {
		if (!seen) {
			print "no #include found: wrong directory?"
			exit 1
		}
		exit wrong > 0
	}'
