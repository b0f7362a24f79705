/* SPDX-License-Identifier: MIT */
/*
 * Programs whose pages contain anything, on a device in virtual time. Whatever a page contains, it
 * costs the other tenants at most one slice + 100 ms of the device in all. The trials are a seeded
 * search; SEED=N TRIALS=N make another one. A failure prints the seed of the trial.
 */
#include "tests/unit/compute/server/accelerator-rig.h"
#include "tests/helper/scribble.h"

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
