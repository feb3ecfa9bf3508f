// SPDX-License-Identifier: GPL-2.0-or-later
/* Each row of tests/prog/frames.golden through the real program, and through the native parser: both must say the same.
 * The notation is explained there. SYNHOLD_GOLDEN names another file. */
#include "tests/prog/golden.h"

#include "tests/unit/parse_model.h"

#define ROWS_LEAST 80

static struct synhold_policy pol;

static int place_of(const char *word, const char *const *names, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(word, names[i]))
			return i;
	return -1;
}

#define TEXT(e, t) t,
static const char *const verdicts[] = {SYNHOLD_VERDICTS(TEXT)};
static const char *const reasons[] = {SYNHOLD_REASONS(TEXT)};
static const char *const unparsed[] = {SYNHOLD_UNPARSED(TEXT)};

static bool has(const char *words, const char *wanted)
{
	size_t length = strlen(wanted);
	const char *at;

	for (at = words; (at = strstr(at, wanted)); at += length)
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

static void set_word(const char *word)
{
	static const char *const plain[] = {"closed", "drop",  "reject", "monitor", "full", "dead",
					    "deny",   "allow", "bypass", "proof",   "-"};

	switch (place_of(word, plain, sizeof(plain) / sizeof(plain[0]))) {
	case 0:
		pol.closed = 1;
		break;
	case 1:
		pol.action = SYNHOLD_ACTION_DROP;
		break;
	case 2:
		pol.action = SYNHOLD_ACTION_REJECT;
		break;
	case 3:
		pol.mode = SYNHOLD_MODE_MONITOR;
		break;
	case 4:
		world.runtime[0].hold_full = 1;
		break;
	case 5:
		world.daemon->heartbeat_ns = 0;
		break;
	case 6:
		world_put_list(LIST_DENY, "198.51.100.1", 32, SYNHOLD_FOREVER, 0, 0);
		break;
	case 7:
		world_put_list(LIST_ALLOW, "198.51.100.1", 32, SYNHOLD_FOREVER, WORLD_SECOND, 40);
		break;
	case 8:
		world.control->bypass_until_ns = SYNHOLD_FOREVER;
		break;
	case 9:
		world.runtime[0].state_flags = SYNHOLD_FLAG_PROOF;
		world.proofs_used = true;
		break;
	case 10:
		break;
	default:
		if (!strncmp(word, "window=", 7))
			world_set_window(&pol, (uint32_t)atoi(word + 7));
		else if (strncmp(word, "before:", 7))
			fail_msg("%s what is '%s'?", world.row, word);
	}
}

static void set_up(const struct golden_row *row)
{
	char words[sizeof(row->setup)], *rest = NULL, *word;
	const char *before = strstr(row->setup, "before:");

	pol = world_policy();
	if (before)
		world_syn(.flags = (uint8_t)strtoul(before + 7, NULL, 16));
	snprintf(words, sizeof(words), "%s", row->setup);
	for (word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		set_word(word);
	world_put_policy(0, 0, &pol);
}

/* What the counters must have gained by an outcome. */
static void expect_verdict(struct synhold_counters *c, char *verdict, char **rest)
{
	int index = place_of(verdict, verdicts, SYNHOLD_VERDICT_COUNT);
	char *word;

	if (index < 0)
		fail_msg("%s no verdict: '%s'", world.row, verdict);
	c->seen++;
	c->verdict[index]++;
	while ((word = strtok_r(NULL, " ", rest))) {
		int reason = place_of(word, reasons, SYNHOLD_REASON_COUNT);

		if (reason >= 0)
			(pol.mode == SYNHOLD_MODE_MONITOR ? c->would_limit : c->over_limit)[reason]++;
		else if (!strcmp(word, "started"))
			c->started++;
		else if (!strcmp(word, "offered"))
			c->offered++;
		else if (!strcmp(word, "retransmits"))
			c->retransmits++;
		else if (!strcmp(word, "allowed"))
			c->allowed++;
		else if (!strcmp(word, "bypassed"))
			c->bypassed++;
		else if (!strcmp(word, "bites"))
			c->bites++;
		else if (!strcmp(word, "unproved"))
			c->unproved++;
		else
			fail_msg("%s no counter: '%s'", world.row, word);
	}
}

/* What the native parser says, in the words of the file: `unparsed REASON`, `unseen` for what nobody judges, or a SYN.
 */
static void expect_native(const struct golden_row *row, const char *what, int reason)
{
	uint8_t bytes[FRAMES_MAX];
	struct parse_packet pkt = {0};
	int result;

	memcpy(bytes, row->frame.bytes, row->frame.len);
	result = parse_frame(bytes, bytes + row->frame.len, &pkt);
	if (!parse_model_agrees(bytes, row->frame.len))
		fail_msg("%s parser and model differ", world.row);
	if (!strcmp(what, "unparsed")) {
		assert_true(result < PARSE_OTHER);
		assert_int_equal(PARSE_BAD_REASON(result), reason);
	} else if (!strcmp(what, "unseen")) {
		assert_true(result == PARSE_OTHER ||
			    (result == PARSE_TCP &&
			     ((pkt.flags & (PARSE_SYN | PARSE_ACK)) != PARSE_SYN || pkt.tcp->dest != htons(443))));
	} else {
		assert_int_equal(result, PARSE_TCP);
		assert_int_equal(pkt.flags & (PARSE_SYN | PARSE_ACK), PARSE_SYN);
		assert_int_equal(pkt.tcp->dest, htons(443));
	}
}

static void check_row(const struct golden_row *row)
{
	char words[sizeof(row->outcome)], *rest = NULL, *action, *what, *word;
	struct synhold_counters expected;
	int reason = -1, i;
	struct world_out out;

	set_up(row);
	expected = world_counters(0);
	snprintf(words, sizeof(words), "%s", row->outcome);
	action = strtok_r(words, " ", &rest);
	what = strtok_r(NULL, " ", &rest);
	if (!action || !what)
		fail_msg("%s no outcome", world.row);
	world_shield_out(&row->frame, &out);
	if (strcmp(action, out.action == XDP_PASS ? "pass" : out.action == XDP_DROP ? "drop" : "tx"))
		fail_msg("%s action %u, expected %s", world.row, out.action, action);
	if (!strcmp(what, "unparsed")) {
		word = strtok_r(NULL, " ", &rest);
		reason = word ? place_of(word, unparsed, SYNHOLD_UNPARSED_COUNT) : -1;
		if (reason < 0)
			fail_msg("%s no reason", world.row);
	} else if (strcmp(what, "unseen")) {
		expect_verdict(&expected, what, &rest);
	}
	for (i = 0; i < SYNHOLD_UNPARSED_COUNT; i++)
		if (world_unparsed((uint32_t)i) != (i == reason))
			fail_msg("%s %s is %llu", world.row, unparsed[i],
				 (unsigned long long)world_unparsed((uint32_t)i));
	world_expect(0, &expected);
	expect_native(row, what, reason);
	/* nothing but a rejected frame is touched */
	if (!has(row->outcome, "rejected")) {
		assert_int_equal(out.len, row->frame.len);
		assert_memory_equal(out.bytes, row->frame.bytes, row->frame.len);
	}
}

static void golden_frames(void **state)
{
	const char *path = getenv("SYNHOLD_GOLDEN");
	struct golden_row row;
	unsigned int rows = 0;
	FILE *file = fopen(path ? path : "tests/prog/frames.golden", "r");

	if (!file) {
		fail_msg("no golden frames: %s", strerror(errno));
		return;
	}
	while (golden_next(file, &row)) {
		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "%.60s:", row.name);
		check_row(&row);
		rows++;
	}
	fclose(file);
	print_message("%u frames\n", rows);
	assert_true(rows >= ROWS_LEAST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(golden_frames),
	};

	return world_run(tests);
}
