// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile frames against bpf/parse.h: the input is the frame, at the very end of a block so that the sanitizer sees any
 *step outside, and the result must be what the plain model says.
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -I. tests/fuzz/fuzz_parse.c
 *
 * With -DFUZZ_NATIVE it needs no libFuzzer: runs the files given, or mutations of a few frames without any: a million,
 * or as many as FUZZ_RUNS says. tests/prog/test_parse.c compares more.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/parse_model.h"

#define FUZZ_FRAME_MAX 2048
#define FUZZ_ALIGN 2 /* what puts the IP header on a multiple of four, as drivers do (NET_IP_ALIGN) */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *block;

	if (size > FUZZ_FRAME_MAX)
		return 0;
	block = malloc(FUZZ_ALIGN + size);
	if (!block)
		return 0;
	memcpy(block + FUZZ_ALIGN, data, size);
	if (!parse_model_agrees(block + FUZZ_ALIGN, size))
		abort();
	free(block);
	return 0;
}

#ifdef FUZZ_NATIVE
static int fuzz_file(const char *path)
{
	uint8_t data[FUZZ_FRAME_MAX];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	return LLVMFuzzerTestOneInput(data, size);
}

static void fuzz_mutations(void)
{
	static const uint8_t seed[2][94] = {
		{2, 0,    0, 0, 0,    1, 2, 0,    0, 0,  0, 2, 0x88, 0xa8, 0, 1, 0x81, 0,  0,    2,   8,
		 0, 0x46, 0, 0, 44,   0, 1, 0x40, 0, 64, 6, 0, 0,    10,   0, 0, 1,    10, 0,    0,   2,
		 1, 1,    1, 1, 0x80, 1, 1, 0xbb, 1, 2,  3, 4, 0,    0,    0, 0, 0x50, 2,  0xfa, 0xf0},
		{2,   0,    0, 0, 0, 1, 2,  0, 0, 0, 0,    2, 0x86, 0xdd, 0x60, 0, 0,   0,    0, 40, 0, 64, 0x20, 1,
		 0xd, 0xb8, 0, 0, 0, 0, 0,  0, 0, 0, 0,    0, 0,    1,    0x20, 1, 0xd, 0xb8, 0, 0,  0, 0,  0,    0,
		 0,   0,    0, 0, 0, 2, 44, 0, 1, 4, 0,    0, 0,    0,    6,    0, 0,   1,    0, 0,  0, 7,  0x80, 1,
		 1,   0xbb, 1, 2, 3, 4, 0,  0, 0, 0, 0x60, 2, 0xfa, 0xf0, 0,    0, 0,   0,    2, 4,  5, 180},
	};
	const char *runs = getenv("FUZZ_RUNS");
	uint32_t count = runs ? (uint32_t)strtoul(runs, NULL, 10) : 1000000, i, k;
	uint64_t random = 1;

	for (i = 0; i < count; i++) {
		uint8_t data[sizeof(seed[0])];

		memcpy(data, seed[i % 2], sizeof(data));
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		for (k = random >> 61; k > 0; k--) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			data[(random >> 40) % sizeof(data)] = (uint8_t)(random >> 32);
		}
		LLVMFuzzerTestOneInput(data, sizeof(data) - (random >> 63 ? 0 : (random >> 50) % sizeof(data)));
	}
	printf("%u frames\n", count);
}

int main(int argc, char **argv)
{
	int i, failed = 0;

	for (i = 1; i < argc; i++)
		failed |= fuzz_file(argv[i]);
	if (argc == 1)
		fuzz_mutations();
	return failed;
}
#endif
