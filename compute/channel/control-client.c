/* SPDX-License-Identifier: MIT */
/* Requests to the arbiter, each with a time limit. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "compute/channel/control-client.h"
#include "compute/channel/transfer.h"

/* An arbiter that answers LIST for ever is cut off here. */
#define LISTS_MAX 4096

int compute_control_open(struct compute_control *control, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, r;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		r = -errno;
		(void)close(fd);
		return r;
	}
	*control = (struct compute_control){.fd = fd};
	return 0;
}

void compute_control_close(struct compute_control *control)
{
	if (control->fd >= 0)
		(void)close(control->fd);
	control->fd = -1;
}

static int64_t clock_ms(void)
{
	return (int64_t)(clock_now().mono_ns / NS_PER_MS);
}

/* Waits until the connection has one of @events or until @end_ms. */
static int wait_for(const struct compute_control *control, short events, int64_t end_ms)
{
	struct pollfd fd = {.fd = control->fd, .events = events};
	int64_t left_ms;
	int r;

	do {
		left_ms = end_ms - clock_ms();
		r = poll(&fd, 1, left_ms > 0 ? (int)left_ms : 0);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	return r == 0 ? -ETIMEDOUT : 0;
}

static int send_request(struct compute_control *control, const struct compute_request *request,
			int64_t end_ms)
{
	int r;

	while ((r = compute_transfer_send(control->fd, request, sizeof(*request), NULL, 0)) ==
	       -EAGAIN) {
		r = wait_for(control, POLLOUT, end_ms);
		if (r < 0)
			return r;
	}
	return r == -EPIPE ? -ECONNRESET : r;
}

static int receive_reply(struct compute_control *control, const struct compute_request *request,
			 int64_t end_ms, struct compute_reply *ret_reply)
{
	/* One byte more than the longest reply, so that a longer packet is noticed. */
	char bytes[sizeof(struct compute_reply) + 1];
	int fds[COMPUTE_TRANSFER_FDS_MAX], n;
	unsigned int n_fds = 0;

	for (;;) {
		n = compute_transfer_receive(control->fd, bytes, sizeof(bytes), fds, &n_fds);
		if (n != -EAGAIN && n != -EINTR)
			break;
		n = wait_for(control, POLLIN, end_ms);
		if (n < 0)
			return n;
	}
	if (n <= 0)
		return n == 0 ? -ECONNRESET : n == -EMSGSIZE ? -EPROTO : n;
	if (n_fds > 0) {
		while (n_fds > 0)
			(void)close(fds[--n_fds]);
		return -EPROTO;
	}
	return compute_control_parse_reply(bytes, (size_t)n, request, ret_reply);
}

int compute_control_call(struct compute_control *control, struct compute_request *request,
			 int limit_ms, struct compute_reply *ret_reply)
{
	int64_t end_ms = clock_ms() + limit_ms;
	int r;

	if (control->fd < 0)
		return -ENOTCONN;
	request->serial = ++control->serial;
	r = send_request(control, request, end_ms);
	if (r == 0)
		r = receive_reply(control, request, end_ms, ret_reply);
	if (r < 0)
		compute_control_close(control);
	return r;
}

int compute_control_list(struct compute_control *control, int limit_ms,
			 struct compute_tenant *tenants, unsigned int max,
			 struct compute_device *ret_device, unsigned int *ret_n)
{
	struct compute_request request;
	struct compute_reply reply;
	unsigned int n = 0;
	uint32_t next = 0;

	for (int lists = 0; lists < LISTS_MAX && next != COMPUTE_TENANT_NONE; lists++) {
		int r;

		compute_control_make_request(COMPUTE_LIST, 0, &request);
		request.tenant = next;
		r = compute_control_call(control, &request, limit_ms, &reply);
		if (r < 0)
			return r;
		if (reply.error != 0)
			return -EPROTO;
		for (uint32_t i = 0; i < reply.tenants; i++, n++)
			if (n < max)
				tenants[n] = reply.tenant[i];
		next = reply.next;
	}
	if (next != COMPUTE_TENANT_NONE)
		return -EPROTO;
	*ret_device = reply.device;
	*ret_n = n;
	return 0;
}
