/* SPDX-License-Identifier: MIT */
/*
 * bench-reaction ROUNDS PERIOD_MS LIGHT_US HEAVY_US FILE_A GROUP_A FILE_B GROUP_B: the driver of
 * tests/bench/bench-reaction. Two programs fps-steps draw in two vGPUs. In each round one becomes
 * heavy and the other light. Measures the time from the first late frame until the kernel has a
 * larger cap of the heavy one, and until its frames are in time again. The round begins at a random
 * part of the period.
 *
 * The reference is a loop that reads the frame rate once a second and acts at once on a late frame
 * (koordlet has this period), computed for the same late frames.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/figures.h"
#include "base/linux/cgroup.h"
#include "gpu/softgpu/softgpu.c"
#include "tests/helper/fps-steps.h"

#define ROUNDS_MAX   1000
#define POLL_US	     500
#define GIVE_UP_NS   (15 * NS_PER_S)
#define REFERENCE_NS NS_PER_S
#define NO_CAP	     3 /* exit status: a round had no larger cap within GIVE_UP_NS */

struct program {
	struct fps_steps *steps;
	struct cgroup_files files;
};

static struct softgpu_scale scale = {.gpu_cores = 1};

static int cap_pct(const struct program *program)
{
	double share;
	int pct;

	must(cap_read(&program->files, &scale, /* ceiling_pct= */ 0, &share, &pct), "cap");
	return pct;
}

static void open_program(const struct cgroup_host *host, const char *path, const char *group,
			 struct program *ret_program)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	must(fd < 0 ? -errno : 0, path);
	ret_program->steps =
		mmap(NULL, sizeof(struct fps_steps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(ret_program->steps == MAP_FAILED ? -errno : 0, path);
	(void)close(fd);
	must(cgroup_open(host, group, &ret_program->files), group);
}

static void begin_step(struct program *program, uint32_t body_us)
{
	__atomic_store_n(&program->steps->body_us, body_us, __ATOMIC_RELAXED);
	__atomic_store_n(&program->steps->step, program->steps->step + 1, __ATOMIC_RELEASE);
}

/* Times of a round; 0: it did not happen. */
struct round {
	uint64_t short_ns, cap_ns, on_time_ns;
	int from_pct, to_pct;
};

/* Waits until the frames of @heavy are in time, or for GIVE_UP_NS. */
static struct round watch(const struct program *heavy, int from_pct)
{
	struct round round = {.from_pct = from_pct, .to_pct = from_pct};
	uint64_t begun_ns = clock_now().mono_ns, now_ns = begun_ns;
	const struct fps_steps *steps = heavy->steps;

	while (now_ns < begun_ns + GIVE_UP_NS) {
		int pct = cap_pct(heavy);

		now_ns = clock_now().mono_ns;
		if (round.cap_ns == 0 && pct > from_pct)
			round.cap_ns = now_ns;
		round.to_pct = pct;
		if (__atomic_load_n(&steps->seen, __ATOMIC_ACQUIRE) == steps->step) {
			round.short_ns = __atomic_load_n(&steps->short_ns, __ATOMIC_ACQUIRE);
			round.on_time_ns = __atomic_load_n(&steps->on_time_ns, __ATOMIC_ACQUIRE);
		}
		if (round.on_time_ns > 0)
			break;
		/* no late frame in two seconds: the cap was large enough */
		if (round.short_ns == 0 && now_ns > begun_ns + 2 * NS_PER_S)
			break;
		(void)usleep(POLL_US);
	}
	return round;
}

static double ms_between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e6 : 0;
}

static void print_row(const char *name, double *ms, size_t n, double reference_ms)
{
	double middle = median(ms, n);

	printf("%-34s %6zu %10.0f %10.0f %10.0f", name, n, middle, ms[n * 9 / 10], ms[n - 1]);
	if (reference_ms > 0)
		printf(" %10.2f", middle / reference_ms);
	printf("\n");
}

