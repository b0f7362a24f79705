/* SPDX-License-Identifier: MIT */
/* Packets with descriptors (SCM_RIGHTS). */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "compute/channel/transfer.h"

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
