/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the packets of the compute socket and of the control socket: the first byte selects the
 * parser, the rest is the packet. An accepted packet has only values within their bounds, and is
 * accepted again with the same result.
 */
#include <errno.h>

#include "compute/channel/control.h"
#include "compute/channel/message.h"
#include "compute/channel/wire.h"
#include "tests/fuzz/fuzz.h"

static void check_compute_hello(const void *packet, size_t size)
{
	struct compute_hello hello, again;

	if (compute_message_parse_hello(packet, size, COMPUTE_HELLO_FDS, &hello) < 0)
		return;
	compute_message_make_hello(hello.name, hello.pid, &again);
	FUZZ_CHECK(memcmp(&hello, &again, sizeof(hello)) == 0);
}

static void check_compute_welcome(const void *packet, size_t size)
{
	struct compute_welcome welcome, again;

	if (compute_message_parse_welcome(packet, size, COMPUTE_WELCOME_FDS, &welcome) < 0)
		return;
	FUZZ_CHECK(welcome.slot < COMPUTE_SLOTS);
	compute_message_make_welcome(welcome.slot, welcome.memory_max_bytes, &again);
	FUZZ_CHECK(memcmp(&welcome, &again, sizeof(welcome)) == 0);
}

static void check_compute_request(const void *packet, size_t size)
{
	struct compute_request request;
	int r = compute_control_parse_request(packet, size, &request);

	if (r == -EPROTO)
		return;
	FUZZ_CHECK(request.verb > 0 && request.verb < COMPUTE_VERBS);
	FUZZ_CHECK(strlen(request.id) < COMPUTE_ID_MAX);
	if (r < 0)
		return;
	FUZZ_CHECK(request.weight <= COMPUTE_WEIGHT_MAX && request.cap_pct <= 100);
	FUZZ_CHECK(request.guarantee_pct <= 100 && request.slice_ns <= COMPUTE_SLICE_MAX_NS);
}

static void check_compute_reply(const void *packet, size_t size)
{
	struct compute_reply reply;
	struct compute_request request;
	uint32_t head[6] = {0};

	/* The request that the reply claims to answer. */
	memcpy(head, packet, size < sizeof(head) ? size : sizeof(head));
	compute_control_make_request((enum compute_verb)(head[1] >> 16), head[2], &request);
	if (request.verb == 0 || request.verb >= COMPUTE_VERBS)
		return;
	if (request.verb != COMPUTE_ADD)
		request.tenant = 0;
	if (compute_control_parse_reply(packet, size, &request, &reply) < 0)
		return;
	FUZZ_CHECK(reply.tenants <= COMPUTE_LIST_MAX && (reply.error == 0 || reply.tenants == 0));
	for (uint32_t i = 0; i < reply.tenants; i++) {
		FUZZ_CHECK(reply.tenant[i].state < COMPUTE_STATES);
		FUZZ_CHECK(strlen(reply.tenant[i].id) < COMPUTE_ID_MAX);
		FUZZ_CHECK(i == 0 || reply.tenant[i].index > reply.tenant[i - 1].index);
	}
}

FUZZ(compute_message)
{
	static void (*const checks[])(const void *,
				      size_t) = {check_compute_hello, check_compute_welcome,
						 check_compute_request, check_compute_reply};

	if (size == 0)
		return 0;
	checks[data[0] % ARRAY_SIZE(checks)](data + 1, size - 1);
	return 0;
}
