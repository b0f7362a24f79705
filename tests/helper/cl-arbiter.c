/* SPDX-License-Identifier: MIT */
/*
 * cl-arbiter SOCKET MODE [memory=BYTES] COMMAND...: a small arbiter. Runs COMMAND with GOVER_CL set
 * and prints the totals of all its clients in one line. MODE: free: no control; turn: every client
 * has a turn without end; none: no client ever has one; slices: turns of 6 ms, one client at a
 * time; slow: turns of 1 ms that begin each 10 ms. Exits with the status of COMMAND.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/compute/fake-arbiter.h"

#define SLICE_NS  6000000u
#define SHORT_NS  1000000u
#define PERIOD_NS 10000000u

struct totals {
	struct compute_reading reading[FAKE_CLIENTS_MAX];
	bool known[FAKE_CLIENTS_MAX];
	uint64_t units, busy_ns, submissions, sampled, refused, build_ns, whole, peak;
	unsigned int turns;
	uint64_t over_ns;	 /* the most device time of a turn beyond its slice */
	unsigned int over_turns; /* turns that exceeded their slice by more than half of it */
};

static struct fake_arbiter arbiter;
static struct totals totals;
static unsigned int holder = FAKE_CLIENTS_MAX;
static uint64_t turn_ns;
static uint64_t turn_end_ns; /* busy_ns of the holder's page with which its turn is used up */

/* Adds a client that has ended to the totals. */
static void add_up(unsigned int i)
{
	const struct compute_reading *r = &totals.reading[i];

	if (!totals.known[i])
		return;
	totals.units += r->units;
	totals.busy_ns += r->busy_ns;
	totals.submissions += r->submissions;
	totals.sampled += r->sampled;
	totals.refused += r->memory_refused;
	totals.build_ns += r->build_ns;
	totals.whole += r->kernels_whole;
	totals.known[i] = false;
}

static void read_page(const struct fake_client *client, unsigned int i)
{
	/* Work before the connection counts here, so that the totals of a short program are exact.
	 */
	if (!totals.known[i])
		compute_reading_begin(&totals.reading[i], &(struct compute_page){0},
				      fake_now_ns() - 1000000000u);
	totals.known[i] = true;
	compute_reading_take(&totals.reading[i], client->page, fake_now_ns());
	if (totals.reading[i].memory_bytes > totals.peak)
		totals.peak = totals.reading[i].memory_bytes;
}

static void read_pages(void)
{
	for (unsigned int i = 0; i < FAKE_CLIENTS_MAX; i++)
		if (fake_arbiter_page(&arbiter, i))
			read_page(&arbiter.clients[i], i);
}

/* The page of a client that has ended contains its last units. */
static void read_last(const struct fake_client *client, unsigned int i)
{
	read_page(client, i);
	add_up(i);
}

/* The turn has ended, and all its work has finished. */
static void count_over_run(const struct compute_reading *reading)
{
	uint64_t busy_ns = reading->raw.busy_ns;
	uint64_t over_ns = busy_ns > turn_end_ns ? busy_ns - turn_end_ns : 0;

	if (over_ns > totals.over_ns)
		totals.over_ns = over_ns;
	totals.over_turns += over_ns > SLICE_NS / 2;
}

/* Gives the turn to the next client that waits, if the slice of the holder is over. */
static void grant_slice(void)
{
	uint64_t now_ns = fake_now_ns();
	static enum { ENDED, RUNS, DRAINS } state;
	bool known = holder < FAKE_CLIENTS_MAX && totals.known[holder];

	if (known && state == RUNS) {
		if (now_ns - turn_ns < SLICE_NS)
			return;
		fake_arbiter_grant(&arbiter, holder, COMPUTE_GRANT_NONE, 0);
		state = DRAINS; /* the page is read again before the turn ends */
		return;
	}
	if (known && state == DRAINS) {
		if (totals.reading[holder].in_flight)
			return;
		count_over_run(&totals.reading[holder]);
	}
	state = ENDED;
	for (unsigned int i = 1; i <= FAKE_CLIENTS_MAX; i++) {
		unsigned int next = (holder + i) % FAKE_CLIENTS_MAX;

		if (!totals.known[next] || !totals.reading[next].wants)
			continue;
		holder = next;
		turn_ns = now_ns;
		turn_end_ns = totals.reading[next].raw.busy_ns + SLICE_NS;
		__atomic_store_n(&arbiter.beacon->slot[next].busy_end_ns, turn_end_ns,
				 __ATOMIC_RELAXED);
		totals.turns++;
		fake_arbiter_grant(&arbiter, next, COMPUTE_GRANT_TURN, 2 * SLICE_NS);
		state = RUNS;
		return;
	}
}

