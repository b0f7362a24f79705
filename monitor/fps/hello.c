/* SPDX-License-Identifier: MIT */
/*
 * The hello message carries a memfd. The sender is untrusted: a page that could shrink would end
 * the daemon with SIGBUS, and an fd that is not used must not stay open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "monitor/fps/hello.h"

void fps_hello_unmap(const struct fps_page *page)
{
	if (page)
		(void)munmap((void *)(uintptr_t)page, FPS_WIRE_PAGE_SIZE);
}

/* Maps a page that is sealed against shrinking. Returns 0 or a negative errno. */
static int page_map(int memfd, const struct fps_page **ret_page)
{
	const struct fps_page *page;
	struct stat st;
	int seals;

	if (fstat(memfd, &st) < 0)
		return -errno;
	seals = fcntl(memfd, F_GET_SEALS); /* fails unless the fd is a memfd */
	if (!S_ISREG(st.st_mode) || st.st_size != FPS_WIRE_PAGE_SIZE || seals < 0 ||
	    !(seals & F_SEAL_SHRINK))
		return -EINVAL;
	page = mmap(NULL, FPS_WIRE_PAGE_SIZE, PROT_READ, MAP_SHARED, memfd, 0);
	if (page == MAP_FAILED)
		return -errno;
	if (page->magic != FPS_WIRE_MAGIC || page->version != FPS_WIRE_VERSION) {
		fps_hello_unmap(page);
		return -EINVAL;
	}
	*ret_page = page;
	return 0;
}

/*
 * Returns the fd in @message if it contains exactly one. Otherwise closes all fds in @message and
 * returns -1.
 */
static int message_fd(struct msghdr *message)
{
	int fd = -1, n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
			if (fd >= 0)
				(void)close(fd);
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			n++;
		}
	}
	if (n > 1) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

int fps_hello_receive(int sock, const struct fps_page **ret_page)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct fps_hello hello = {0};
	struct iovec iov = {.iov_base = &hello, .iov_len = sizeof(hello)};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = recvmsg(sock, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	CLEANUP_CLOSE int memfd = -1;

	if (n <= 0)
		return n == 0 ? -ENOTCONN : -errno;
	memfd = message_fd(&message);
	if (n != sizeof(hello) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || memfd < 0 ||
	    hello.magic != FPS_WIRE_MAGIC || hello.version != FPS_WIRE_VERSION ||
	    hello.page_bytes != FPS_WIRE_PAGE_SIZE)
		return -EPROTO;
	return page_map(memfd, ret_page);
}
