/* SPDX-License-Identifier: MIT */
/* Control packets are parsed strictly, and a request to the arbiter never waits without a limit. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "compute/channel/control.h"
#include "compute/channel/message.h"
#include "tests/unit/unit.h"

/* A request with every member that @verb names. */
static struct compute_request good_request(enum compute_verb verb)
{
	struct compute_request request;

	compute_control_make_request(verb, 5, &request);
	if (verb == COMPUTE_ADD) {
		(void)snprintf(request.id, sizeof(request.id), "/a");
		request.memory_max_bytes = COMPUTE_MEMORY_NO_LIMIT;
		request.guarantee_pct = 100;
	}
	if (verb == COMPUTE_ADD || verb == COMPUTE_SET_WEIGHT)
		request.weight = COMPUTE_WEIGHT_MAX;
	if (verb == COMPUTE_SET_CAP)
		request.cap_pct = 100;
	if (verb == COMPUTE_SET_MEMORY)
		request.memory_max_bytes = 1;
	if (verb == COMPUTE_SET_DISCIPLINE)
		(void)snprintf(request.id, sizeof(request.id), "fair");
	else if (verb == COMPUTE_SET_SLICE)
		request.slice_ns = COMPUTE_SLICE_MIN_NS;
	else if (verb != COMPUTE_GET_DEVICE && verb != COMPUTE_ADD)
		request.tenant = 3;
	return request;
}

static int parse(const struct compute_request *request)
{
	struct compute_request parsed;

	return compute_control_parse_request(request, sizeof(*request), &parsed);
}

TEST(a_request_with_its_members_is_parsed)
{
	for (enum compute_verb verb = COMPUTE_GET_DEVICE; verb < COMPUTE_VERBS; verb++) {
		struct compute_request request = good_request(verb), parsed;

		assert_int_equal(compute_control_parse_request(&request, sizeof(request), &parsed),
				 0);
		assert_memory_equal(&parsed, &request, sizeof(request));
		assert_int_equal(
			compute_control_parse_request(&request, sizeof(request) - 1, &parsed),
			-EPROTO);
	}
}

/* Asserts that @result is @error after @change of @bad, a copy of @good. */
#define REJECTED(change, result, error)          \
	do {                                     \
		bad = good;                      \
		change;                          \
		assert_int_equal(result, error); \
	} while (0)

TEST(a_member_that_the_verb_does_not_name_is_rejected)
{
	for (enum compute_verb verb = COMPUTE_GET_DEVICE; verb < COMPUTE_VERBS; verb++) {
		struct compute_request good = good_request(verb), bad;
		bool adds = verb == COMPUTE_ADD;
		const struct compute_request wrong = {
			.weight = adds || verb == COMPUTE_SET_WEIGHT ? 0 : 1,
			.cap_pct = adds || verb == COMPUTE_SET_CAP ? 101 : 1,
			.guarantee_pct = adds || verb == COMPUTE_SET_GUARANTEE ? 101 : 1,
			.memory_max_bytes = adds || verb == COMPUTE_SET_MEMORY ? 0 : 1,
			.slice_ns = verb == COMPUTE_SET_SLICE ? COMPUTE_SLICE_MAX_NS + 1 : 1,
			.tenant = good.tenant == COMPUTE_TENANT_NONE ? 3 : COMPUTE_TENANT_NONE,
			.id = {good.id[0] == '\0' ? '/' : '\0'},
		};

		REJECTED(bad.weight = wrong.weight, parse(&bad), -EINVAL);
		REJECTED(bad.cap_pct = wrong.cap_pct, parse(&bad), -EINVAL);
		REJECTED(bad.guarantee_pct = wrong.guarantee_pct, parse(&bad), -EINVAL);
		REJECTED(bad.memory_max_bytes = wrong.memory_max_bytes, parse(&bad), -EINVAL);
		REJECTED(bad.slice_ns = wrong.slice_ns, parse(&bad), -EINVAL);
		REJECTED(bad.tenant = wrong.tenant, parse(&bad), -EINVAL);
		REJECTED(memcpy(bad.id, wrong.id, sizeof(bad.id)), parse(&bad), -EINVAL);
	}
}

TEST(a_request_with_a_wrong_head_is_rejected)
{
	struct compute_request good = good_request(COMPUTE_ADD), bad;

	REJECTED(bad.magic++, parse(&bad), -EPROTO);
	REJECTED(bad.version++, parse(&bad), -EPROTO);
	REJECTED(bad.verb = 0, parse(&bad), -EPROTO);
	REJECTED(bad.verb = COMPUTE_VERBS, parse(&bad), -EPROTO);
	REJECTED(bad.id[sizeof(bad.id) - 1] = 'x', parse(&bad), -EPROTO); /* after the NUL */
	REJECTED(bad.id[1] = '\n', parse(&bad), -EPROTO);
	REJECTED(memset(bad.id, 'x', sizeof(bad.id)), parse(&bad), -EPROTO);
}

