/* SPDX-License-Identifier: MIT */
/*
 * Makes and checks the packets of the control protocol. Its client waits for each reply with a time
 * limit.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unix-listener.h"
#include "compute/channel/control.h"
#include "compute/channel/message.h"

/* The members that a verb names. */
enum member {
	TENANT = 1,
	WEIGHT = 2,
	CAP = 4,
	GUARANTEE = 8,
	MEMORY = 16,
	PATH = 32,
	NAME = 64,
	SLICE = 128,
	FIRST = 256, /* any index, of a tenant that may not exist */
};

static const struct {
	unsigned int members;
	unsigned int tenants_min, tenants_max; /* in a reply without error */
} verbs[COMPUTE_VERBS] = {
	[COMPUTE_GET_DEVICE] = {0, 0, 0},
	[COMPUTE_LIST] = {FIRST, 0, COMPUTE_LIST_MAX},
	[COMPUTE_ADD] = {PATH | WEIGHT | CAP | GUARANTEE | MEMORY, 1, 1},
	[COMPUTE_REMOVE] = {TENANT, 0, 0},
	[COMPUTE_SET_CAP] = {TENANT | CAP, 1, 1},
	[COMPUTE_SET_WEIGHT] = {TENANT | WEIGHT, 1, 1},
	[COMPUTE_SET_GUARANTEE] = {TENANT | GUARANTEE, 1, 1},
	[COMPUTE_SET_MEMORY] = {TENANT | MEMORY, 1, 1},
	[COMPUTE_SET_DISCIPLINE] = {NAME, 0, 0},
	[COMPUTE_SET_SLICE] = {SLICE, 0, 0},
};

void compute_control_make_request(enum compute_verb verb, uint32_t serial,
				  struct compute_request *ret_request)
{
	*ret_request = (struct compute_request){
		.magic = COMPUTE_CONTROL_MAGIC,
		.version = COMPUTE_CONTROL_VERSION,
		.verb = (uint16_t)verb,
		.serial = serial,
		.tenant = COMPUTE_TENANT_NONE,
	};
}

/* Returns true if a named member is within [@min, @max], or a member that is not named is 0. */
static bool is_in_range(unsigned int named, uint64_t value, uint64_t min, uint64_t max)
{
	return named ? value >= min && value <= max : value == 0;
}

static bool is_id_allowed(unsigned int members, const char *id)
{
	if (members & PATH)
		return id[0] == '/';
	if (members & NAME)
		return id[0] != '\0' && strlen(id) < COMPUTE_TEXT_MAX;
	return id[0] == '\0';
}

static bool is_request_allowed(const struct compute_request *request)
{
	unsigned int members = verbs[request->verb].members;

	if (members & (TENANT | FIRST) ? request->tenant == COMPUTE_TENANT_NONE
				       : request->tenant != COMPUTE_TENANT_NONE)
		return false;
	return is_in_range(members & WEIGHT, request->weight, 1, COMPUTE_WEIGHT_MAX) &&
	       is_in_range(members & CAP, request->cap_pct, 0, 100) &&
	       is_in_range(members & GUARANTEE, request->guarantee_pct, 0, 100) &&
	       is_in_range(members & SLICE, request->slice_ns, COMPUTE_SLICE_MIN_NS,
			   COMPUTE_SLICE_MAX_NS) &&
	       is_in_range(members & MEMORY, request->memory_max_bytes, 1, UINT64_MAX) &&
	       is_id_allowed(members, request->id);
}

int compute_control_parse_request(const void *bytes, size_t size,
				  struct compute_request *ret_request)
{
	struct compute_request request;

	if (size != sizeof(request))
		return -EPROTO;
	memcpy(&request, bytes, sizeof(request));
	if (request.magic != COMPUTE_CONTROL_MAGIC || request.version != COMPUTE_CONTROL_VERSION ||
	    request.verb == 0 || request.verb >= COMPUTE_VERBS ||
	    !compute_message_is_text(request.id, sizeof(request.id)))
		return -EPROTO;
	*ret_request = request;
	return is_request_allowed(&request) ? 0 : -EINVAL;
}

static bool is_tenant_valid(const struct compute_tenant *tenant)
{
	return tenant->index != COMPUTE_TENANT_NONE && tenant->state < COMPUTE_STATES &&
	       tenant->weight >= 1 && tenant->weight <= COMPUTE_WEIGHT_MAX &&
	       tenant->cap_pct <= 100 && tenant->guarantee_pct <= 100 &&
	       compute_message_is_text(tenant->id, sizeof(tenant->id));
}

/* Tenants are in order of their indices, and a further LIST begins behind them. */
static bool are_tenants_valid(const struct compute_reply *reply,
			      const struct compute_request *request)
{
	uint64_t min = request->verb == COMPUTE_LIST ? request->tenant : 0;

	for (uint32_t i = 0; i < reply->tenants; i++) {
		if (!is_tenant_valid(&reply->tenant[i]) || reply->tenant[i].index < min)
			return false;
		min = (uint64_t)reply->tenant[i].index + 1;
	}
	if (request->verb != COMPUTE_LIST)
		return reply->next == COMPUTE_TENANT_NONE &&
		       (request->tenant == COMPUTE_TENANT_NONE || reply->tenants == 0 ||
			reply->tenant[0].index == request->tenant);
	return reply->next == COMPUTE_TENANT_NONE || (reply->tenants > 0 && reply->next >= min);
}

int compute_control_parse_reply(const void *bytes, size_t size,
				const struct compute_request *request,
				struct compute_reply *ret_reply)
{
	const struct compute_reply *reply = ret_reply;

	if (size < COMPUTE_REPLY_BYTES(0) || size > sizeof(*ret_reply))
		return -EPROTO;
	memcpy(ret_reply, bytes, size);
	if (reply->magic != COMPUTE_CONTROL_MAGIC || reply->version != COMPUTE_CONTROL_VERSION ||
	    reply->verb != request->verb || reply->serial != request->serial ||
	    reply->tenants > COMPUTE_LIST_MAX || size != COMPUTE_REPLY_BYTES(reply->tenants) ||
	    !compute_message_is_text(reply->device.name, sizeof(reply->device.name)) ||
	    !compute_message_is_text(reply->device.discipline, sizeof(reply->device.discipline)))
		return -EPROTO;
	if (reply->error != 0)
		return reply->tenants == 0 && reply->error <= 4095 ? 0 : -EPROTO;
	if (reply->tenants < verbs[request->verb].tenants_min ||
	    reply->tenants > verbs[request->verb].tenants_max || !are_tenants_valid(reply, request))
		return -EPROTO;
	return 0;
}

/* An arbiter that answers LIST for ever is cut off here. */
#define LISTS_MAX 4096

/* --- the client --- */

int compute_control_path(const char *socket, char ret_path[COMPUTE_CONTROL_PATH_MAX])
{
	char name[PATH_MAX];
	int n;

	unix_listener_name(socket, name);
	n = snprintf(ret_path, COMPUTE_CONTROL_PATH_MAX, "%s" COMPUTE_CONTROL_SUFFIX, name);
	return n < COMPUTE_CONTROL_PATH_MAX ? 0 : -ENAMETOOLONG;
}

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
