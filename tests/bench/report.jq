# SPDX-License-Identifier: GPL-2.0-or-later
# The benchmark's report: `report` puts the parts together with the targets, `text` makes tables of it (tab-separated, a line `# TITLE`
# before each).

def ns($name): (.costs[] | select(.packet == $name) | .ns) // null;
def more($name; $base): ns($name) - ns($base);
def net($name): (.throughput[] | select(.name == $name) | .net) // null;
def live($name; $key): .egress[] | select(.name == $name) | .[$key];
def at_most($what; $figure; $limit): {target: $what, figure: $figure, wanted: "<= \($limit)",
	result: (if $figure == null then "not measured" elif $figure <= $limit then "met" else "missed" end)};
def at_least($what; $figure; $limit): {target: $what, figure: $figure, wanted: ">= \($limit)",
	result: (if $figure == null then "not measured" elif $figure >= $limit then "met" else "missed" end)};
def over($figure; $base): if $figure == null or $base == null then null else $figure / ([$base, 0.001] | max) end;

def targets: [
	at_most("SYN to another port, ns over bare pass"; more("SYN to another port"; "bare parse and pass"); 4),
	at_most("data to another port, ns over bare pass"; more("data to another port"; "bare parse and pass"); 4),
	at_most("data to a protected port, ns over bare pass"; more("data to a protected port"; "bare parse and pass"); 6),
	at_most("refused SYN of random sources, times a bare drop with one clock read";
		ns("SYN refused, random sources") / ns("the same, random sources"); 6),
	at_least("the same program that charges sources in an LRU hash, times ours";
		ns("the same, sources charged in an LRU hash") / ns("SYN refused, random sources"); 4),
	at_most("egress of a local bulk flow, times one clock read"; live("bulk flow of a local socket"; "ratio"); 0.65),
	at_most("egress of forwarded traffic, ns"; live("forwarded bulk flow"; "ns"); 60),
	at_least("net cost of hashlimit, times ours per source"; over(net("hashlimit"); net("source_rate")); 5),
	at_least("net cost of nft dynamic set, times ours per source"; over(net("inet_set"); net("source_rate")); 5),
	at_most("net cost of a global rate less that of nft netdev limit, CPU s per million";
		(if net("netdev_limit") == null then null else net("global_rate") - net("netdev_limit") end); 0.05),
	at_most("SYNs of two CPUs' floods that were not counted exactly once";
		(.scaling | [.sent - .seen, .seen - .judged] | map(fabs) | add); 0),
	at_least("throughput of two CPUs, times one's"; .scaling.times; 1.8)
];

def report: . + {targets: targets};

def round2: if . == null then "" else . * 100 | round / 100 end;
def round3: if . == null then "" else . * 1000 | round / 1000 end;
def rows($title; $head; $lines): "# \($title)", ($head | @tsv), ($lines[] | @tsv);
def text:
	rows("Packet by test run or run-time statistics, ns"; ["PACKET", "NS", "NS MORE", "RATIO", "AGAINST"];
		[.costs[] | [.packet, (.ns | round), (if .against then .ns - .against_ns | round else "" end), (.ratio | round2), .against // ""]]),
	rows("Egress program on live traffic, ns"; ["FLOW", "NS", "CLOCK READ", "RATIO", "PACKETS"];
		[.egress[] | [.name, (.ns | round2), (.clock_ns | round2), (.ratio | round2), .packets]]),
	rows("SYNs of random sources refused over veth, CPU s per million"; ["WITH", "IN BATCHES", "NET", "ONE AT A TIME", "NET", "AGAINST"];
		[.throughput[] | if has("missing") then [.what, "-", "-", "-", "-", "not here: \(.missing)"]
			else [.what, (.seconds | round3), (.net | round3), (.single | round2), (.single_net | round2), .base // ""] end]),
	rows("Two CPUs"; ["SENT", "SEEN", "JUDGED", "ONE CPU NS", "TWO NS", "TIMES", "BY THE WALL"];
		[.scaling | [.sent, .seen, .judged, (.one_cpu_ns | round), (.two_cpus_ns | round), (.times | round2), (.wall | round2)]]),
	rows("Targets"; ["TARGET", "FIGURE", "WANTED", "RESULT"]; [.targets[] | [.target, (.figure | round2), .wanted, .result]]);