/* Times in ms of the rounds that had a late frame and a larger cap. */
struct times {
	double cap_ms[ROUNDS_MAX], served_ms[ROUNDS_MAX], reference_ms[ROUNDS_MAX];
	size_t n, n_served;
	/* number of other rounds: no late frame; in time again without a larger cap; neither */
	int no_late, no_need, no_cap;
};

static void add_round(struct times *times, const struct round *round)
{
	if (round->short_ns == 0 || round->cap_ns == 0) {
		times->no_late += round->short_ns == 0;
		times->no_need += round->short_ns != 0 && round->on_time_ns != 0;
		times->no_cap += round->short_ns != 0 && round->on_time_ns == 0;
		return;
	}
	times->reference_ms[times->n] = ms_between(round->short_ns % REFERENCE_NS, REFERENCE_NS);
	times->cap_ms[times->n++] = ms_between(round->short_ns, round->cap_ns);
	if (round->on_time_ns > 0)
		times->served_ms[times->n_served++] =
			ms_between(round->short_ns, round->on_time_ns);
}

/* Returns the exit status: NO_CAP if a round had no larger cap, otherwise 0. */
static int print_times(struct times *times)
{
	double reference_ms;

	if (times->n > 0 && times->n_served > 0) {
		reference_ms = median(times->reference_ms, times->n);
		print_row("first larger cap in force", times->cap_ms, times->n, reference_ms);
		print_row("frames in time again", times->served_ms, times->n_served, reference_ms);
		print_row("reference: a loop of 1 s", times->reference_ms, times->n, 0);
	}
	if (times->no_late + times->no_need + times->no_cap > 0)
		printf("other rounds: %d without a late frame, %d in time again without a larger "
		       "cap, %d neither within %d s\n",
		       times->no_late, times->no_need, times->no_cap, (int)(GIVE_UP_NS / NS_PER_S));
	return times->no_cap > 0 ? NO_CAP : 0;
}

static struct round run_round(struct program *heavy, struct program *light, uint32_t heavy_us,
			      uint32_t light_us)
{
	int from_pct = cap_pct(heavy);

	begin_step(light, light_us);
	begin_step(heavy, heavy_us);
	return watch(heavy, from_pct);
}

int main(int argc, char **argv)
{
	static struct times times;
	static struct cgroup_host host;
	int rounds = argc > 8 ? atoi(argv[1]) : 0;
	uint64_t period_us = argc > 8 ? strtoull(argv[2], NULL, 10) * 1000 : 0;
	uint32_t light_us, heavy_us;
	struct program programs[2];
	struct err err;

	if (rounds < 2 || rounds > ROUNDS_MAX || period_us == 0) {
		fprintf(stderr, "usage: see tests/bench/bench-reaction\n");
		return 2;
	}
	scale.guarantees = getenv("GUARANTEE") != NULL;
	light_us = (uint32_t)strtoul(argv[3], NULL, 10);
	heavy_us = (uint32_t)strtoul(argv[4], NULL, 10);
	must(cgroup_find(CGROUP_MOUNTINFO, &host, &err), "control groups");
	for (int i = 0; i < 2; i++)
		open_program(&host, argv[5 + 2 * i], argv[6 + 2 * i], &programs[i]);
	srandom(1);
	for (int i = -2; i < rounds; i++) { /* the first two rounds are not counted */
		struct round round;

		(void)usleep(
			(useconds_t)(2 * period_us + 1000000 + (uint64_t)random() % period_us));
		round = run_round(&programs[i & 1], &programs[!(i & 1)], heavy_us, light_us);
		if (getenv("VERBOSE"))
			fprintf(stderr,
				"%d: %d -> %d %%, cap after %.0f ms, in time after %.0f ms\n", i,
				round.from_pct, round.to_pct,
				ms_between(round.short_ns, round.cap_ns),
				ms_between(round.short_ns, round.on_time_ns));
		if (i >= 0)
			add_round(&times, &round);
	}
	return print_times(&times);
}
