# SPDX-License-Identifier: GPL-2.0-or-later
# Makes of abi.h what a later version might: new members in front and between, longer lists of names, larger maps.
s/^\(#define SYNHOLD_ABI_VERSION\) .*/\1 9/
s/^#define SYNHOLD_MARKS 262144/#define SYNHOLD_MARKS 524288/
s/^#define SYNHOLD_SPECS 64/#define SYNHOLD_SPECS 80/
s/^	X(INJECT_FAILED, "inject_failed")/	X(INJECT_FAILED, "inject_failed") \\\
	X(SOMETHING, "something")/
s/^	X(FALLBACK, "fallback")/	X(FALLBACK, "fallback") \\\
	X(SOMETHING, "something")/
/^struct synhold_counters {/a\
	__u64 something_new[3];
/^struct synhold_tally {/,/^}/s/^	__u64 released;/	__u64 something_new;\
	__u64 released;/
/^struct synhold_policy {/a\
	__u64 something_new;
/^struct synhold_gate {/a\
	__u64 something_new[2];
/^struct synhold_runtime {/a\
	__u32 something_new[2];
/^struct synhold_interface {/a\
	__u32 something_new;
s/\(SYNHOLD_ASSERT_SIZE(struct synhold_gate, \)64/\180/
s/\(SYNHOLD_ASSERT_SIZE(struct synhold_runtime, \)88/\196/
s/\(SYNHOLD_ASSERT_SIZE(struct synhold_interface, \)24/\128/
s/\(SYNHOLD_ASSERT_SIZE(struct synhold_policy, \)216/\1224/
