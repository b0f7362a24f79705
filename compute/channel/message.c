/* SPDX-License-Identifier: MIT */
/*
 * Makes and checks the messages of the compute socket, and transfers packets with descriptors
 * (SCM_RIGHTS).
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "compute/channel/message.h"
#include "compute/channel/wire.h"

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

void compute_message_set_text(char *field, size_t size, const char *text)
{
	size_t n = strnlen(text, size - 1);

	memset(field, 0, size);
	for (size_t i = 0; i < n; i++)
		field[i] = is_printable(text[i]) ? text[i] : '?';
}

bool compute_message_is_text(const char *field, size_t size)
{
	size_t n = strnlen(field, size);

	if (n == size)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_printable(field[i]))
			return false;
	for (size_t i = n; i < size; i++)
		if (field[i] != '\0')
			return false;
	return true;
}

void compute_message_make_hello(const char *name, uint32_t pid, struct compute_hello *ret_hello)
{
	*ret_hello = (struct compute_hello){
		.magic = COMPUTE_HELLO_MAGIC,
		.version = COMPUTE_MESSAGE_VERSION,
		.page_bytes = COMPUTE_PAGE_BYTES,
		.pid = pid,
	};
	compute_message_set_text(ret_hello->name, sizeof(ret_hello->name), name);
}

void compute_message_make_welcome(uint32_t slot, uint64_t memory_max_bytes,
				  struct compute_welcome *ret_welcome)
{
	*ret_welcome = (struct compute_welcome){
		.magic = COMPUTE_WELCOME_MAGIC,
		.version = COMPUTE_MESSAGE_VERSION,
		.slot = slot,
		.memory_max_bytes = memory_max_bytes,
	};
}

int compute_message_parse_hello(const void *bytes, size_t size, unsigned int fds,
				struct compute_hello *ret_hello)
{
	struct compute_hello hello;

	if (size != sizeof(hello) || fds != COMPUTE_HELLO_FDS)
		return -EPROTO;
	memcpy(&hello, bytes, sizeof(hello));
	if (hello.magic != COMPUTE_HELLO_MAGIC || hello.version != COMPUTE_MESSAGE_VERSION ||
	    hello.page_bytes != COMPUTE_PAGE_BYTES ||
	    !compute_message_is_text(hello.name, sizeof(hello.name)))
		return -EPROTO;
	*ret_hello = hello;
	return 0;
}

int compute_message_parse_welcome(const void *bytes, size_t size, unsigned int fds,
				  struct compute_welcome *ret_welcome)
{
	struct compute_welcome welcome;

	if (size != sizeof(welcome) || fds != COMPUTE_WELCOME_FDS)
		return -EPROTO;
	memcpy(&welcome, bytes, sizeof(welcome));
	if (welcome.magic != COMPUTE_WELCOME_MAGIC || welcome.version != COMPUTE_MESSAGE_VERSION ||
	    welcome.slot >= COMPUTE_SLOTS || welcome.reserved != 0)
		return -EPROTO;
	*ret_welcome = welcome;
	return 0;
}

/* --- packets with descriptors --- */

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(COMPUTE_TRANSFER_FDS_MAX * sizeof(int))];
};

int compute_transfer_send(int sock, const void *bytes, size_t size, const int *fds,
			  unsigned int n_fds)
{
	union control control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *rights;

	if (n_fds > COMPUTE_TRANSFER_FDS_MAX)
		return -EINVAL;
	if (n_fds > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		rights = CMSG_FIRSTHDR(&message);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(rights), fds, n_fds * sizeof(int));
	}
	return sendmsg(sock, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Stores the received descriptors in @fds and returns their number. */
static unsigned int take_fds(struct msghdr *message, int *fds)
{
	unsigned int n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int))
			if (n < COMPUTE_TRANSFER_FDS_MAX)
				memcpy(&fds[n++], CMSG_DATA(c) + at, sizeof(int));
	}
	return n;
}

int compute_transfer_receive(int sock, void *bytes, size_t size, int *fds, unsigned int *ret_n_fds)
{
	union control control = {0};
	struct iovec iov = {.iov_base = bytes, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(sock, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	unsigned int n_fds;

	if (n < 0)
		return -errno;
	n_fds = take_fds(&message, fds);
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		while (n_fds > 0)
			(void)close(fds[--n_fds]);
		return -EMSGSIZE;
	}
	*ret_n_fds = n_fds;
	return (int)n;
}
