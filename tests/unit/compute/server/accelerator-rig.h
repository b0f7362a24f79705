/* SPDX-License-Identifier: MIT */
/*
 * A device with one queue, its programs and an arbiter, in virtual time. The programs do what
 * compute/tenant/gate.c does, for one thread.
 */
#ifndef TESTS_UNIT_COMPUTE_SERVER_ACCELERATOR_RIG_H
#define TESTS_UNIT_COMPUTE_SERVER_ACCELERATOR_RIG_H
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compute/channel/memfd.h"
#include "compute/server/accelerator.h"
#include "compute/tenant/gate.h"
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

static inline void close_world(void);

/* Closes the present world, and opens one with the discipline. */
static inline void open_world(const char *discipline)
{
	struct accelerator_options options = {.name = "test",
					      .discipline = arbiter_discipline_find(discipline)};

	close_world();
	world = (struct world){.now_ns = 1000 * MS};
	assert_non_null(options.discipline);
	assert_int_equal(accelerator_new(&options, world.now_ns, &world.accelerator), 0);
	assert_int_equal(compute_memfd_map_beacon(world.accelerator->beacon_fd, &world.beacon), 0);
}

static inline void step(void)
{
	world.next_ns = accelerator_step(world.accelerator, world.now_ns);
}

static inline void ask(struct compute_request *request, int error, struct compute_reply *reply)
{
	struct compute_request parsed;

	assert_int_equal(compute_control_parse_request(request, sizeof(*request), &parsed), 0);
	size_t size = accelerator_answer(world.accelerator, &parsed, world.now_ns, reply);

	assert_int_equal(compute_control_parse_reply(reply, size, request, reply), 0);
	assert_int_equal(reply->error, error);
}

/* Adds a tenant and returns its index. */
static inline uint32_t add_tenant(const char *id, unsigned int weight, unsigned int cap_pct)
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

static inline struct compute_tenant look(uint32_t index)
{
	struct compute_request request;
	struct compute_reply reply;

	compute_control_make_request(COMPUTE_LIST, 1, &request);
	request.tenant = index;
	ask(&request, 0, &reply);
	assert_int_equal(reply.tenant[0].index, index);
	return reply.tenant[0];
}

static inline struct compute_page *new_page(const struct compute_page **ret_mapped)
{
	struct compute_page *page = NULL;
	int fd;

	assert_int_equal(compute_memfd_create_page(&fd, &page), 0);
	assert_int_equal(compute_memfd_map_page(fd, ret_mapped), 0);
	(void)close(fd);
	return page;
}

static inline struct program *connect_program(const char *group, uint64_t unit_ns,
					      unsigned int depth)
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
static inline void open_pair(struct program **ret_a, struct program **ret_b)
{
	open_world("fair");
	add_tenant("/a", 100, 0);
	add_tenant("/b", 100, 0);
	*ret_a = connect_program("/a", MS, 4);
	*ret_b = connect_program("/b", MS, 4);
}

static inline const struct compute_slot *slot_of(const struct program *program)
{
	return &world.beacon->slot[program->client->slot];
}

static inline bool has_turn(const struct program *program)
{
	return (slot_of(program)->grant & COMPUTE_GRANT_MASK) == COMPUTE_GRANT_TURN;
}

static inline void end_program(struct program *program)
{
	if (program->client)
		accelerator_disconnect(world.accelerator, program->client, world.now_ns);
	program->client = NULL;
	compute_memfd_unmap_page(program->page);
	program->page = NULL;
}

static inline void close_world(void)
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
static inline bool may_submit(const struct program *program)
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
static inline bool is_bounded(const struct program *program)
{
	const struct compute_slot *slot = slot_of(program);
	const struct compute_page *page = program->page;

	return has_turn(program) && world.now_ns < slot->lease_end_ns &&
	       (slot->submissions_end == 0 || page->submissions < slot->submissions_end) &&
	       (slot->busy_end_ns == 0 || page->busy_ns + page->in_flight_ns < slot->busy_end_ns);
}

static inline void submit(unsigned int i)
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
static inline void finish_first(void)
{
	struct program *program = &world.programs[world.queue[world.first].program];

	world.first = (world.first + 1) % QUEUE_MAX;
	world.queued--;
	program->busy_ns += program->unit_ns;
	program->finished++;
}

/* A program notices the end of a submission. Returns whether it rings. */
static inline bool notice_end(struct program *program)
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
static inline bool wait_for_turn(struct program *program, bool waits)
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
static inline bool run_program(unsigned int i)
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

static inline void run(uint64_t ns)
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

#endif
