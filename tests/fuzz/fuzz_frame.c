// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile frames against lib/frame.c. The first bytes of the input choose offsets and ticks, the rest is the
 * frame, in a block of exactly its length so that the sanitizer sees any step outside.
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -Iuser tests/fuzz/fuzz_frame.c user/lib/frame.c
 *
 * With -DFUZZ_NATIVE it needs no libFuzzer: runs the files given, or 1,000,000 mutations of a SYN without
 * any.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/frame.h"

#define FUZZ_HEAD 6
#define FUZZ_FRAME_MAX 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_require(int condition)
{
	if (!condition)
		abort();
}

static uint32_t fuzz_check(const uint8_t *frame, size_t l4)
{
	return (uint32_t)frame[l4 + 16] << 8 | frame[l4 + 17];
}

static void fuzz_advance(uint8_t *frame, const uint8_t *before, size_t len, size_t l4, uint32_t ticks)
{
	uint32_t was = 0, is = 0;
	int err = frame_get_tsval(frame, len, l4, &was);

	fuzz_require(err == 0 || err == -ENOENT || err == -EINVAL);
	fuzz_require(frame_advance_tsval(frame, len, l4, ticks) == err);
	if (err) {
		fuzz_require(!len || !memcmp(frame, before, len));
		return;
	}
	fuzz_require(frame_get_tsval(frame, len, l4, &is) == 0 && is == was + ticks);
	/* There and back again: the checksum is the same number, whether it was right or wrong. */
	fuzz_require(frame_advance_tsval(frame, len, l4, -ticks) == 0);
	fuzz_require(fuzz_check(frame, l4) % 0xffff == fuzz_check(before, l4) % 0xffff);
	memcpy(frame, before, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t l3, l4, len;
	uint8_t *frame, *before;
	uint32_t ticks, seq = 0;
	int err;

	if (size < FUZZ_HEAD || size > FUZZ_FRAME_MAX)
		return 0;
	l3 = data[0];
	l4 = data[1];
	memcpy(&ticks, data + 2, sizeof(ticks));
	len = size - FUZZ_HEAD;
	frame = malloc(len);
	before = malloc(len);
	if (!frame || !before)
		goto out;
	memcpy(frame, data + FUZZ_HEAD, len);
	memcpy(before, frame, len);

	err = frame_get_seq(frame, len, l4, &seq);
	fuzz_require(err == 0 || err == -EINVAL);
	fuzz_advance(frame, before, len, l4, ticks);

	err = frame_complete_checksum(frame, len, l3, l4);
	fuzz_require(err == 0 || err == 1 || err == -EINVAL);
	if (err == 1) {
		/* Nothing but the checksum has changed. */
		memcpy(before + l4 + 16, frame + l4 + 16, 2);
		fuzz_require(!memcmp(frame, before, len));
	} else {
		fuzz_require(!len || !memcmp(frame, before, len));
	}
	fuzz_require((frame_prepare(frame, len, l3, l4, ticks) < 0) == (err < 0));
out:
	free(frame);
	free(before);
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

static uint32_t fuzz_random(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((*state >> 33) % below);
}

static void fuzz_mutations(void)
{
	static const uint8_t syn[] = {
		14,   34, 0xe8, 3,    0, 0, 2,    0,  0,  0, 0, 1, 2,    0, 0,    0,    0,    2,    8, 0,
		0x45, 0,  0,    60,   0, 1, 0x40, 0,  64, 6, 0, 0, 10,   0, 0,    1,    10,   0,    0, 2,
		0x80, 1,  1,    0xbb, 1, 2, 3,    4,  0,  0, 0, 0, 0xa0, 2, 0xfa, 0xf0, 0x14, 0x31, 0, 0,
		2,    4,  5,    180,  4, 2, 8,    10, 1,  2, 3, 4, 0,    0, 0,    0,    1,    3,    3, 7,
	};
	uint8_t data[sizeof(syn)];
	uint64_t state = 1;
	uint32_t i, k, cut;

	for (i = 0; i < 1000000; i++) {
		memcpy(data, syn, sizeof(syn));
		for (k = fuzz_random(&state, 6); k > 0; k--)
			data[fuzz_random(&state, sizeof(syn))] = fuzz_random(&state, 256);
		cut = fuzz_random(&state, 4) ? 0 : fuzz_random(&state, 60);
		LLVMFuzzerTestOneInput(data, sizeof(syn) - cut);
	}
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
