/* SPDX-License-Identifier: MIT */
/* Tenants, clients and control requests of a device. */
#include "compute/server/accelerator.h"
#include "tests/unit/compute/server/accelerator-rig.h"

TEST(programs_belong_to_the_nearest_group)
{
	static const struct {
		const char *group;
		uint32_t tenant;
	} rows[] = {
		{"/gover/a", 1},   {"/gover/a/b", 2}, {"/gover/a/b/c", 2},
		{"/gover/a/c", 1}, {"/gover/ab", 0},  {"/gover", 0},
		{"", 0},
	};
	struct compute_request request;
	struct compute_reply reply;

	connect_program("/gover/a/b/c", MS, 1);
	assert_int_equal(world.programs[0].client->tenant->index, 0);
	assert_int_equal(add_tenant("/gover/a", 100, 0), 1);
	assert_int_equal(world.programs[0].client->tenant->index, 1);
	assert_int_equal(add_tenant("/gover/a/b", 100, 0), 2);
	assert_int_equal(world.programs[0].client->tenant->index, 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct program *program = connect_program(rows[i].group, MS, 1);

		assert_int_equal(program->client->tenant->index, rows[i].tenant);
	}
	run(50 * MS);
	compute_control_make_request(COMPUTE_REMOVE, 1, &request);
	request.tenant = 2;
	ask(&request, 0, &reply);
	assert_int_equal(world.programs[0].client->tenant->index, 1);
	request.tenant = 1;
	ask(&request, 0, &reply);
	assert_int_equal(world.programs[0].client->tenant->index, 0);
	run(50 * MS);
	assert_int_equal(reply.device.tenants, 1);
	assert_int_equal(look(0).clients, 8);
	/* An index is never used again. */
	assert_int_equal(add_tenant("/gover/a", 100, 0), 3);
}

TEST(processes_of_a_tenant_share_one_turn)
{
	struct program *a, *b, *c;

	add_tenant("/a", 100, 0);
	add_tenant("/b", 100, 0);
	a = connect_program("/a", MS, 2);
	b = connect_program("/a/child", MS, 2);
	c = connect_program("/b", MS, 2);
	run(100 * MS);
	for (int i = 0; i < 1000; i++) {
		run(100 * US);
		assert_true(has_turn(a) == has_turn(b));
		assert_false(has_turn(a) && has_turn(c));
	}
	run(2000 * MS);
	assert_in_range(c->busy_ns, (a->busy_ns + b->busy_ns) * 97 / 100,
			(a->busy_ns + b->busy_ns) * 103 / 100);
}

TEST(memory_is_what_the_other_clients_leave)
{
	struct program *a, *b, *c;
	struct compute_request request;
	struct compute_reply reply;

	add_tenant("/a", 100, 0);
	a = connect_program("/a", MS, 1);
	b = connect_program("/a", MS, 1);
	c = connect_program("/c", MS, 1);
	assert_true(slot_of(a)->memory_max_bytes == UINT64_MAX);
	compute_control_make_request(COMPUTE_SET_MEMORY, 1, &request);
	request.tenant = 1;
	request.memory_max_bytes = 1000;
	ask(&request, 0, &reply);
	a->page->memory_bytes = 300;
	step();
	assert_int_equal(slot_of(a)->memory_max_bytes, 1000);
	assert_int_equal(slot_of(b)->memory_max_bytes, 700);
	assert_true(slot_of(c)->memory_max_bytes == UINT64_MAX);
	assert_true(slot_of(a)->flags & COMPUTE_RING_MEMORY);
	b->page->memory_bytes = 900; /* more than it may have: the other has less than nothing */
	step();
	assert_int_equal(slot_of(a)->memory_max_bytes, 100);
	assert_int_equal(look(1).memory_bytes, 1200);
	end_program(b);
	assert_int_equal(slot_of(a)->memory_max_bytes, 1000);
	assert_int_equal(look(1).memory_bytes, 300);
}

TEST(a_tenant_cannot_take_all_slots)
{
	const struct compute_page *mapped = NULL;
	struct accelerator_client *client;

	add_tenant("/b", 100, 0);
	for (unsigned int i = 0; i < ACCELERATOR_CLIENTS_MAX; i++)
		connect_program("/a", MS, 1);
	compute_memfd_unmap_page(new_page(&mapped));
	assert_int_equal(
		accelerator_connect(world.accelerator, "/a", mapped, -1, world.now_ns, &client),
		-ENOSPC);
	connect_program("/b", MS, 1);
}

TEST(a_connection_that_ended_has_no_turn)
{
	struct program *a;
	unsigned int slot;
	uint32_t word;

	add_tenant("/a", 100, 0);
	a = connect_program("/a", MS, 1);
	run(10 * MS);
	assert_true(has_turn(a));
	slot = a->client->slot;
	end_program(a);
	word = world.beacon->slot[slot].grant;
	assert_int_equal(word & COMPUTE_GRANT_MASK, COMPUTE_GRANT_NONE);
	/* The next client of the slot gets a newer word. */
	connect_program("/a", MS, 1);
	assert_true(world.beacon->slot[slot].grant > word);
}

