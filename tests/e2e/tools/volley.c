// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SYNs as fast as they go, from random addresses, and what they cost: volley DEVICE MAC ADDR PORT [key=value...]
 *
 * count=N frames of each CPU;  cpus=MASK which CPUs send, one thread each;  sources=N addresses, 0 = 2^30 of them;
 * napi=NAME;  pause_us=N
 *
 * The other end of a veth pair receives on the CPU that sends, in the sender's time or in that CPU's ksoftirqd, one
 * frame after the other is sent: the sum of both clocks is what sending and receiving a SYN costs, whatever else the
 * machine does (but for softirqs of others that run in our time: take the least of several runs).
 *
 * With napi= that end is polled by a thread of the kernel whose name begins so (/sys/class/net/DEVICE/threaded). It is
 * put on our CPU, and gets it when a batch of 64 has been sent and we pause for pause_us: it finds 64 frames in its
 * ring, as the driver of a card does under a flood, and its clock tells what receiving them costs.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "tests/random.h"
#include "tool.h"

#define BATCH 64
#define CPUS_MAX 32
#define VOLLEY_NET 0x10000000U /* 16.0.0.0: nothing in it or after it is special */
#define VOLLEY_NET_MASK 0x3fffffffU

struct volley_frame {
	struct ether_header eth;
	struct iphdr ip;
	struct tcphdr tcp;
	uint8_t mss[4];
} __attribute__((packed));

struct volley_thread {
	pthread_t thread;
	int cpu;
	int receiver; /* /proc/PID/schedstat of its ksoftirqd, or of the thread that polls */
	uint64_t sent, refused, cpu_ns, wall_ns, kernel_ns;
};

static struct volley_frame pattern;
static struct sockaddr_ll device;
static long count, sources, pause_us;
static const char *napi;
static pthread_barrier_t start_line;

