/* SPDX-License-Identifier: MIT */
/* The trusted time after runs, jumps of the wall clock, suspends and times in which the host was
 * off. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "db/store.h"
#include "tests/unit/unit.h"

#define MINUTE 60
#define HOUR   3600
#define DAY    86400
#define BEGIN  (20000LL * DAY)

enum what {
	END,
	RUN,	 /* the daemon runs for so many seconds */
	JUMP,	 /* the wall clock is set forward or, if negative, back */
	SUSPEND, /* the host is suspended */
	OFF,	 /* the host is off, and the wall clock advances */
	MOVE,	 /* a container is restored on a host whose CLOCK_BOOTTIME differs */
};

struct step {
	enum what what;
	int64_t s;
};

struct host {
	struct trusted_time time;
	int64_t wall_s, elapsed_s;
	int64_t true_s; /* what a correct clock would show */
};

static void read_clock(struct host *host)
{
	trusted_time_add(&host->time, host->wall_s * 1000, host->elapsed_s * 1000);
	host->elapsed_s = 0;
}

static void advance(struct host *host, int64_t s)
{
	host->wall_s += s;
	host->true_s += s;
	host->elapsed_s += s;
	read_clock(host);
}

static void take(struct host *host, const struct step *step)
{
	switch (step->what) {
	case RUN:
		for (int64_t left = step->s; left > 0; left -= MINUTE)
			advance(host, left < MINUTE ? left : MINUTE);
		break;
	case JUMP:
		host->wall_s += step->s;
		read_clock(host);
		break;
	case SUSPEND:
		advance(host, step->s);
		break;
	case OFF:
		host->wall_s += step->s;
		host->true_s += step->s;
		host->elapsed_s = 0;
		read_clock(host);
		break;
	case MOVE:
		host->elapsed_s = step->s;
		read_clock(host);
		break;
	case END:
		break;
	}
}

static struct host new_host(void)
{
	struct host host = {.wall_s = BEGIN, .true_s = BEGIN};

	read_clock(&host);
	return host;
}

/* Returns how far the trusted time is behind the wall clock. */
static int64_t lag_s(const struct host *host)
{
	return host->wall_s - trusted_time_get(&host->time) / 1000;
}

static const struct {
	const char *name;
	struct step steps[8];
	int64_t lag_s;
} cases[] = {
	{"a new database trusts the clock", {{END, 0}}, 0},
	{"a steady clock", {{RUN, 100 * HOUR}}, 0},
	{"a suspend", {{RUN, HOUR}, {SUSPEND, HOUR}}, 0},
	{"a jump ahead", {{RUN, HOUR}, {JUMP, 800 * DAY}, {RUN, 12}}, 800 * DAY},
	{"a jump ahead and back",
	 .steps = {{RUN, HOUR}, {JUMP, 800 * DAY}, {RUN, 12}, {JUMP, -800 * DAY}}, 0},
	{"a jump at the end of a day",
	 .steps = {{RUN, DAY - 6}, {JUMP, 800 * DAY}, {RUN, 12}, {JUMP, -800 * DAY}, {RUN, HOUR}},
	 0},
	{"a jump ahead for less than a day",
	 .steps = {{JUMP, 800 * DAY}, {RUN, 23 * HOUR}, {JUMP, -800 * DAY}, {RUN, 30 * HOUR}}, 0},
	{"a clock that is right after a jump ahead, within a day",
	 .steps = {{RUN, HOUR}, {JUMP, 5 * HOUR}, {RUN, 24 * HOUR}}, 5 * HOUR},
	{"a clock that is right after a jump ahead, after two days",
	 .steps = {{RUN, HOUR}, {JUMP, 5 * HOUR}, {RUN, 48 * HOUR}}, 0},
	{"a jump back by a day", {{RUN, HOUR}, {JUMP, -DAY}, {RUN, MINUTE}}, 0},
	{"a jump back and forth", {{RUN, HOUR}, {JUMP, -DAY}, {RUN, HOUR}, {JUMP, DAY}}, 0},
	{"a jump forth two days after a jump back",
	 .steps = {{JUMP, -DAY}, {RUN, 2 * DAY}, {JUMP, DAY}, {RUN, HOUR}}, DAY},
	{"a month off", {{RUN, HOUR}, {OFF, 30 * DAY}, {RUN, 22 * HOUR}}, 30 * DAY},
	{"a month off, two days later", {{RUN, HOUR}, {OFF, 30 * DAY}, {RUN, 2 * DAY}}, 0},
	{"a boot with a clock that is ahead",
	 .steps = {{RUN, HOUR}, {OFF, MINUTE}, {JUMP, 800 * DAY}, {RUN, MINUTE}},
	 800 * DAY + MINUTE},
	{"such a clock after its correction",
	 .steps =
		 {{RUN, HOUR}, {OFF, MINUTE}, {JUMP, 800 * DAY}, {RUN, MINUTE}, {JUMP, -800 * DAY}},
	 MINUTE},
	{"a boot in 1970", {{RUN, HOUR}, {OFF, MINUTE}, {JUMP, MINUTE - BEGIN}, {RUN, HOUR}}, 0},
	{"such a clock after its correction",
	 .steps = {{RUN, HOUR},
		   {OFF, MINUTE},
		   {JUMP, MINUTE - BEGIN},
		   {RUN, HOUR},
		   {JUMP, BEGIN - MINUTE}},
	 MINUTE},
	{"two days after CLOCK_BOOTTIME was set back",
	 .steps = {{RUN, HOUR}, {MOVE, -30 * DAY}, {RUN, 2 * DAY}}, 0},
	{"a leap second is no jump",
	 .steps = {{RUN, HOUR}, {OFF, DAY}, {RUN, 40 * HOUR}, {JUMP, -1}, {RUN, 8 * HOUR}}, 0},
};

