/* SPDX-License-Identifier: MIT */
/*
 * A device with one queue, its programs and an arbiter, in virtual time: tenants, clients and
 * control requests, turns, and clients that write anything. The programs do what
 * compute/tenant/gate.c does, for one thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compute/channel/memfd.h"
#include "compute/server/accelerator.h"
#include "compute/tenant/gate.h"
#include "tests/helper/scribble.h"
#include "tests/unit/unit.h"

#define MS 1000000ull
#define US 1000ull

/* A client whose thread keeps up to @depth units of @unit_ns in flight. */
struct program {
	struct compute_page *page; /* as the client maps it */
	struct accelerator_client *client;
	uint64_t unit_ns, predicted_ns;
	unsigned int depth;
	bool stopped;	    /* writes nothing in its page */
	uint64_t sleeps_ns; /* until this time, its thread does not run */
	bool noticed;	    /* another thread notices completions */
	/* What it knows without its page: submissions in flight, and those that have finished. */
	unsigned int in_flight, finished;
	bool waits;	     /* for a turn */
	uint32_t word;	     /* the grant word it has seen while it waits */
	uint64_t bounded_ns; /* since when it waits for its own work; 0: it does not */
	uint64_t busy_ns;
};

#define QUEUE_MAX 256

/* A device with one queue, its programs and an arbiter. */
static struct world {
	struct accelerator *accelerator;
	const struct compute_beacon *beacon;
	uint64_t now_ns, next_ns;
	struct program programs[70];
	unsigned int n;
	struct {
		unsigned int program;
		uint64_t end_ns;
	} queue[QUEUE_MAX];
	unsigned int first, queued;
} world;

static void close_world(void);

/* Closes the present world, and opens one with the discipline. */
static void open_world(const char *discipline)
{
	struct accelerator_options options = {.name = "test",
					      .discipline = arbiter_discipline_find(discipline)};

	close_world();
	world = (struct world){.now_ns = 1000 * MS};
	assert_non_null(options.discipline);
	assert_int_equal(accelerator_new(&options, world.now_ns, &world.accelerator), 0);
	assert_int_equal(compute_memfd_map_beacon(world.accelerator->beacon_fd, &world.beacon), 0);
}

static void step(void)
{
	world.next_ns = accelerator_step(world.accelerator, world.now_ns);
}

static void ask(struct compute_request *request, int error, struct compute_reply *reply)
{
	struct compute_request parsed;

	assert_int_equal(compute_control_parse_request(request, sizeof(*request), &parsed), 0);
	size_t size = accelerator_answer(world.accelerator, &parsed, world.now_ns, reply);

	assert_int_equal(compute_control_parse_reply(reply, size, request, reply), 0);
	assert_int_equal(reply->error, error);
}

/* Adds a tenant and returns its index. */
static uint32_t add_tenant(const char *id, unsigned int weight, unsigned int cap_pct)
{
	struct compute_request request;
	struct compute_reply reply;

	compute_control_make_request(COMPUTE_ADD, 1, &request);
	(void)snprintf(request.id, sizeof(request.id), "%s", id);
	request.weight = weight;
	request.cap_pct = cap_pct;
	request.memory_max_bytes = COMPUTE_MEMORY_NO_LIMIT;
	ask(&request, 0, &reply);
	return reply.tenant[0].index;
}

static struct compute_tenant look(uint32_t index)
{
	struct compute_request request;
	struct compute_reply reply;

	compute_control_make_request(COMPUTE_LIST, 1, &request);
	request.tenant = index;
	ask(&request, 0, &reply);
	assert_int_equal(reply.tenant[0].index, index);
	return reply.tenant[0];
}

static struct compute_page *new_page(const struct compute_page **ret_mapped)
{
	struct compute_page *page = NULL;
	int fd;

	assert_int_equal(compute_memfd_create_page(&fd, &page), 0);
	assert_int_equal(compute_memfd_map_page(fd, ret_mapped), 0);
	(void)close(fd);
	return page;
}

static struct program *connect_program(const char *group, uint64_t unit_ns, unsigned int depth)
{
	struct program *program = &world.programs[world.n++];
	const struct compute_page *mapped = NULL;

	*program = (struct program){.unit_ns = unit_ns, .predicted_ns = unit_ns, .depth = depth};
	program->page = new_page(&mapped);
	assert_int_equal(accelerator_connect(world.accelerator, group, mapped, -1, world.now_ns,
					     &program->client),
			 0);
	return program;
}

