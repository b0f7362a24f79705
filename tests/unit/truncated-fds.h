/* SPDX-License-Identifier: MIT */
/*
 * qemu-user loses descriptors for which the receiver has no room, and does not report it. A test of
 * such a message skips itself there.
 */
#ifndef TESTS_UNIT_TRUNCATED_FDS_H
#define TESTS_UNIT_TRUNCATED_FDS_H

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRUNCATED_FDS_MAX 16u

/* Sends @n descriptors to a receiver with room for @room. Returns true if it sees MSG_CTRUNC. */
static inline bool truncated_fds_are_reported(unsigned int n, unsigned int room)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(TRUNCATED_FDS_MAX * sizeof(int))] = {0};
	char byte = 'a';
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
	int ends[2], fd;

	if (n > TRUNCATED_FDS_MAX || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
		return false;
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(rights) + i * sizeof(int), &ends[0], sizeof(int));
	if (sendmsg(ends[0], &message, 0) == 1) {
		message.msg_controllen = CMSG_SPACE(room * sizeof(int));
		message.msg_flags = 0;
		if (recvmsg(ends[1], &message, 0) != 1)
			message.msg_flags = 0;
		rights = CMSG_FIRSTHDR(&message);
		for (size_t at = CMSG_LEN(0); rights && at + sizeof(int) <= rights->cmsg_len;
		     at += sizeof(int)) {
			memcpy(&fd, control + at, sizeof(int));
			(void)close(fd);
		}
	}
	(void)close(ends[0]);
	(void)close(ends[1]);
	return (message.msg_flags & MSG_CTRUNC) != 0;
}

#endif