TEST(a_discipline_has_a_short_name)
{
	struct compute_request request = good_request(COMPUTE_SET_DISCIPLINE);

	memset(request.id, 'x', COMPUTE_TEXT_MAX - 1);
	assert_int_equal(parse(&request), 0);
	request.id[COMPUTE_TEXT_MAX - 1] = 'x';
	assert_int_equal(parse(&request), -EINVAL);
}

/* A reply to @request with the tenants @first, @first + 1, ... */
static struct compute_reply good_reply(const struct compute_request *request, uint32_t first,
				       uint32_t tenants)
{
	struct compute_reply reply = {
		.magic = COMPUTE_CONTROL_MAGIC,
		.version = COMPUTE_CONTROL_VERSION,
		.verb = request->verb,
		.serial = request->serial,
		.tenants = tenants,
		.next = COMPUTE_TENANT_NONE,
	};

	for (uint32_t i = 0; i < tenants; i++)
		reply.tenant[i] = (struct compute_tenant){.index = first + i, .weight = 1};
	return reply;
}

static int parse_reply(const struct compute_reply *reply, const struct compute_request *request)
{
	struct compute_reply parsed;

	return compute_control_parse_reply(reply, COMPUTE_REPLY_BYTES(reply->tenants), request,
					   &parsed);
}