/* Two tenants of equal weight, /a and /b, with a program each: 1 ms a unit, four in flight. */
static void open_pair(struct program **ret_a, struct program **ret_b)
{
	open_world("fair");
	add_tenant("/a", 100, 0);
	add_tenant("/b", 100, 0);
	*ret_a = connect_program("/a", MS, 4);
	*ret_b = connect_program("/b", MS, 4);
}

static const struct compute_slot *slot_of(const struct program *program)
{
	return &world.beacon->slot[program->client->slot];
}

static bool has_turn(const struct program *program)
{
	return (slot_of(program)->grant & COMPUTE_GRANT_MASK) == COMPUTE_GRANT_TURN;
}

static void end_program(struct program *program)
{
	if (program->client)
		accelerator_disconnect(world.accelerator, program->client, world.now_ns);
	program->client = NULL;
	compute_memfd_unmap_page(program->page);
	program->page = NULL;
}

static void close_world(void)
{
	if (!world.accelerator)
		return;
	for (unsigned int i = 0; i < world.n; i++)
		if (world.programs[i].page)
			end_program(&world.programs[i]);
	accelerator_free(world.accelerator);
	compute_memfd_unmap_beacon(world.beacon);
	world.accelerator = NULL;
}

static int begin_world(void)
{
	open_world("fair");
	return 0;
}

static int end_world(void)
{
	close_world();
	return 0;
}

/* A test that needs another discipline opens another world. */
FIXTURE(begin_world, end_world)

/* What gate.c does, for one thread. */
static bool may_submit(const struct program *program)
{
	const struct compute_slot *slot = slot_of(program);
	const struct compute_page *page = program->page;

	return has_turn(program) && world.now_ns < slot->lease_end_ns &&
	       (slot->in_flight_max_ns == 0 || page->in_flight_ns < slot->in_flight_max_ns) &&
	       (slot->in_flight_max == 0 || page->in_flight < slot->in_flight_max) &&
	       (slot->submissions_end == 0 || page->submissions < slot->submissions_end) &&
	       (slot->busy_end_ns == 0 || page->busy_ns + page->in_flight_ns < slot->busy_end_ns);
}

/* The bounds of the work in flight are no reason to ask for a turn. */
static bool is_bounded(const struct program *program)
{
	const struct compute_slot *slot = slot_of(program);
	const struct compute_page *page = program->page;

	return has_turn(program) && world.now_ns < slot->lease_end_ns &&
	       (slot->submissions_end == 0 || page->submissions < slot->submissions_end) &&
	       (slot->busy_end_ns == 0 || page->busy_ns + page->in_flight_ns < slot->busy_end_ns);
}

static void submit(unsigned int i)
{
	struct program *program = &world.programs[i];
	struct compute_page *page = program->page;
	unsigned int at = (world.first + world.queued) % QUEUE_MAX;
	uint64_t begin_ns = world.now_ns;

	assert_true(world.queued < QUEUE_MAX);
	if (world.queued > 0)
		begin_ns = world.queue[(at + QUEUE_MAX - 1) % QUEUE_MAX].end_ns;
	world.queue[at].program = i;
	world.queue[at].end_ns = begin_ns + program->unit_ns;
	world.queued++;
	program->in_flight++;
	page->in_flight_ns += program->predicted_ns;
	page->in_flight++;
	page->submissions++;
	page->submit_ns = world.now_ns;
	page->ends_ns = (page->ends_ns > world.now_ns ? page->ends_ns : world.now_ns) +
			program->predicted_ns;
}

/* The device finishes the first submission of its queue. */
static void finish_first(void)
{
	struct program *program = &world.programs[world.queue[world.first].program];

	world.first = (world.first + 1) % QUEUE_MAX;
	world.queued--;
	program->busy_ns += program->unit_ns;
	program->finished++;
}

/* A program notices the end of a submission. Returns whether it rings. */
static bool notice_end(struct program *program)
{
	struct compute_page *page = program->page;

	program->finished--;
	program->in_flight--;
	program->bounded_ns = 0;
	page->units++;
	page->busy_ns += program->unit_ns;
	page->in_flight--;
	page->in_flight_ns -= program->predicted_ns;
	page->finish_ns = world.now_ns;
	page->ends_ns = world.now_ns + page->in_flight_ns;
	return page->in_flight == 0 && (slot_of(program)->flags & COMPUTE_RING_IDLE);
}

