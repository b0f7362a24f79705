/* SPDX-License-Identifier: MIT */
/* Hello and welcome are parsed strictly, and packets keep their descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "compute/channel/message.h"
#include "compute/channel/wire.h"
#include "tests/unit/truncated-fds.h"
#include "tests/unit/unit.h"

TEST(a_hello_is_parsed)
{
	static const struct {
		const char *name, *parsed;
	} rows[] = {
		{"clpeak", "clpeak"},
		{"", ""},
		{"tab\there\xc3", "tab?here?"},
		{"a name with more than thirty-one characters", "a name with more than thirty-on"},
	};
	struct compute_hello made, hello;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		compute_message_make_hello(rows[i].name, 42, &made);
		assert_int_equal(compute_message_parse_hello(&made, sizeof(made), 1, &hello), 0);
		assert_string_equal(hello.name, rows[i].parsed);
		assert_int_equal(hello.pid, 42);
	}
}

TEST(a_hello_with_any_changed_field_is_rejected)
{
	struct compute_hello good, bad, hello;
	char longer[sizeof(good) + 1] = {0};

	compute_message_make_hello("x", 1, &good);
	memcpy(longer, &good, sizeof(good));
	assert_int_equal(compute_message_parse_hello(longer, sizeof(longer), 1, &hello), -EPROTO);
	assert_int_equal(compute_message_parse_hello(&good, sizeof(good) - 1, 1, &hello), -EPROTO);
	assert_int_equal(compute_message_parse_hello(&good, 0, 1, &hello), -EPROTO);
	assert_int_equal(compute_message_parse_hello(&good, sizeof(good), 0, &hello), -EPROTO);
	assert_int_equal(compute_message_parse_hello(&good, sizeof(good), 2, &hello), -EPROTO);
	for (size_t at = 0; at < sizeof(good); at++) {
		if (at >= offsetof(struct compute_hello, pid) &&
		    at <= offsetof(struct compute_hello, name))
			continue; /* any pid and any name of one character are allowed */
		bad = good;
		((char *)&bad)[at] ^= 1;
		assert_int_equal(compute_message_parse_hello(&bad, sizeof(bad), 1, &hello),
				 -EPROTO);
	}
	memset(bad.name, 'a', sizeof(bad.name)); /* without a NUL */
	assert_int_equal(compute_message_parse_hello(&bad, sizeof(bad), 1, &hello), -EPROTO);
}

TEST(a_welcome_is_parsed)
{
	static const struct {
		uint32_t slot;
		uint64_t memory;
		int result;
	} rows[] = {
		{0, 0, 0},
		{255, UINT64_MAX, 0},
		{256, 0, -EPROTO},
		{UINT32_MAX, 0, -EPROTO},
	};
	struct compute_welcome made, welcome = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		compute_message_make_welcome(rows[i].slot, rows[i].memory, &made);
		assert_int_equal(compute_message_parse_welcome(&made, sizeof(made), 2, &welcome),
				 rows[i].result);
		if (rows[i].result == 0)
			assert_true(welcome.slot == rows[i].slot &&
				    welcome.memory_max_bytes == rows[i].memory);
	}
	compute_message_make_welcome(0, 0, &made);
	assert_int_equal(compute_message_parse_welcome(&made, sizeof(made), 1, &welcome), -EPROTO);
	assert_int_equal(compute_message_parse_welcome(&made, sizeof(made) - 1, 2, &welcome),
			 -EPROTO);
	made.reserved = 1;
	assert_int_equal(compute_message_parse_welcome(&made, sizeof(made), 2, &welcome), -EPROTO);
}

static void open_pair(int *ends)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static unsigned int count_fds(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

TEST(a_packet_keeps_its_descriptors)
{
	int ends[2], pipes[2], got[COMPUTE_TRANSFER_FDS_MAX];
	unsigned int n_fds;
	char bytes[8];

	open_pair(ends);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 8, got, &n_fds), -EAGAIN);
	assert_int_equal(compute_transfer_send(ends[0], "abc", 3, pipes, 2), 0);
	assert_int_equal(compute_transfer_send(ends[0], "d", 1, NULL, 0), 0);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 8, got, &n_fds), 3);
	assert_int_equal(n_fds, 2);
	assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(got[1], "x", 1), 1);
	assert_int_equal(read(pipes[0], bytes, 8), 1);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 8, got + 2, &n_fds), 1);
	assert_int_equal(n_fds, 0);
	(void)close(ends[0]);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 8, got + 2, &n_fds), 0);
	assert_int_equal(compute_transfer_send(ends[1], "x", 1, NULL, 0), -EPIPE);
	for (int i = 0; i < 2; i++) {
		(void)close(got[i]);
		(void)close(pipes[i]);
	}
	(void)close(ends[1]);
}

TEST(a_packet_that_is_too_long_loses_its_descriptors)
{
	int ends[2], got[COMPUTE_TRANSFER_FDS_MAX];
	unsigned int n_fds, before;
	char bytes[2];

	open_pair(ends);
	before = count_fds();
	assert_int_equal(compute_transfer_send(ends[0], "abc", 3, ends, 2), 0);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 2, got, &n_fds), -EMSGSIZE);
	assert_int_equal(count_fds(), before);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* More descriptors than compute_transfer_send() allows. */
static void send_fds(int sock, int fd, unsigned int n)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (char[]){"a"}, .iov_len = 1};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (unsigned int i = 0; i < n; i++)
		memcpy(CMSG_DATA(rights) + i * sizeof(int), &fd, sizeof(int));
	assert_int_equal(sendmsg(sock, &message, 0), 1);
}

TEST(too_many_descriptors_are_closed)
{
	int ends[2], got[COMPUTE_TRANSFER_FDS_MAX];
	unsigned int n_fds, before;
	char bytes[8];

	if (!truncated_fds_are_reported(12, COMPUTE_TRANSFER_FDS_MAX)) {
		print_message("# this system does not report lost descriptors\n");
		skip();
	}
	open_pair(ends);
	before = count_fds();
	send_fds(ends[0], ends[0], 12);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 8, got, &n_fds), -EMSGSIZE);
	assert_int_equal(count_fds(), before);
	assert_int_equal(compute_transfer_send(ends[0], "a", 1, got, 5), -EINVAL);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
