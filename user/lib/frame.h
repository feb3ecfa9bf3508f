/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must be done to the copy of a held SYN before it is injected again. Pure functions on bytes.
 *
 * frame, len: the copy, from the link-layer header on. l3, l4: offsets of the IP and of the TCP header in it.
 * Nothing is trusted: each function checks every offset and length itself, reads and writes nothing outside
 * frame[0..len), and returns -EINVAL, with the frame unchanged, where a header is cut short or contradicts
 * itself.
 */
#ifndef SYNHOLD_LIB_FRAME_H
#define SYNHOLD_LIB_FRAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * Complete a partial TCP checksum. A frame that never crossed a wire (veth, virtio) carries only the folded
 * sum of the pseudo header in its checksum field, for a card to finish (Linux, CHECKSUM_PARTIAL); injected as
 * it is, the stack drops it. Any other value is left alone, so that what was corrupt on arrival stays
 * corrupt. A corrupt checksum is mistaken for a partial one with a chance of 1 in 65,535.
 * Pseudo header: RFC 9293 3.1, RFC 8200 8.1 (with the destination of the IPv6 header: a routing header that
 * still has segments left is not for us).
 * Returns 1 completed, 0 left alone, -EINVAL (also when the frame does not hold the whole TCP segment).
 */
int frame_complete_checksum(uint8_t *frame, size_t len, size_t l3, size_t l4);

/*
 * Read TSval of the TCP timestamps option (RFC 7323, 3.2), in host order.
 * Returns 0, -ENOENT without such an option, -EINVAL.
 */
int frame_get_tsval(const uint8_t *frame, size_t len, size_t l4, uint32_t *tsval);

/*
 * Read the sequence number of the TCP header, in host order: another one on the same ports is another
 * connection. Returns 0 or -EINVAL.
 */
int frame_get_seq(const uint8_t *frame, size_t len, size_t l4, uint32_t *seq);

/*
 * Add ticks to TSval (modulo 2^32) and correct the checksum by the difference (RFC 1624, eqn. 3): a right one
 * stays right, a wrong one stays wrong by as much. A partial checksum must have been completed before, or it
 * would only look like a wrong one afterwards: frame_prepare() does both in order.
 * Returns 0, -ENOENT without the option, -EINVAL.
 */
int frame_advance_tsval(uint8_t *frame, size_t len, size_t l4, uint32_t ticks);

/*
 * Ticks by which TSval of the held copy may be advanced, so that the client does not take the time in the
 * queue for the round-trip time. The client accepts an echo only in [its first SYN, now], so the answer never
 * overshoots its clock: rounded down, less one tick.
 *
 * held_ns: since the held (newest) copy came in. first_*, last_*: TSval and arrival of the first and of the
 * newest copy of one and the same SYN. With both at least 200 ms apart the client's rate is learned from
 * them: between 7/8 and 3/2 of a common rate (10, 100, 250, 1000, 1000000 a second) it counts as that one
 * (copies may come in closer together than they were sent, and no clock in use lies between), otherwise the
 * lower bound that 50 ms of jitter leave is used. With one copy, 1 kHz is assumed (Linux, BSD, Windows). A
 * clock that stood still, ran backwards or makes more than 1.5 million ticks a second gives 0. At most
 * INT32_MAX.
 */
uint32_t frame_ts_ticks(uint64_t held_ns, uint32_t first_tsval, uint64_t first_ns, uint32_t last_tsval,
			uint64_t last_ns);

/*
 * Everything a frame needs before injection: complete the checksum, then advance TSval if there is one.
 * Options that make no sense are left to the stack, which would have had to read them without us as well.
 * Returns 0, or -EINVAL as frame_complete_checksum().
 */
int frame_prepare(uint8_t *frame, size_t len, size_t l3, size_t l4, uint32_t ticks);

#endif