/* Turns of 1 ms with long pauses for every client. */
static void grant_rarely(void)
{
	uint64_t now_ns = fake_now_ns();

	if (now_ns - turn_ns < PERIOD_NS)
		return;
	turn_ns = now_ns;
	totals.turns++;
	for (unsigned int i = 0; i < FAKE_CLIENTS_MAX; i++)
		if (totals.known[i])
			fake_arbiter_grant(&arbiter, i, COMPUTE_GRANT_TURN, SHORT_NS);
}

static pid_t start(char **command, const char *path)
{
	char where[128];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)snprintf(where, sizeof(where), "unix:%s", path);
	(void)setenv("GOVER_CL", where, 1);
	(void)execvp(command[0], command);
	_exit(127);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum compute_grant begin;
		void (*grant)(void);
		int limit_ms;
	} modes[] = {
		{"free", COMPUTE_GRANT_FREE, NULL, 5},
		{"turn", COMPUTE_GRANT_TURN, NULL, 5},
		{"none", COMPUTE_GRANT_NONE, NULL, 5},
		{"slices", COMPUTE_GRANT_NONE, grant_slice, 1},
		{"slow", COMPUTE_GRANT_NONE, grant_rarely, 1},
	};
	size_t mode = 0;
	int status = 0, first = 3;
	uint64_t memory = UINT64_MAX;
	pid_t pid;

	while (argc > 3 && mode < ARRAY_SIZE(modes) && strcmp(modes[mode].name, argv[2]) != 0)
		mode++;
	if (argc > 4 && strncmp(argv[3], "memory=", 7) == 0)
		memory = strtoull(argv[first++] + 7, NULL, 10);
	if (argc <= first || mode == ARRAY_SIZE(modes))
		return 2;
	if (fake_arbiter_open(&arbiter, argv[1], modes[mode].begin) < 0)
		return 3;
	arbiter.on_close = read_last;
	for (unsigned int i = 0; i < COMPUTE_SLOTS; i++) {
		arbiter.beacon->slot[i].memory_max_bytes = memory;
		arbiter.beacon->slot[i].slice_ns = SLICE_NS;
		arbiter.beacon->slot[i].in_flight_max_ns = 2 * SLICE_NS;
	}
	pid = start(&argv[first], argv[1]);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		fake_arbiter_turn(&arbiter, modes[mode].limit_ms);
		read_pages();
		if (modes[mode].grant)
			modes[mode].grant();
	}
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	read_pages();
	for (unsigned int i = 0; i < FAKE_CLIENTS_MAX; i++)
		add_up(i);
	printf("clients %u units %llu submissions %llu sampled %llu busy_us %llu build_us %llu "
	       "refused %llu whole %llu peak %llu turns %u over_us %llu "
	       "over_turns %u exit %d\n",
	       arbiter.connections, (unsigned long long)totals.units,
	       (unsigned long long)totals.submissions, (unsigned long long)totals.sampled,
	       (unsigned long long)totals.busy_ns / 1000,
	       (unsigned long long)totals.build_ns / 1000, (unsigned long long)totals.refused,
	       (unsigned long long)totals.whole, (unsigned long long)totals.peak, totals.turns,
	       (unsigned long long)totals.over_ns / 1000, totals.over_turns, status);
	(void)unlink(argv[1]);
	return status;
}