/* A thread begins or ends to wait for a turn. Returns whether it rings. */
static bool wait_for_turn(struct program *program, bool waits)
{
	struct compute_page *page = program->page;
	bool began = waits && !program->waits, ended = !waits && program->waits;

	if (began && page->waiters++ == 0) {
		page->request_ns = world.now_ns;
		page->request += COMPUTE_REQUEST_STEP;
	}
	if (began)
		page->request |= COMPUTE_REQUEST_WANTS;
	if (ended && --page->waiters == 0) {
		page->request_ns = world.now_ns;
		page->request &= ~COMPUTE_REQUEST_WANTS;
	}
	/* A sign of life. */
	if (waits && !began &&
	    (program->word != slot_of(program)->grant ||
	     world.now_ns - page->request_ns >= GATE_WAIT_NS))
		page->request_ns = world.now_ns;
	program->word = slot_of(program)->grant;
	program->waits = waits;
	return began;
}

/* A program notices what has finished, and submits or asks for a turn. Returns whether it rings. */
static bool run_program(unsigned int i)
{
	struct program *program = &world.programs[i];
	bool rings = false, bounded;

	if (!program->page || !program->client || program->stopped ||
	    (world.now_ns < program->sleeps_ns && !program->noticed))
		return false;
	while (program->finished > 0)
		rings = notice_end(program) || rings;
	if (world.now_ns < program->sleeps_ns)
		return rings;
	while (program->in_flight < program->depth && may_submit(program))
		submit(i);
	bounded = program->in_flight < program->depth && is_bounded(program);
	if (!bounded)
		program->bounded_ns = 0;
	else if (program->bounded_ns == 0)
		program->bounded_ns = world.now_ns;
	else if (world.now_ns - program->bounded_ns > GATE_STALL_NS)
		submit(i);
	return wait_for_turn(program, program->in_flight < program->depth && !bounded) || rings;
}

static void run(uint64_t ns)
{
	uint64_t end_ns = world.now_ns + ns;

	while (world.now_ns < end_ns) {
		bool rings = false;

		while (world.queued > 0 && world.queue[world.first].end_ns <= world.now_ns)
			finish_first();
		for (unsigned int i = 0; i < world.n; i++)
			rings = run_program(i) || rings;
		if (rings || world.now_ns >= world.next_ns)
			step();
		world.now_ns += 20 * US;
	}
}

/* Runs for @ns. Returns the device time that @program got. */
static uint64_t gained(const struct program *program, uint64_t ns)
{
	uint64_t before_ns = program->busy_ns;

	run(ns);
	return program->busy_ns - before_ns;
}

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

TEST(a_client_that_waits_gets_a_turn_and_keeps_it_alone)
{
	struct program *program;
	uint32_t word;

	add_tenant("/a", 100, 0);
	program = connect_program("/a", MS, 2);
	step();
	assert_false(has_turn(program));
	run(MS);
	assert_true(has_turn(program));
	word = slot_of(program)->grant;
	run(1000 * MS);
	assert_int_equal(slot_of(program)->grant, word);
	assert_in_range(program->busy_ns, 990 * MS, 1001 * MS);
}

TEST(a_turn_ends_after_its_slice_and_before_the_next_begins)
{
	struct program *a, *b;
	unsigned int turns = 0;
	bool before = false;

	open_pair(&a, &b);
	for (int i = 0; i < 20000; i++) {
		run(50 * US);
		assert_false(has_turn(a) && has_turn(b));
		turns += has_turn(a) && !before;
		before = has_turn(a);
	}
	/* Two tenants with turns of 6 ms in 1.2 s. */
	assert_in_range(turns, 95, 103);
}

TEST(shares_follow_weights_whatever_the_length_of_units)
{
	static const struct {
		unsigned int weight[3];
		uint64_t unit_ns[3];
		unsigned int depth;
	} rows[] = {
		{{1, 2, 3}, {MS, MS, MS}, 4},
		{{100, 100, 100}, {200 * US, MS, 10 * MS}, 4},
		{{1, 2, 3}, {MS, MS, MS}, 1},
		{{1, 4, 16}, {500 * US, 3 * MS, 2 * MS}, 8},
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		double least = 1e300, most = 0, sum = 0;

		open_world("fair");
		for (unsigned int i = 0; i < 3; i++) {
			char id[] = {'/', (char)('a' + i), '\0'};

			add_tenant(id, rows[row].weight[i], 0);
			connect_program(id, rows[row].unit_ns[i], rows[row].depth);
		}
		run(6000 * MS);
		for (unsigned int i = 0; i < 3; i++) {
			double share = (double)world.programs[i].busy_ns / rows[row].weight[i];

			sum += (double)world.programs[i].busy_ns;
			least = share < least ? share : least;
			most = share > most ? share : most;
		}
		assert_true(least / most >= 0.97);
		assert_true(sum >= 0.95 * 6000 * MS);
		close_world();
	}
}

