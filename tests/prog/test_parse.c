// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parser in the kernel against the same source compiled natively, and against the plain model: on the golden
 * frames, on random ones and on mutations. SYNHOLD_PARSE_FRAMES says how many, 200,000 by default; SYNHOLD_PARSE_SEED
 * which; with SYNHOLD_PARSE_NATIVE the kernel is left out, and root is not needed. `tests/fuzz.sh long` runs ten
 * million of them, natively under the sanitizers.
 */
#include "tests/prog/golden.h"

#include <sys/mman.h>

#include "tests/fuzz/parse_answer.h"
#include "tests/unit/parse_model.h"

#define SEEDS_MAX 256
#define LENGTH_MAX 512
#define LENGTH_MIN 14 /* what a test run accepts */
#define ALIGN 2       /* what puts the IP header on a multiple of four, as drivers do (NET_IP_ALIGN) */

static struct frame seeds[SEEDS_MAX];
static unsigned int seed_count;
static struct bpf_object *object;
static struct parse_answer *answer;
static int prog;
static bool native_only;
static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state * 0x2545f4914f6cdd1dULL >> 33) % below);
}

static int setup(void **state)
{
	const char *shield = getenv("SYNHOLD_BPF_OBJECT"), *slash = shield ? strrchr(shield, '/') : NULL;
	FILE *file = fopen("tests/prog/frames.golden", "r");
	struct golden_row row;
	char path[512];

	(void)state;
	if (!file)
		return -1;
	while (seed_count < SEEDS_MAX && golden_next(file, &row))
		if (row.frame.len >= LENGTH_MIN && row.frame.len <= LENGTH_MAX)
			seeds[seed_count++] = row.frame;
	fclose(file);
	native_only = getenv("SYNHOLD_PARSE_NATIVE") != NULL;
	if (native_only)
		return 0;
	snprintf(path, sizeof(path), "%.*s/tests/fuzz/parse.bpf.o", slash ? (int)(slash - shield) : 5,
		 slash ? shield : "build"); /* beside the shield's */
	object = bpf_object__open_file(path, NULL);
	if (!object || bpf_object__load(object))
		return -1;
	prog = bpf_program__fd(bpf_object__find_program_by_name(object, "parse_and_tell"));
	answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_object__find_map_fd_by_name(object, "answer"), 0);
	return answer == MAP_FAILED || prog < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	bpf_object__close(object);
	return 0;
}

/* Runs both; returns what they say, when it is the same. */
static int both(const uint8_t *bytes, size_t len, const char *what, unsigned int number)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = bytes, .data_size_in = (uint32_t)len, .repeat = 1);
	uint8_t *block = malloc(ALIGN + len), *copy = block + ALIGN; /* of exactly its length, for sanitizers */
	struct parse_answer native = {0};
	struct parse_packet pkt = {0};
	bool differ;

	assert_non_null(block);
	memcpy(copy, bytes, len);
	if (!native_only) {
		memset(answer, 0, sizeof(*answer));
		world_ok(bpf_prog_test_run_opts(prog, &opts));
	}
	native.result = parse_frame(copy, copy + len, &pkt);
	if (native.result == PARSE_TCP) {
		native.l3 = (uint32_t)((uint8_t *)pkt.l3 - copy);
		native.l4 = (uint32_t)((uint8_t *)pkt.tcp - copy);
		native.ip_payload = pkt.ip_payload;
		native.l3_offset = pkt.l3_offset;
		native.flags = pkt.flags;
		native.ipv6 = pkt.ipv6;
		native.fragment = pkt.fragment;
		parse_tuple(&pkt, 0, &native.in);
		parse_tuple(&pkt, 1, &native.out);
	}
	differ = !native_only && (opts.retval != XDP_PASS || memcmp(answer, &native, sizeof(native)));
	if (differ || !parse_model_agrees(copy, len)) {
		print_error("%s %u of %zu bytes: kernel %d, native %d:", what, number, len,
			    native_only ? 0 : answer->result, native.result);
		for (size_t i = 0; i < len; i++)
			print_error(" %02x", bytes[i]);
		fail_msg("they differ");
	}
	free(block);
	return native.result;
}

static void golden_frames(void **state)
{
	unsigned int i;

	(void)state;
	assert_true(seed_count >= 80);
	for (i = 0; i < seed_count; i++)
		both(seeds[i].bytes, seeds[i].len, "golden frame", i);
}

static void mutations_and_noise(void **state)
{
	/* values that mean something somewhere: protocols, header numbers, lengths, versions */
	static const uint8_t telling[] = {0,  1,  3,    4,    5,    6,    8,    16,   20,   40,   43,  44,
					  51, 60, 0x45, 0x4f, 0x60, 0x81, 0x86, 0x88, 0xa8, 0xdd, 0xff};
	const char *frames = getenv("SYNHOLD_PARSE_FRAMES"), *seed = getenv("SYNHOLD_PARSE_SEED");
	unsigned int count = frames ? (unsigned int)atoi(frames) : 200000, i, tcp = 0, bad = 0;

	(void)state;
	random_state = (seed ? strtoull(seed, NULL, 10) : 1) * 0x9e3779b97f4a7c15ULL | 1;
	for (i = 0; i < count; i++) {
		uint8_t bytes[LENGTH_MAX];
		size_t len, at;
		int result;

		if (i % 10 == 9) { /* noise behind an EtherType that is looked at */
			len = LENGTH_MIN + draw(160);
			for (at = 0; at < len; at++)
				bytes[at] = (uint8_t)draw(256);
			memcpy(bytes + 12, draw(2) ? "\x08\x00" : "\x86\xdd", 2);
			if (len > 14 && draw(2))
				bytes[14] = (uint8_t)(bytes[12] == 8 ? 0x40 | draw(16) : 0x60);
		} else {
			const struct frame *from = &seeds[draw(seed_count)];
			unsigned int changes = draw(5);

			len = from->len;
			memcpy(bytes, from->bytes, len);
			while (changes--) {
				at = draw((uint32_t)len);
				bytes[at] = draw(2) ? telling[draw(sizeof(telling))] : (uint8_t)draw(256);
			}
			if (draw(4) == 0)
				len = LENGTH_MIN + draw((uint32_t)(len - LENGTH_MIN + 1));
		}
		result = both(bytes, len, "frame", i);
		tcp += result == PARSE_TCP;
		bad += result < PARSE_OTHER;
	}
	print_message("%u frames: %u with a TCP header, %u unparsed\n", count, tcp, bad);
	assert_true(tcp > count / 10 && bad > count / 20); /* they still reach all ends of the parser */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_frames),
		cmocka_unit_test(mutations_and_noise),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