static uint32_t sum_words(const void *data, size_t length, uint32_t sum)
{
	const uint8_t *byte = data;

	for (size_t i = 0; i < length; i += 2)
		sum += (uint32_t)byte[i] << 8 | byte[i + 1];
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The thread of the kernel whose name begins so; 0 when there is none. */
static pid_t find_thread(const char *want)
{
	char path[64], name[32];
	struct dirent *entry;
	pid_t found = 0;
	DIR *proc = opendir("/proc");
	FILE *file;

	while (proc && !found && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%.16s/comm", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(name, sizeof(name), file) && !strncmp(name, want, strlen(want)))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
		fclose(file);
	}
	if (proc)
		closedir(proc);
	return found;
}

/* Its clock; -1 where it cannot be seen. */
static int open_receiver(int cpu, const cpu_set_t *set)
{
	struct sched_param least_urgent = {.sched_priority = 1};
	char text[64];
	pid_t pid;

	snprintf(text, sizeof(text), "ksoftirqd/%d\n", cpu);
	pid = find_thread(napi ? napi : text);
	if (napi && (!pid || sched_setaffinity(pid, sizeof(*set), set)))
		tool_die("%s: no such thread, or it cannot be moved", napi);
	if (napi && sched_setscheduler(0, SCHED_FIFO, &least_urgent)) /* it comes when we pause, and not before */
		tool_die("scheduling: %s", strerror(errno));
	snprintf(text, sizeof(text), "/proc/%d/schedstat", pid);
	return pid ? open(text, O_RDONLY | O_CLOEXEC) : -1;
}

static uint64_t receiver_ns(const struct volley_thread *self)
{
	char text[64] = "";

	if (self->receiver < 0 || pread(self->receiver, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}

static void vary(struct volley_frame *frame, uint64_t *seed)
{
	uint64_t x = random_next(seed);
	uint32_t place;

	place = (uint32_t)(x >> 20) & VOLLEY_NET_MASK;
	frame->ip.saddr = htonl(VOLLEY_NET + (sources ? place % (uint32_t)sources : place));
	frame->ip.check = 0;
	frame->ip.check = fold(sum_words(&frame->ip, sizeof(frame->ip), 0));
	frame->tcp.source = htons((uint16_t)(1024 + x % 60000));
	frame->tcp.seq = (uint32_t)x;
	frame->tcp.check = 0;
	frame->tcp.check =
		fold(sum_words(&frame->tcp, sizeof(frame->tcp) + sizeof(frame->mss),
			       sum_words(&frame->ip.saddr, 8, IPPROTO_TCP + sizeof(frame->tcp) + sizeof(frame->mss))));
}

static void *volley(void *arg)
{
	static const int one = 1;
	struct volley_thread *self = arg;
	struct volley_frame frames[BATCH];
	struct mmsghdr messages[BATCH];
	struct iovec pieces[BATCH];
	uint64_t seed = clock_ns(CLOCK_MONOTONIC) * 2 + 1 + ((uint64_t)self->cpu << 40), wall, cpu, kernel;
	cpu_set_t set;
	int fd;

	CPU_ZERO(&set);
	CPU_SET(self->cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		tool_die("CPU %d is not there", self->cpu);
	self->receiver = open_receiver(self->cpu, &set);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		tool_die("packet socket: %s", strerror(errno));
	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < BATCH; i++) {
		frames[i] = pattern;
		pieces[i] = (struct iovec){&frames[i], sizeof(frames[i])};
		messages[i].msg_hdr = (struct msghdr){.msg_name = &device,
						      .msg_namelen = sizeof(device),
						      .msg_iov = &pieces[i],
						      .msg_iovlen = 1};
	}
	pthread_barrier_wait(&start_line);
	wall = clock_ns(CLOCK_MONOTONIC);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	kernel = receiver_ns(self);
	while (self->sent + self->refused < (uint64_t)count) {
		uint64_t left = (uint64_t)count - self->sent - self->refused;
		unsigned int n = left < BATCH ? (unsigned int)left : BATCH;
		int done;

		for (unsigned int i = 0; i < n; i++)
			vary(&frames[i], &seed);
		done = sendmmsg(fd, messages, n, 0);
		if (done > 0)
			self->sent += (uint64_t)done;
		else if (errno == ENOBUFS || errno == EAGAIN) /* the queue of the pair is full */
			self->refused++;
		else if (errno != EINTR)
			tool_die("sendmmsg: %s", strerror(errno));
		if (pause_us)
			nanosleep(&(struct timespec){.tv_nsec = pause_us * 1000}, NULL);
	}
	self->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	self->kernel_ns = receiver_ns(self) - kernel;
	self->wall_ns = clock_ns(CLOCK_MONOTONIC) - wall;
	close(fd);
	return NULL;
}

static void build(const char *name, const char *mac, const union tool_addr *to)
{
	static const uint8_t mss[4] = {2, 4, 0x05, 0xb4};
	const struct ether_addr *there = ether_aton(mac);

	device = (struct sockaddr_ll){.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_halen = ETH_ALEN};
	device.sll_ifindex = (int)if_nametoindex(name);
	if (!device.sll_ifindex || !there || to->any.sa_family != AF_INET)
		tool_die("%s, %s: no such device, no MAC address, or no IPv4", name, mac);
	memcpy(device.sll_addr, there, ETH_ALEN);
	memcpy(pattern.eth.ether_dhost, there, ETH_ALEN);
	pattern.eth.ether_shost[0] = 2;
	pattern.eth.ether_type = htons(ETH_P_IP);
	pattern.ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP};
	pattern.ip.tot_len = htons(sizeof(pattern) - sizeof(pattern.eth));
	pattern.ip.daddr = to->v4.sin_addr.s_addr;
	pattern.tcp.dest = to->v4.sin_port;
	pattern.tcp.doff = 6;
	pattern.tcp.syn = 1;
	pattern.tcp.window = htons(64240);
	memcpy(pattern.mss, mss, sizeof(mss));
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"count", "cpus", "sources", "napi", "pause_us", NULL};
	struct volley_thread threads[CPUS_MAX], sum = {0};
	union tool_addr to;
	unsigned int n = 0;
	long cpus;

	if (argc < 5)
		tool_die("usage: volley DEVICE MAC ADDR PORT [key=value...]");
	tool_check_keys(argc, argv, 5, keys);
	count = tool_number(argc, argv, 5, "count", 100000);
	cpus = tool_number(argc, argv, 5, "cpus", 1);
	sources = tool_number(argc, argv, 5, "sources", 0);
	pause_us = tool_number(argc, argv, 5, "pause_us", 0);
	napi = tool_word(argc, argv, 5, "napi");
	if (pause_us < 0 || pause_us > 999999 || (napi && __builtin_popcountl((unsigned long)cpus) != 1))
		tool_die("pause_us is out of range, or one thread polls and several CPUs send");
	if (count < 1 || count > 100000000 || cpus < 1 || cpus >> CPUS_MAX || sources < 0)
		tool_die("count, cpus or sources is out of range");
	tool_address(argv[3], argv[4], &to);
	build(argv[1], argv[2], &to);
	pthread_barrier_init(&start_line, NULL, (unsigned int)__builtin_popcountl((unsigned long)cpus));
	for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!(cpus >> cpu & 1))
			continue;
		threads[n] = (struct volley_thread){.cpu = cpu};
		if (pthread_create(&threads[n].thread, NULL, volley, &threads[n]))
			tool_die("no thread");
		n++;
	}
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(threads[i].thread, NULL);
		sum.sent += threads[i].sent;
		sum.refused += threads[i].refused;
		sum.cpu_ns += threads[i].cpu_ns;
		sum.kernel_ns += threads[i].kernel_ns;
		if (threads[i].wall_ns > sum.wall_ns)
			sum.wall_ns = threads[i].wall_ns;
	}
	printf("sent=%llu refused=%llu cpu_ns=%llu receiver_ns=%llu wall_ns=%llu\n", (unsigned long long)sum.sent,
	       (unsigned long long)sum.refused, (unsigned long long)sum.cpu_ns, (unsigned long long)sum.kernel_ns,
	       (unsigned long long)sum.wall_ns);
	return 0;
}
