/* SPDX-License-Identifier: MIT */
/* Turns on a device in virtual time: shares, caps, and programs that stop, end or lie. */
#include "tests/unit/compute/server/accelerator-rig.h"

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
	uint64_t before_ns;

	open_pair(&a, &b);
	run(100 * MS);
	while (!has_turn(a) || a->page->in_flight == 0)
		run(20 * US);
	a->stopped = true;
	run(106 * MS);
	before_ns = b->busy_ns;
	run(500 * MS);
	assert_in_range(b->busy_ns - before_ns, 480 * MS, 501 * MS);
	assert_int_equal(look(1).leases_lost, 1);
	/* It goes on: what has finished meanwhile is reported, and it has its share again. */
	a->stopped = false;
	before_ns = a->busy_ns;
	run(1000 * MS);
	assert_in_range(a->busy_ns - before_ns, 480 * MS, 530 * MS);
}

TEST(a_tenant_that_was_stopped_while_it_waited_takes_nothing)
{
	struct program *a, *b;
	uint64_t before_ns;

	open_pair(&a, &b);
	run(100 * MS);
	while (has_turn(a) || a->page->in_flight > 0 || a->page->request == 0)
		run(20 * US);
	a->stopped = true;
	run(106 * MS);
	before_ns = b->busy_ns;
	run(3000 * MS);
	assert_true(b->busy_ns - before_ns >= 2970 * MS);
	a->stopped = false;
	a->page->request_ns = world.now_ns;
	before_ns = a->busy_ns;
	run(1000 * MS);
	assert_in_range(a->busy_ns - before_ns, 480 * MS, 530 * MS);
}

TEST(the_end_of_a_client_ends_its_turn)
{
	struct program *a, *b;
	uint64_t before_ns;

	open_pair(&a, &b);
	run(100 * MS);
	while (!has_turn(a))
		run(20 * US);
	end_program(a);
	run(10 * MS);
	before_ns = b->busy_ns;
	run(500 * MS);
	assert_in_range(b->busy_ns - before_ns, 495 * MS, 501 * MS);
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