TEST(caps_are_kept_and_the_rest_stays_unused)
{
	struct program *a, *b;

	open_world("cap");
	add_tenant("/a", 100, 10);
	add_tenant("/b", 100, 60);
	a = connect_program("/a", MS, 4);
	b = connect_program("/b", MS, 4);
	run(5000 * MS);
	assert_in_range(a->busy_ns, 490 * MS, 520 * MS);
	assert_in_range(b->busy_ns, 2950 * MS, 3050 * MS);
}

TEST(fcfs_gives_one_unit_a_turn)
{
	struct program *small, *large;

	open_world("fcfs");
	add_tenant("/a", 100, 0);
	add_tenant("/b", 100, 0);
	small = connect_program("/a", 200 * US, 4);
	large = connect_program("/b", 10 * MS, 4);
	run(3000 * MS);
	assert_true(small->busy_ns * 20 < large->busy_ns);
	assert_in_range(small->busy_ns / (200 * US), large->busy_ns / (10 * MS) * 9 / 10,
			large->busy_ns / (10 * MS) * 11 / 10);
}

TEST(a_stopped_holder_loses_the_device_within_its_lease)
{
	struct program *a, *b;

	open_pair(&a, &b);
	run(100 * MS);
	while (!has_turn(a) || a->page->in_flight == 0)
		run(20 * US);
	a->stopped = true;
	run(106 * MS);
	assert_in_range(gained(b, 500 * MS), 480 * MS, 501 * MS);
	assert_int_equal(look(1).leases_lost, 1);
	/* It goes on: what has finished meanwhile is reported, and it has its share again. */
	a->stopped = false;
	assert_in_range(gained(a, 1000 * MS), 480 * MS, 530 * MS);
}

TEST(a_tenant_that_was_stopped_while_it_waited_takes_nothing)
{
	struct program *a, *b;

	open_pair(&a, &b);
	run(100 * MS);
	while (has_turn(a) || a->page->in_flight > 0 || a->page->request == 0)
		run(20 * US);
	a->stopped = true;
	run(106 * MS);
	assert_true(gained(b, 3000 * MS) >= 2970 * MS);
	a->stopped = false;
	a->page->request_ns = world.now_ns;
	assert_in_range(gained(a, 1000 * MS), 480 * MS, 530 * MS);
}

TEST(the_end_of_a_client_ends_its_turn)
{
	struct program *a, *b;

	open_pair(&a, &b);
	run(100 * MS);
	while (!has_turn(a))
		run(20 * US);
	end_program(a);
	run(10 * MS);
	assert_in_range(gained(b, 500 * MS), 495 * MS, 501 * MS);
	assert_int_equal(look(1).clients, 0);
	assert_int_equal(look(1).state, COMPUTE_IDLE);
}

TEST(work_that_depends_on_the_next_submission_is_no_deadlock)
{
	struct program *a;

	add_tenant("/a", 100, 0);
	add_tenant("/b", 100, 0);
	a = connect_program("/a", MS, 4);
	connect_program("/b", MS, 4);
	run(100 * MS);
	/* Reported as in flight, but never on the device. */
	a->page->in_flight_ns = 5 * MS;
	a->page->in_flight = 4;
	a->depth = 8;
	run(ACCELERATOR_STUCK_NS + 500 * MS);
	a->busy_ns = 0;
	run(1000 * MS);
	assert_true(a->busy_ns >= 300 * MS);
}

TEST(a_page_of_random_words_takes_nothing_from_others)
{
	struct program *a, *b;
	uint64_t before_ns;

	open_pair(&a, &b);
	srandom(7);
	run(100 * MS);
	a->depth = 0;
	a->stopped = true;
	before_ns = b->busy_ns;
	for (int i = 0; i < 5000; i++) {
		uint64_t *words = (uint64_t *)(void *)a->page;
		uint64_t word = (uint64_t)random() << (random() % 40);

		words[8 + random() % 32] = random() % 4 ? word : 0;
		run((uint64_t)(random() % 10) * 100 * US);
	}
	/* At least about half of the time, which is its share. */
	assert_true(b->busy_ns - before_ns >= (world.now_ns - 1100 * MS) * 45 / 100);
	assert_true(look(1).busy_ns <= world.now_ns);
}

