/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the device of gover-arbiter: clients come and go and write anything in their pages, and
 * gover-d sends any request. Each call is four bytes: call, client or tenant, place, amount. After
 * each call: clients of one tenant at most have a turn, the device time is the sum of that of the
 * tenants, no tenant has more than the clients could have used, and every reply is valid.
 */
#include "compute/channel/memfd.h"
#include "compute/server/accelerator.h"
#include "tests/fuzz/fuzz.h"

#define ACCELERATOR_PROGRAMS 8

struct accelerator_world {
	struct accelerator *accelerator;
	const struct compute_beacon *beacon;
	uint64_t begin_ns, now_ns, next_ns, removed_ns;
	struct {
		struct accelerator_client *client; /* NULL: not connected */
		struct compute_page *page;	   /* unmapped by the accelerator */
	} programs[ACCELERATOR_PROGRAMS];
};

/* Amounts of all sizes: a mantissa of four bits, shifted by up to 60. */
static uint64_t accelerator_amount(uint8_t byte)
{
	return (uint64_t)(byte & 15) << (byte >> 4) * 4;
}

static void accelerator_world_ask(struct accelerator_world *world, struct compute_request *request,
				  struct compute_reply *ret_reply)
{
	struct compute_request parsed;
	size_t size;

	if (compute_control_parse_request(request, sizeof(*request), &parsed) < 0)
		return;
	size = accelerator_answer(world->accelerator, &parsed, world->now_ns, ret_reply);
	FUZZ_CHECK(compute_control_parse_reply(ret_reply, size, request, ret_reply) == 0);
}

static void accelerator_world_request(struct accelerator_world *world, const uint8_t call[4])
{
	enum compute_verb verb = (enum compute_verb)(1 + call[1] % (COMPUTE_VERBS - 1));
	struct compute_request request;
	struct compute_reply reply = {0};

	compute_control_make_request(verb, call[3], &request);
	if (verb == COMPUTE_ADD) {
		(void)snprintf(request.id, sizeof(request.id), "/g%d%s", call[2] % 4,
			       call[2] & 8 ? "/below" : "");
		request.weight = 1u + call[3];
		request.cap_pct = call[3] % 101;
		request.guarantee_pct = call[3] % 50;
		request.memory_max_bytes = 1 + accelerator_amount(call[3]);
	} else if (verb == COMPUTE_SET_DISCIPLINE) {
		(void)snprintf(request.id, sizeof(request.id), "%s",
			       arbiter_disciplines[call[2] % 7].name);
	} else if (verb == COMPUTE_SET_SLICE) {
		request.slice_ns = COMPUTE_SLICE_MIN_NS * (1u + call[3]);
	} else if (verb != COMPUTE_GET_DEVICE) {
		request.tenant = call[2] % 16;
	}
	if (verb == COMPUTE_SET_CAP)
		request.cap_pct = call[3] % 101;
	if (verb == COMPUTE_SET_WEIGHT)
		request.weight = 1u + call[3];
	if (verb == COMPUTE_SET_GUARANTEE)
		request.guarantee_pct = call[3] % 101;
	if (verb == COMPUTE_SET_MEMORY)
		request.memory_max_bytes = 1 + accelerator_amount(call[3]);
	accelerator_world_ask(world, &request, &reply);
}

/* Connects, or ends the connection. */
static void accelerator_world_connect(struct accelerator_world *world, int i, uint8_t group)
{
	char name[32];
	void *page;

	if (world->programs[i].client) {
		accelerator_disconnect(world->accelerator, world->programs[i].client,
				       world->now_ns);
		world->programs[i].client = NULL;
		return;
	}
	(void)snprintf(name, sizeof(name), "/g%d%s", group % 4, group & 8 ? "/below/x" : "");
	page = mmap(NULL, COMPUTE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	FUZZ_CHECK(page != MAP_FAILED);
	world->programs[i].page = page;
	FUZZ_CHECK(accelerator_connect(world->accelerator, name, page, -1, world->now_ns,
				       &world->programs[i].client) == 0);
}

static void accelerator_world_call(struct accelerator_world *world, const uint8_t call[4])
{
	int i = call[1] % ACCELERATOR_PROGRAMS;
	uint64_t *words = (uint64_t *)(void *)world->programs[i].page;
	size_t n_words = sizeof(struct compute_page) / sizeof(*words);

	switch (call[0] % 8) {
	case 0:
		accelerator_world_connect(world, i, call[2]);
		break;
	case 1:
		accelerator_world_request(world, call);
		break;
	case 2:
		world->now_ns += accelerator_amount(call[3]) % 10000000000u;
		break;
	case 3:
		world->now_ns = world->next_ns != ARBITER_NEVER ? world->next_ns : world->now_ns;
		break;
	case 4: /* time words of the page that look right */
		if (world->programs[i].client)
			words[call[2] % n_words] = world->now_ns + call[3];
		break;
	default:
		if (world->programs[i].client)
			words[call[2] % n_words] += accelerator_amount(call[3]);
		break;
	}
}

static void accelerator_world_check(struct accelerator_world *world)
{
	struct compute_request request;
	struct compute_reply reply = {0};
	uint32_t holder = COMPUTE_TENANT_NONE;
	uint64_t busy_ns = 0;

	world->next_ns = accelerator_step(world->accelerator, world->now_ns);
	FUZZ_CHECK(world->next_ns >= world->now_ns);
	for (int i = 0; i < ACCELERATOR_PROGRAMS; i++) {
		const struct accelerator_client *client = world->programs[i].client;
		uint32_t tenant;

		if (!client || (world->beacon->slot[client->slot].grant & COMPUTE_GRANT_MASK) ==
				       COMPUTE_GRANT_NONE)
			continue;
		tenant = client->tenant->index;
		FUZZ_CHECK(holder == COMPUTE_TENANT_NONE || holder == tenant);
		holder = tenant;
	}
	compute_control_make_request(COMPUTE_LIST, 1, &request);
	request.tenant = 0;
	do {
		accelerator_world_ask(world, &request, &reply);
		for (uint32_t i = 0; i < reply.tenants; i++)
			busy_ns += reply.tenant[i].busy_ns;
		request.tenant = reply.next;
	} while (reply.next != COMPUTE_TENANT_NONE);
	/* Device time of removed tenants remains in the total. */
	FUZZ_CHECK(busy_ns <= reply.device.busy_ns);
	/* Each program has the time since it connected; and a turn can be charged in advance. */
	FUZZ_CHECK(reply.device.busy_ns / (ACCELERATOR_PROGRAMS + 1) <=
		   world->now_ns - world->begin_ns);
}

FUZZ(accelerator)
{
	const struct accelerator_options options = {.name = "fuzz"};
	struct accelerator_world world = {.begin_ns = 1000000000, .now_ns = 1000000000};

	FUZZ_CHECK(accelerator_new(&options, world.now_ns, &world.accelerator) == 0);
	FUZZ_CHECK(compute_memfd_map_beacon(world.accelerator->beacon_fd, &world.beacon) == 0);
	for (; size >= 4; data += 4, size -= 4) {
		accelerator_world_call(&world, data);
		accelerator_world_check(&world);
	}
	accelerator_free(world.accelerator);
	compute_memfd_unmap_beacon(world.beacon);
	return 0;
}
