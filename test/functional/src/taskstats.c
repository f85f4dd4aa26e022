// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delay accounting of a task, by taskstats: a request and an answer of generic
 * netlink. kernel.task_delayacct must have been 1 when the task was made.
 */
#include "effect.h"
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <sys/socket.h>

struct message {
	struct nlmsghdr head;
	struct genlmsghdr genl;
	char room[4096];
};

static void send_attribute(int fd, int family, int command, int type, const void *data, size_t len)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct message m = { 0 };
	struct nlattr *a = (struct nlattr *)m.room;

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy(m.room + NLA_HDRLEN, data, len);
	m.genl.cmd = command;
	m.genl.version = 1;
	m.head.nlmsg_type = family;
	m.head.nlmsg_flags = NLM_F_REQUEST;
	m.head.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(a->nla_len);
	if (sendto(fd, &m, m.head.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		die("taskstats: sendto: %s", strerror(errno));
}

/* The attributes of the answer begin at @m->room; returns their length. */
static size_t receive(int fd, struct message *m, const char *what)
{
	ssize_t n = recv(fd, m, sizeof(*m), 0);

	if (n < (ssize_t)NLMSG_HDRLEN)
		die("taskstats: recv: %s", n < 0 ? strerror(errno) : "short");
	if (m->head.nlmsg_type == NLMSG_ERROR) {
		struct nlmsgerr *e = NLMSG_DATA(&m->head);

		die("taskstats: %s: %s", what, strerror(-e->error));
	}
	if (m->head.nlmsg_len > n || m->head.nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN)
		die("taskstats: %s: an answer of %u bytes", what, m->head.nlmsg_len);
	return m->head.nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
}

static const char *attribute(const char *at, size_t left, int type, size_t *len)
{
	while (left >= NLA_HDRLEN) {
		const struct nlattr *a = (const struct nlattr *)at;
		size_t step = NLA_ALIGN(a->nla_len);

		if (a->nla_len < NLA_HDRLEN || a->nla_len > left)
			break;
		if ((a->nla_type & NLA_TYPE_MASK) == type) {
			*len = a->nla_len - NLA_HDRLEN;
			return at + NLA_HDRLEN;
		}
		if (step >= left)
			break;
		at += step;
		left -= step;
	}
	die("taskstats: the answer has no attribute %d", type);
}

static uint16_t family_number(int fd)
{
	struct message m;
	const char *at;
	uint16_t family;
	size_t len;

	send_attribute(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
		       TASKSTATS_GENL_NAME, sizeof(TASKSTATS_GENL_NAME));
	len = receive(fd, &m, "this kernel has no " TASKSTATS_GENL_NAME);
	at = attribute(m.room, len, CTRL_ATTR_FAMILY_ID, &len);
	memcpy(&family, at, sizeof(family));
	return family;
}

void task_delays(pid_t pid, struct delays *d)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	struct taskstats stats = { 0 };
	uint32_t number = pid;
	struct message m;
	const char *at;
	size_t len;

	if (fd < 0)
		die("taskstats: socket: %s", strerror(errno));
	send_attribute(fd, family_number(fd), TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID,
		       &number, sizeof(number));
	len = receive(fd, &m, "no statistics of the reader");
	at = attribute(m.room, len, TASKSTATS_TYPE_AGGR_PID, &len);
	at = attribute(at, len, TASKSTATS_TYPE_STATS, &len);
	/* Newer versions are longer, and begin the same way. */
	memcpy(&stats, at, min64(len, sizeof(stats)));
	close(fd);
	if (stats.version < 9)
		die("taskstats: version %u does not tell of thrashing", stats.version);
	d->blkio_count = stats.blkio_count;
	d->blkio_ns = stats.blkio_delay_total;
	d->thrash_count = stats.thrashing_count;
	d->thrash_ns = stats.thrashing_delay_total;
}