#define TENANTS 3u
#define LOST_NS (106 * MS) /* one slice + 100 ms */
/* A measurement begins and ends within turns of others. */
#define ALLOWANCE_NS (10 * MS)
#define TRIALS	     150
#define TRIAL_NS     (1500 * MS)
#define STEP_NS	     (500 * US) /* between two measurements */

struct trial {
	uint64_t seed;
	struct scribble words;
	struct program *victim, *liar;
	uint64_t waited_ns[TENANTS]; /* time in which threads did not run */
	uint64_t before_ns[TENANTS], since_ns;
	double worst_ns; /* most device time that another tenant did not get of its share */
	uint64_t worst_at_ns;
	bool busy_host;
	uint64_t seldom, sleep_max_ns; /* of threads on a busy host */
};

static const unsigned int weights[TENANTS] = {1, 2, 3};

static uint64_t draw(struct trial *trial, uint64_t below)
{
	return scribble_random(&trial->words) % below;
}

static void open_trial(struct trial *trial)
{
	static const uint64_t unit_ns[TENANTS] = {500 * US, MS, 2 * MS};

	open_world("fair");
	for (unsigned int i = 0; i < TENANTS; i++) {
		char id[] = {'/', (char)('a' + i), '\0'};

		add_tenant(id, weights[i], 0);
		connect_program(id, unit_ns[i], 4)->noticed = trial->seed % 2;
	}
	trial->words.random = (trial->seed + 1) * 0x9e3779b97f4a7c15;
	trial->victim = trial->liar = &world.programs[draw(trial, TENANTS)];
	trial->seldom = 30u << draw(trial, 6);
	trial->sleep_max_ns = MS << draw(trial, 6);
	run(200 * MS + draw(trial, 60 * MS));
}

static void begin_measurement(struct trial *trial)
{
	trial->since_ns = world.now_ns;
	for (unsigned int i = 0; i < TENANTS; i++)
		trial->before_ns[i] = world.programs[i].busy_ns;
}

/* Compares what the others have got with what is due. */
static void measure(struct trial *trial)
{
	double length_ns = (double)(world.now_ns - trial->since_ns) - LOST_NS, sum_ns = 0;

	for (unsigned int i = 0; i < TENANTS; i++)
		sum_ns += (double)trial->waited_ns[i];
	for (unsigned int i = 0; i < TENANTS; i++) {
		double part = weights[i] / 6.0, own_ns = (double)trial->waited_ns[i];
		double due_ns = length_ns * part - own_ns - (sum_ns - own_ns) * part;
		double lacks_ns =
			due_ns - (double)(world.programs[i].busy_ns - trial->before_ns[i]);

		if (&world.programs[i] == trial->victim || lacks_ns <= trial->worst_ns)
			continue;
		trial->worst_ns = lacks_ns;
		trial->worst_at_ns = world.now_ns - trial->since_ns;
	}
}

/* Sometimes a thread does not run for a while, sometimes none does. */
static void disturb(struct trial *trial, uint64_t ns)
{
	uint64_t all_ns = 0;

	if (trial->busy_host && draw(trial, 2 * trial->seldom) == 0)
		all_ns = world.now_ns + draw(trial, trial->sleep_max_ns);
	for (unsigned int i = 0; trial->busy_host && i < TENANTS; i++) {
		struct program *program = &world.programs[i];

		if (world.now_ns >= program->sleeps_ns && draw(trial, trial->seldom) == 0)
			program->sleeps_ns = world.now_ns + draw(trial, trial->sleep_max_ns);
		if (program->sleeps_ns < all_ns)
			program->sleeps_ns = all_ns;
		if (world.now_ns < program->sleeps_ns)
			trial->waited_ns[i] += ns;
	}
}

static void watch(struct trial *trial, uint64_t ns)
{
	for (uint64_t done_ns = 0; done_ns < ns; done_ns += STEP_NS) {
		disturb(trial, STEP_NS);
		run(STEP_NS);
		measure(trial);
	}
}

/* Does what cl-scribble does for @ns. */
static void scribble(struct trial *trial, uint64_t ns)
{
	uint64_t end_ns = world.now_ns + ns;

	do {
		for (uint64_t n = draw(trial, 8) + 1; n > 0; n--)
			scribble_word(&trial->words, trial->liar->page, world.now_ns);
		if (draw(trial, 4) == 0 && trial->liar != trial->victim)
			step();
		run(draw(trial, 2) ? draw(trial, 200 * US) : 0);
	} while (world.now_ns < end_ns);
}

