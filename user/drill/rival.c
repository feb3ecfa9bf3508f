// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/rival.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drill/kit.h"

#define RIVAL_RULES_MAX 4096
#define RIVAL_SAID_MAX 16384
#define RIVAL_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What is tried: above and below what the server can do, as the shield's user would have to guess. */
struct rival_setting {
	double rate;       /* times the capacity; 0: none */
	double burst;      /* times a second of the capacity */
	bool each;         /* of each source, once a second */
	unsigned int most; /* connections at a time; 0: as many as there are clients */
	bool queue;        /* the kernel's queue may be as long as it likes */
};

static const struct {
	const char *program, *package;
	struct rival_setting setting[RIVAL_TRIES_MAX];
	unsigned int settings;
} rivals[RUN_COUNT] = {
	[RUN_NFTABLES] = {"nft", "nftables", {{0.95, 0.1}, {0.8, 1}, {0.95, 1}, {1.1, 1}}, 4},
	[RUN_HASHLIMIT] = {"iptables", "iptables", {{0.95, 0.1}, {0.8, 1}, {0.95, 1}, {1.1, 1}, {.each = true}}, 5},
	[RUN_SYNPROXY] = {"iptables", "iptables", {{0}}, 1},
	[RUN_HAPROXY] = {"haproxy",
			 "haproxy",
			 {{.most = 64, .queue = true}, {.queue = true}, {.rate = 0.95, .queue = true}, {.rate = 0.95}},
			 4},
};

unsigned int rival_settings(enum drill_run run)
{
	return rivals[run].settings;
}

const char *rival_program(enum drill_run run)
{
	return rivals[run].program;
}

const char *rival_package(enum drill_run run)
{
	return rivals[run].package;
}

static unsigned int rival_at_least_one(double value)
{
	return value > 1 ? value : 1;
}

static unsigned int rival_rate(const struct board *board)
{
	return rival_at_least_one(rivals[board->run].setting[board->setting].rate * board_capacity(board));
}

static unsigned int rival_burst(const struct board *board)
{
	return rival_at_least_one(rivals[board->run].setting[board->setting].burst * board_capacity(board));
}

static unsigned int rival_most(const struct board *board)
{
	unsigned int most = rivals[board->run].setting[board->setting].most;

	return most ? most : board->params->clients;
}

static unsigned int rival_backlog(const struct board *board)
{
	return rivals[board->run].setting[board->setting].queue ? 4096 : rival_at_least_one(board_capacity(board) / 4);
}