TEST(requests_are_answered)
{
	static const struct {
		enum compute_verb verb;
		uint32_t tenant;
		const char *id;
		unsigned int weight, cap_pct, guarantee_pct, slice_ns;
		int error;
	} rows[] = {
		{COMPUTE_GET_DEVICE, COMPUTE_TENANT_NONE, "", 0, 0, 0, 0, 0},
		{COMPUTE_ADD, COMPUTE_TENANT_NONE, "/a", 5, 50, 10, 0, 0},
		{COMPUTE_ADD, COMPUTE_TENANT_NONE, "/a", 5, 50, 10, 0, EEXIST},
		{COMPUTE_SET_CAP, 1, "", 0, 20, 0, 0, 0},
		{COMPUTE_SET_CAP, 9, "", 0, 20, 0, 0, ENOENT},
		{COMPUTE_SET_WEIGHT, 1, "", 7, 0, 0, 0, 0},
		{COMPUTE_SET_GUARANTEE, 1, "", 0, 0, 30, 0, 0},
		{COMPUTE_SET_DISCIPLINE, COMPUTE_TENANT_NONE, "credit", 0, 0, 0, 0, 0},
		{COMPUTE_SET_DISCIPLINE, COMPUTE_TENANT_NONE, "nothing", 0, 0, 0, 0, EINVAL},
		{COMPUTE_SET_SLICE, COMPUTE_TENANT_NONE, "", 0, 0, 0, 2000000, 0},
		{COMPUTE_REMOVE, 0, "", 0, 0, 0, 0, EBUSY},
		{COMPUTE_REMOVE, 7, "", 0, 0, 0, 0, ENOENT},
	};
	struct compute_reply reply;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct compute_request request;

		compute_control_make_request(rows[i].verb, (uint32_t)i, &request);
		request.tenant = rows[i].tenant;
		(void)snprintf(request.id, sizeof(request.id), "%s", rows[i].id);
		request.weight = rows[i].weight;
		request.cap_pct = rows[i].cap_pct;
		request.guarantee_pct = rows[i].guarantee_pct;
		request.slice_ns = rows[i].slice_ns;
		if (rows[i].verb == COMPUTE_ADD)
			request.memory_max_bytes = 4096;
		ask(&request, rows[i].error, &reply);
	}
	assert_string_equal(reply.device.discipline, "credit");
	assert_string_equal(reply.device.name, "test");
	assert_int_equal(reply.device.slice_ns, 2000000);
	assert_int_equal(look(1).cap_pct, 20);
	assert_int_equal(look(1).weight, 7);
	assert_int_equal(look(1).guarantee_pct, 30);
	assert_int_equal(look(1).memory_max_bytes, 4096);
	assert_string_equal(look(1).id, "/a");
}

TEST(a_list_of_many_tenants_has_pages)
{
	struct compute_request request;
	struct compute_reply reply;
	unsigned int n = 0;

	for (unsigned int i = 1; i < ACCELERATOR_TENANTS_MAX; i++) {
		char id[32];

		(void)snprintf(id, sizeof(id), "/t%u", i);
		assert_int_equal(add_tenant(id, 100, 0), i);
	}
	compute_control_make_request(COMPUTE_ADD, 1, &request);
	(void)snprintf(request.id, sizeof(request.id), "/more");
	request.weight = 1;
	request.memory_max_bytes = 1;
	ask(&request, ENOSPC, &reply);
	compute_control_make_request(COMPUTE_LIST, 1, &request);
	request.tenant = 0;
	do {
		ask(&request, 0, &reply);
		n += reply.tenants;
		request.tenant = reply.next;
	} while (reply.next != COMPUTE_TENANT_NONE);
	assert_int_equal(n, ACCELERATOR_TENANTS_MAX);
}

TEST(the_stamp_is_renewed_while_a_client_is_connected)
{
	step();
	assert_true(world.next_ns == ARBITER_NEVER);
	connect_program("/a", MS, 0);
	for (int i = 0; i < 100; i++) {
		step();
		assert_int_equal(world.beacon->stamp_ns, world.now_ns);
		assert_in_range(world.next_ns, world.now_ns + 1,
				world.now_ns + COMPUTE_STAMP_PERIOD_NS);
		world.now_ns = world.next_ns;
	}
}

TEST(totals_are_those_of_the_device)
{
	struct program *a;
	struct compute_tenant tenant;

	add_tenant("/a", 100, 0);
	a = connect_program("/a", MS, 2);
	connect_program("/b", 2 * MS, 2);
	run(1000 * MS);
	a->depth = 0;
	run(50 * MS);
	tenant = look(1);
	assert_int_equal(tenant.units, a->page->units);
	assert_int_equal(tenant.busy_ns, a->busy_ns);
	assert_int_equal(tenant.submissions, a->page->submissions);
	assert_in_range(tenant.granted_ns, tenant.busy_ns * 9 / 10, tenant.busy_ns * 12 / 10);
}