TEST(a_reply_has_the_tenants_of_its_verb)
{
	static const struct {
		enum compute_verb verb;
		uint32_t first, tenants;
		int result;
	} rows[] = {
		{COMPUTE_GET_DEVICE, 0, 0, 0},	  {COMPUTE_GET_DEVICE, 0, 1, -EPROTO},
		{COMPUTE_LIST, 0, 0, 0},	  {COMPUTE_LIST, 3, COMPUTE_LIST_MAX, 0},
		{COMPUTE_LIST, 2, 1, -EPROTO},	  {COMPUTE_ADD, 9, 1, 0},
		{COMPUTE_ADD, 9, 0, -EPROTO},	  {COMPUTE_SET_CAP, 3, 1, 0},
		{COMPUTE_SET_CAP, 4, 1, -EPROTO}, {COMPUTE_SET_CAP, 3, 2, -EPROTO},
		{COMPUTE_REMOVE, 0, 0, 0},	  {COMPUTE_REMOVE, 3, 1, -EPROTO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct compute_request request = good_request(rows[i].verb);
		struct compute_reply reply = good_reply(&request, rows[i].first, rows[i].tenants);

		assert_int_equal(parse_reply(&reply, &request), rows[i].result);
	}
}

TEST(a_reply_with_an_invalid_field_is_rejected)
{
	struct compute_request request = good_request(COMPUTE_LIST);
	struct compute_reply good = good_reply(&request, 3, 2), bad;

	REJECTED(bad.magic++, parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.version++, parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.verb++, parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.serial++, parse_reply(&bad, &request), -EPROTO);
	/* It must be at least 5, the index after the last tenant. */
	REJECTED(bad.next = 4, parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.error = ENOENT, parse_reply(&bad, &request), -EPROTO); /* with tenants */
	REJECTED(bad.tenant[1].index = 3, parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.tenant[1].index = COMPUTE_TENANT_NONE, parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.tenant[1].state = COMPUTE_STATES, parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.tenant[1].weight = 0, parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.tenant[1].weight = COMPUTE_WEIGHT_MAX + 1, parse_reply(&bad, &request),
		 -EPROTO);
	REJECTED(bad.tenant[1].cap_pct = 101, parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.tenant[1].guarantee_pct = 101, parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.tenant[1].id[5] = 'x', parse_reply(&bad, &request), -EPROTO);
	REJECTED(bad.device.name[0] = '\n', parse_reply(&bad, &request), -EPROTO);
	REJECTED(memset(bad.device.discipline, 'x', COMPUTE_TEXT_MAX), parse_reply(&bad, &request),
		 -EPROTO);
	bad = good;
	bad.next = 5;
	assert_int_equal(parse_reply(&bad, &request), 0);
	assert_int_equal(compute_control_parse_reply(&good, sizeof(good), &request, &bad), -EPROTO);
	assert_int_equal(compute_control_parse_reply(&good, 10, &request, &bad), -EPROTO);
	assert_int_equal(
		compute_control_parse_reply(&good, COMPUTE_REPLY_BYTES(17), &request, &bad),
		-EPROTO);
	good.tenants = UINT32_MAX;
	assert_int_equal(compute_control_parse_reply(&good, sizeof(good), &request, &bad), -EPROTO);
}

TEST(an_error_has_no_tenants)
{
	struct compute_request request = good_request(COMPUTE_SET_CAP);
	struct compute_reply reply = good_reply(&request, 0, 0);

	reply.error = ENOENT;
	assert_int_equal(parse_reply(&reply, &request), 0);
	reply.error = UINT32_MAX;
	assert_int_equal(parse_reply(&reply, &request), -EPROTO);
}

/* Connects @control with the other end of @ends. */
static void open_pair(struct compute_control *control, int ends[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	control->fd = ends[0];
}

struct lister {
	int fd;
	unsigned int tenants;
};

/* An arbiter with @tenants tenants that answers LIST requests until the connection ends. */
static void *answer_lists(void *userdata)
{
	const struct lister *lister = userdata;
	int fd = lister->fd, got[COMPUTE_TRANSFER_FDS_MAX];
	struct compute_request request;
	unsigned int n_fds, tenants = lister->tenants;

	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		struct compute_reply reply;
		uint32_t n;

		(void)poll(&wait, 1, -1);
		if (compute_transfer_receive(fd, &request, sizeof(request), got, &n_fds) <= 0)
			return NULL;
		n = tenants - request.tenant;
		if (n > COMPUTE_LIST_MAX)
			n = COMPUTE_LIST_MAX;
		reply = good_reply(&request, request.tenant, n);
		if (request.tenant + n < tenants)
			reply.next = request.tenant + n;
		(void)compute_transfer_send(fd, &reply, COMPUTE_REPLY_BYTES(n), NULL, 0);
	}
}

/* A second list on the connection has less room than the arbiter has tenants. */
TEST(a_list_is_read_in_parts_unless_it_has_no_end)
{
	static const struct {
		unsigned int tenants, n;
		int result;
	} rows[] = {{40, 40, 0}, {65537, 0, -EPROTO}};
	static const unsigned int max[] = {40, 3};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct compute_control control = COMPUTE_CONTROL_NULL;
		struct lister lister = {.tenants = rows[i].tenants};
		pthread_t thread;
		int ends[2];

		open_pair(&control, ends);
		lister.fd = ends[1];
		assert_int_equal(pthread_create(&thread, NULL, answer_lists, &lister), 0);
		for (size_t k = 0; k < ARRAY_SIZE(max); k++) {
			struct compute_tenant tenants[40];
			struct compute_device device;
			unsigned int n = 0;

			assert_int_equal(
				compute_control_list(&control, 60000, tenants, max[k], &device, &n),
				rows[i].result);
			assert_int_equal(n, rows[i].n);
			for (uint32_t j = 0; j < n && j < max[k]; j++)
				assert_int_equal(tenants[j].index, j);
		}
		compute_control_close(&control);
		assert_int_equal(pthread_join(thread, NULL), 0);
		(void)close(ends[1]);
	}
}

TEST(a_request_without_answer_ends)
{
	struct compute_control control = COMPUTE_CONTROL_NULL;
	struct compute_request request = good_request(COMPUTE_GET_DEVICE);
	struct compute_reply reply;
	int ends[2];

	assert_int_equal(compute_control_call(&control, &request, 1, &reply), -ENOTCONN);
	open_pair(&control, ends);
	assert_int_equal(compute_control_call(&control, &request, 5, &reply), -ETIMEDOUT);
	assert_int_equal(control.fd, -1);
	(void)close(ends[1]);
	open_pair(&control, ends);
	assert_int_equal(compute_transfer_send(ends[1], "nonsense", 8, ends, 1), 0);
	assert_int_equal(compute_control_call(&control, &request, 60000, &reply), -EPROTO);
	(void)close(ends[1]);
	open_pair(&control, ends);
	(void)close(ends[1]);
	assert_int_equal(compute_control_call(&control, &request, 60000, &reply), -ECONNRESET);
}

TEST(a_missing_arbiter_is_an_error)
{
	struct compute_control control = COMPUTE_CONTROL_NULL;
	char path[200];

	assert_int_equal(compute_control_open(&control, "/nonexistent/socket"), -ENOENT);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(compute_control_open(&control, path), -ENAMETOOLONG);
	assert_int_equal(control.fd, -1);
}