static void rival_say(struct board *board, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void rival_say(struct board *board, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(board->setting_text, sizeof(board->setting_text), format, args);
	va_end(args);
}

static int rival_nftables(struct board *board, char *text, size_t size)
{
	rival_say(board, "limit rate over %u/second burst %u drop", rival_rate(board), rival_burst(board));
	return snprintf(
		text, size,
		"table netdev drill {\n\tchain ingress {\n"
		"\t\ttype filter hook ingress device \"" NET_SHIELD_IFACE "\" priority 0;\n"
		"\t\ttcp dport %u tcp flags & (fin|syn|rst|ack) == syn limit rate over %u/second burst %u packets "
		"counter drop\n\t}\n}\n",
		board->params->port, rival_rate(board), rival_burst(board));
}

static int rival_hashlimit(struct board *board, char *text, size_t size)
{
	bool each = rivals[board->run].setting[board->setting].each;
	unsigned int rate = each ? 1 : rival_rate(board), burst = each ? 1 : rival_burst(board);

	rival_say(board, "hashlimit-above %u/sec burst %u by %s", rate, burst, each ? "srcip" : "dstip");
	return snprintf(
		text, size,
		"*raw\n:PREROUTING ACCEPT\n-A PREROUTING -p tcp --dport %u --syn -m hashlimit --hashlimit-name drill "
		"--hashlimit-mode %s --hashlimit-above %u/sec --hashlimit-burst %u --hashlimit-htable-size 65536 "
		"--hashlimit-htable-max 262144 -j DROP\nCOMMIT\n",
		board->params->port, each ? "srcip" : "dstip", rate, burst);
}

/* As its manual page has it. It limits nothing: it answers in the server's place until a client has shown itself. */
static int rival_synproxy(struct board *board, char *text, size_t size)
{
	rival_say(board, "SYNPROXY sack-perm timestamp wscale 7");
	return snprintf(text, size,
			"*raw\n:PREROUTING ACCEPT\n-A PREROUTING -p tcp --dport %u --syn -j CT --notrack\nCOMMIT\n"
			"*filter\n:INPUT ACCEPT\n"
			"-A INPUT -p tcp --dport %u -m conntrack --ctstate INVALID,UNTRACKED -j SYNPROXY --sack-perm "
			"--timestamp --wscale 7 --mss 1460\n"
			"-A INPUT -p tcp --dport %u -m conntrack --ctstate INVALID -j DROP\nCOMMIT\n",
			board->params->port, board->params->port, board->params->port);
}

int rival_rules(struct board *board, char *text, size_t size)
{
	char rate[48] = "";
	int len = 0;

	text[0] = '\0';
	if (board->run == RUN_NFTABLES)
		len = rival_nftables(board, text, size);
	else if (board->run == RUN_HASHLIMIT)
		len = rival_hashlimit(board, text, size);
	else if (board->run == RUN_SYNPROXY)
		len = rival_synproxy(board, text, size);
	else if (rivals[board->run].setting[board->setting].rate > 0)
		snprintf(rate, sizeof(rate), ", %u connections/s", rival_rate(board));
	if (board->run == RUN_HAPROXY)
		rival_say(board, "maxconn %u, backlog %u%s", rival_most(board), rival_backlog(board), rate);
	return len < 0 || (size_t)len >= size ? -ENOSPC : 0;
}

/* Runs a program with `text` on its input, and keeps what it says. Returns its exit status; 127 where it is missing. */
static int rival_run(char *const argv[], const char *text, char *said, size_t size)
{
	int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC), status = -1;
	ssize_t len;
	pid_t pid;

	said[0] = '\0';
	if (in < 0 || out < 0 || write(in, text, strlen(text)) < 0 || lseek(in, 0, SEEK_SET)) {
		status = -1;
	} else if (!(pid = fork())) {
		dup2(in, 0);
		dup2(out, 1);
		dup2(out, 2);
		execvpe(argv[0], argv, (char *[]){RIVAL_PATH, NULL});
		_exit(127);
	} else if (pid > 0 && waitpid(pid, &status, 0) == pid) {
		len = pread(out, said, size - 1, 0);
		said[len > 0 ? len : 0] = '\0';
		status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return status;
}

/* The runner is in the network of node 0, so the rules are, too, and go with it. */
static int rival_filter(struct board *board, const char *rules)
{
	static char *const nft[] = {"nft", "-f", "-", NULL}, *const restore[] = {"iptables-restore", NULL};
	char said[512];
	int fd, ret = rival_run(board->run == RUN_NFTABLES ? nft : restore, rules, said, sizeof(said));

	if (ret) {
		said[strcspn(said, "\n")] = '\0';
		board->rival_refused = true;
		return board_fail(board, NULL, "%s refuses its rules: %.160s", rivals[board->run].program, said);
	}
	if (board->run != RUN_SYNPROXY)
		return 0;
	/* Without this a client's last ACK makes a connection that the proxy knows nothing of. */
	fd = open("/proc/sys/net/netfilter/nf_conntrack_tcp_loose", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		ret = board_fail(board, NULL, "cannot set nf_conntrack_tcp_loose: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return ret;
}

int rival_start(struct run *run)
{
	char rules[RIVAL_RULES_MAX];

	if (run->board->run != RUN_HAPROXY)
		return 0;
	rival_rules(run->board, rules, sizeof(rules));
	return front_start_tcp(run, rival_backlog(run->board));
}

int rival_early(struct run *run)
{
	char rules[RIVAL_RULES_MAX];

	if (run->board->run != RUN_SYNPROXY)
		return 0;
	if (rival_rules(run->board, rules, sizeof(rules)))
		return board_fail(run->board, NULL, "the rules are too long");
	return rival_filter(run->board, rules);
}

int rival_limit(struct run *run)
{
	struct board *board = run->board;
	char rules[RIVAL_RULES_MAX], text[160], rate[80] = "";

	if (!rival_is(board->run) || board->run == RUN_SYNPROXY)
		return 0;
	if (rival_rules(board, rules, sizeof(rules)))
		return board_fail(board, NULL, "the rules are too long");
	if (board->run != RUN_HAPROXY)
		return rival_filter(board, rules);
	if (rivals[board->run].setting[board->setting].rate > 0)
		snprintf(rate, sizeof(rate), ";set rate-limit connections global %u", rival_rate(board));
	snprintf(text, sizeof(text), "set maxconn server nodes/node0 %u%s\n", rival_most(board), rate);
	return front_tell(run, text);
}

__be32 rival_server(const struct run *run)
{
	return run->board->run == RUN_HAPROXY ? htonl(NET_FRONT_ADDR) : net_node_addr(0);
}

/* "counter packets 12 bytes 720" of nft, "[12:720] -A ... -j DROP" of iptables-save -c. */
static uint64_t rival_hits(const struct board *board, const char *said)
{
	const char *verdict = board->run == RUN_SYNPROXY ? "-j SYNPROXY" : "-j DROP", *at;

	if (board->run == RUN_NFTABLES) {
		at = strstr(said, "counter packets ");
		return at ? strtoull(at + strlen("counter packets "), NULL, 10) : 0;
	}
	at = strstr(said, verdict);
	while (at && at > said && at[-1] != '\n')
		at--;
	return at && *at == '[' ? strtoull(at + 1, NULL, 10) : 0;
}

void rival_read(struct run *run)
{
	static char *const nft[] = {"nft", "list", "ruleset", NULL}, *const save[] = {"iptables-save", "-c", NULL};
	struct board *board = run->board;
	static char said[RIVAL_SAID_MAX];

	if (!rival_is(board->run))
		return;
	if (board->run == RUN_HAPROXY) {
		front_read(run);
		board->rival_hits = board->front.sessions;
	} else if (!rival_run(board->run == RUN_NFTABLES ? nft : save, "", said, sizeof(said))) {
		board->rival_hits = rival_hits(board, said);
	}
}

void rival_figures(const struct board *board, struct figures *figures)
{
	if (rival_is(board->run))
		figures_add(figures, "hits", NULL, FIGURE_COUNT, board->rival_hits);
}
