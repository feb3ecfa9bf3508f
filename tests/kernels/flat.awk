# SPDX-License-Identifier: GPL-2.0-or-later
# A JSON text as lines PATH=VALUE, such as services.0.syn.seen=14. Strings must have no escapes, which status has not.
{
	text = text $0
}
END {
	depth = 0
	while (match(text, /"[^"]*"|[][{}:,]|[-+.0-9a-zA-Z]+/)) {
		token = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		if (token == "{" || token == "[") {
			depth++
			list[depth] = token == "["
			name[depth] = list[depth] ? 0 : ""
		} else if (token == "}" || token == "]") {
			depth--
		} else if (token == ",") {
			name[depth] = list[depth] ? name[depth] + 1 : ""
		} else if (token != ":") {
			gsub(/"/, "", token)
			if (!list[depth] && name[depth] == "") {
				name[depth] = token
				continue
			}
			path = name[1]
			for (i = 2; i <= depth; i++)
				path = path "." name[i]
			print path "=" token
		}
	}
}
