/* SPDX-License-Identifier: MIT */
/* Connections of gover-d and its tools: one request, one reply. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "compute/channel/transfer.h"
#include "compute/server/loop.h"

#define ACCEPTS_AT_ONCE 16

void server_accept_controls(struct server *server)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = accept4(server->controls.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return;
		if (server->n_controls >= SERVER_CONTROLS_MAX)
			(void)close(fd);
		else if (server_add_connection(server, fd, true))
			server->n_controls++;
	}
}

static size_t answer(struct server *server, const char *bytes, size_t size, int *ret_result,
		     struct compute_reply *reply)
{
	struct compute_request request;
	int r = compute_control_parse_request(bytes, size, &request);

	*ret_result = r;
	if (r == 0)
		return accelerator_answer(server->accelerator, &request, server_now_ns(), reply);
	if (r == -EPROTO)
		request = (struct compute_request){.tenant = COMPUTE_TENANT_NONE};
	return accelerator_reject(server->accelerator, &request, r, server_now_ns(), reply);
}

void server_read_control(struct server *server, struct connection *connection)
{
	int fds[COMPUTE_TRANSFER_FDS_MAX], n, result;
	char bytes[sizeof(struct compute_request) + 1];
	struct compute_reply reply;
	unsigned int n_fds = 0;
	size_t size;

	n = compute_transfer_receive(connection->watched.fd, bytes, sizeof(bytes), fds, &n_fds);
	if (n == -EAGAIN || n == -EINTR)
		return;
	for (unsigned int i = 0; n > 0 && i < n_fds; i++)
		(void)close(fds[i]);
	if (n == 0 || (n < 0 && n != -EMSGSIZE)) {
		server_end_connection(server, connection);
		return;
	}
	size = answer(server, bytes, n > 0 ? (size_t)n : 0, &result, &reply);
	if (compute_transfer_send(connection->watched.fd, &reply, size, NULL, 0) < 0 ||
	    result == -EPROTO)
		server_end_connection(server, connection);
}