TEST(the_trusted_time_follows_a_confirmed_clock)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host host = new_host();

		for (const struct step *step = cases[i].steps; step->what != END; step++)
			take(&host, step);
		if (lag_s(&host) != cases[i].lag_s)
			print_error("%s\n", cases[i].name);
		assert_int_equal(lag_s(&host), cases[i].lag_s);
	}
}

/* Otherwise old rows would accumulate. */
TEST(the_lag_is_bounded_for_every_pattern_of_use)
{
	static const struct {
		int64_t on_s, off_s, most_s;
	} patterns[] = {
		{DAY, 10 * MINUTE, HOUR},		   /* a restart every day */
		{8 * HOUR, 16 * HOUR, 6 * DAY},		   /* on working hours */
		{8 * HOUR, 6 * DAY + 16 * HOUR, 49 * DAY}, /* on one day of the week */
		{HOUR, DAY, 51 * DAY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		struct host host = new_host();
		int64_t most_s = 0;

		for (int n = 0; n < 1000; n++) {
			take(&host, &(struct step){RUN, patterns[i].on_s});
			take(&host, &(struct step){OFF, patterns[i].off_s});
			if (lag_s(&host) > most_s)
				most_s = lag_s(&host);
		}
		assert_in_range(most_s, 0, patterns[i].most_s);
	}
}

/*
 * A clock that is wrong for less than a day of running, suspended or not, never makes the trusted
 * time later than the true time.
 */
TEST(a_wrong_clock_is_never_trusted)
{
	srand(7);
	for (int n = 0; n < 300; n++) {
		struct host host = new_host();

		for (int i = 0; i < 60; i++) {
			int64_t wrong_s = (rand() % 2 ? 1 : -1) * (rand() % (1000 * DAY));

			take(&host, &(struct step){RUN, rand() % (60 * HOUR)});
			if (rand() % 3 == 0)
				take(&host, &(struct step){OFF, rand() % (40 * DAY)});
			if (rand() % 3 == 0)
				take(&host, &(struct step){SUSPEND, rand() % (4 * DAY)});
			take(&host, &(struct step){JUMP, wrong_s});
			assert_true(trusted_time_get(&host.time) <= host.true_s * 1000);
			take(&host, &(struct step){RUN, rand() % (23 * HOUR)});
			if (rand() % 3 == 0)
				take(&host, &(struct step){SUSPEND, rand() % (4 * DAY)});
			assert_true(trusted_time_get(&host.time) <= host.true_s * 1000);
			take(&host, &(struct step){JUMP, -wrong_s});
		}
		take(&host, &(struct step){RUN, 2 * DAY});
		assert_int_equal(lag_s(&host), 0);
	}
}