static void run_scribble(struct trial *trial)
{
	static const uint64_t lengths_ns[] = {0, MS, 5 * MS, 20 * MS};

	open_trial(trial);
	if (draw(trial, 2)) {
		char id[] = {'/', (char)('a' + (trial->victim - world.programs)), '\0'};

		trial->liar = connect_program(id, MS, 0);
		trial->liar->stopped = true;
	}
	scribble(trial, lengths_ns[draw(trial, 4)]);
	begin_measurement(trial);
	watch(trial, TRIAL_NS);
	close_world();
}

static uint64_t draw_span_ns(struct trial *trial)
{
	static const uint64_t spans_ns[] = {0,	     50 * US, MS,	 3 * MS,
					    5 * MS,  6 * MS,  12 * MS,	 20 * MS,
					    40 * MS, 79 * MS, 1000 * MS, 10000 * MS};

	return spans_ns[draw(trial, sizeof(spans_ns) / sizeof(spans_ns[0]))];
}

/* Writes one plausible lie. */
static void lie(struct trial *trial)
{
	struct compute_page *page = trial->liar->page;

	switch (draw(trial, 9)) {
	case 0:
		page->in_flight = draw(trial, 2);
		break;
	case 1:
		page->in_flight_ns = draw_span_ns(trial);
		break;
	case 2:
		page->ends_ns = world.now_ns + draw_span_ns(trial);
		break;
	case 3:
		page->request ^= COMPUTE_REQUEST_WANTS;
		break;
	case 4:
		page->request_ns = world.now_ns;
		break;
	case 5:
		page->busy_ns += draw_span_ns(trial) / 2;
		page->units++;
		break;
	case 6:
		page->submissions++;
		page->submit_ns = world.now_ns;
		break;
	case 7:
		page->finish_ns = world.now_ns;
		break;
	default:
		page->in_flight = page->in_flight_ns = 0;
		page->request |= COMPUTE_REQUEST_WANTS;
		page->request_ns = world.now_ns;
	}
}

/* The liar has no program, and lies for the whole trial. */
static void run_lies(struct trial *trial)
{
	uint64_t pause_ns;

	open_trial(trial);
	trial->liar->depth = 0;
	trial->liar->stopped = true;
	pause_ns = draw_span_ns(trial) / 2 + 100 * US;
	begin_measurement(trial);
	while (world.now_ns - trial->since_ns < TRIAL_NS) {
		for (uint64_t n = draw(trial, 4); n > 0; n--)
			lie(trial);
		if (draw(trial, 2))
			step();
		watch(trial, draw(trial, pause_ns));
	}
	close_world();
}

static uint64_t setting(const char *name, uint64_t usual)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : usual;
}

static void assert_kept(const struct trial *trial)
{
	if (trial->worst_ns > ALLOWANCE_NS)
		fail_msg("seed %ju: after %.1f ms, a tenant is %.1f ms below its share",
			 (uintmax_t)trial->seed, (double)trial->worst_at_ns / MS,
			 trial->worst_ns / MS);
}

static void search(void (*run_trial)(struct trial *trial), bool busy_host)
{
	uint64_t first = setting("SEED", 1), end = first + setting("TRIALS", TRIALS);

	for (uint64_t seed = first; seed < end; seed++) {
		struct trial trial = {.seed = seed, .busy_host = busy_host, .worst_ns = -1e18};

		run_trial(&trial);
		assert_kept(&trial);
	}
}

TEST(scribbling_costs_others_one_slice_and_100_ms_in_all)
{
	search(run_scribble, false);
	search(run_scribble, true);
}

TEST(lies_without_end_cost_no_more)
{
	search(run_lies, false);
	search(run_lies, true);
}

/* The page of an honest program always reports @left_us more in flight than there is. */
TEST(work_that_never_ends_counts)
{
	static const uint64_t left_us[] = {500, 1500, 3000, 4200, 5500, 7000, 11000, 30000};

	for (size_t row = 0; row < 6 * sizeof(left_us) / sizeof(left_us[0]); row++) {
		struct trial trial = {.seed = row % 6, .worst_ns = -1e18};

		open_trial(&trial);
		trial.victim->page->in_flight_ns += left_us[row / 6] * US;
		begin_measurement(&trial);
		watch(&trial, 2 * TRIAL_NS);
		close_world();
		assert_kept(&trial);
	}
}
