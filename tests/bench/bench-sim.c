/* SPDX-License-Identifier: MIT */
/*
 * Measures how many times faster than real time the simulated GPU of sim/model/ runs on one core.
 * The reference is a simple simulation of the same tenants under the same scheduler, in steps of 10
 * us. Longer steps would miss frames of half a millisecond. The two simulations run alternately.
 * The figures are medians of the CPU time of this process.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "tests/bench/figures.h"
#include "kernel/sched/sched.h"
#include "sim/model/sim.h"

#define ROUNDS	    9
#define SECONDS	    2000 /* simulated seconds per round */
#define REFERENCE_S 20
#define STEP_NS	    10000
#define VGPUS_MAX   8

static double cpu_s(void)
{
	return (double)figures_cpu_ns() / 1e9;
}

struct row {
	const char *what;
	const char *workloads[VGPUS_MAX];
	int caps[VGPUS_MAX];
};

static struct workload workload_of(const struct row *row, int i)
{
	struct workload workload;
	struct err err = {""};

	must(workload_parse(row->workloads[i], &workload, &err), row->workloads[i]);
	return workload;
}

/* Returns simulated time divided by CPU time. *@ret_busy_pct: utilisation of the GPU. */
static double run_sim(const struct row *row, double *ret_busy_pct)
{
	double begin_s = cpu_s(), took_s;
	struct sim *sim = sim_new();

	for (int i = 0; i < VGPUS_MAX; i++) {
		struct workload workload = workload_of(row, i);
		struct sim_vgpu *vgpu;
		char id[ID_MAX];

		snprintf(id, sizeof(id), "v%d", i);
		must(sim_add(sim, id, row->caps[i], &vgpu), "add");
		sim_set_workload(sim, vgpu, &workload);
	}
	for (uint64_t s = 1; s <= SECONDS; s++)
		sim_advance(sim, s * NS_PER_S);
	took_s = cpu_s() - begin_s;
	*ret_busy_pct = (double)sim_busy_ns(sim) / ((double)SECONDS * 1e7);
	sim_free(sim);
	return SECONDS / took_s;
}

struct tenant {
	struct sched_vgpu sched; /* first */
	struct workload_run run;
	uint64_t ready_ns;
	uint64_t making_ns, work_ns[3];
	int n;
};

static void begin_frame(struct tenant *tenant, uint64_t now_ns)
{
	struct workload_frame frame = workload_next_frame(&tenant->run, now_ns);

	tenant->ready_ns = frame.begin_ns + frame.cpu_ns;
	tenant->making_ns = frame.gpu_ns;
}

static void run_cpu(struct sched *sched, struct tenant *tenant, uint64_t now_ns)
{
	while (tenant->n < 3 && now_ns >= tenant->ready_ns) {
		tenant->work_ns[tenant->n++] = tenant->making_ns;
		tenant->ready_ns = UINT64_MAX;
		if (tenant->n < 3)
			begin_frame(tenant, now_ns);
	}
	sched_set_pending(sched, &tenant->sched, tenant->n > 0);
}

static uint64_t run_gpu(struct sched *sched, uint64_t now_ns)
{
	uint64_t run_ns;
	struct tenant *tenant = (struct tenant *)(void *)sched_pick(sched, &run_ns);

	if (!tenant)
		return 0;
	run_ns = tenant->work_ns[0] < STEP_NS ? tenant->work_ns[0] : STEP_NS;
	sched_account(sched, &tenant->sched, run_ns);
	tenant->work_ns[0] -= run_ns;
	if (tenant->work_ns[0] == 0) {
		memmove(tenant->work_ns, tenant->work_ns + 1, 2 * sizeof(uint64_t));
		if (tenant->n-- == 3)
			begin_frame(tenant, now_ns);
	}
	return run_ns;
}

/* Like run_sim(), for the reference simulation. */
static double run_reference(const struct row *row, double *ret_busy_pct)
{
	static struct tenant tenants[VGPUS_MAX];
	double begin_s = cpu_s();
	uint64_t busy_ns = 0;
	struct sched sched;

	sched_start(&sched, NULL, 0);
	memset(tenants, 0, sizeof(tenants));
	for (int i = 0; i < VGPUS_MAX; i++) {
		struct workload workload = workload_of(row, i);
		char id[ID_MAX];

		snprintf(id, sizeof(id), "v%d", i);
		workload_start(&tenants[i].run, &workload, id, 0);
		sched_add(&sched, &tenants[i].sched, (unsigned int)row->caps[i], 0);
		begin_frame(&tenants[i], 0);
	}
	for (uint64_t ns = 0; ns < REFERENCE_S * NS_PER_S; ns += STEP_NS) {
		if (ns >= sched.slot_end_ns)
			sched_open_slot(&sched, ns);
		for (int i = 0; i < VGPUS_MAX; i++)
			run_cpu(&sched, &tenants[i], ns);
		busy_ns += run_gpu(&sched, ns);
	}
	*ret_busy_pct = (double)busy_ns / (REFERENCE_S * 1e7);
	return REFERENCE_S / (cpu_s() - begin_s);
}

static void bench(const struct row *row)
{
	double sim[ROUNDS], reference[ROUNDS], busy_pct = 0, reference_pct = 0;

	for (int round = 0; round < ROUNDS; round++) {
		sim[round] = run_sim(row, &busy_pct);
		reference[round] = run_reference(row, &reference_pct);
	}
	printf("%-36s %10.0f %6.1f %14.0f %6.1f %8.1f\n", row->what, median(sim, ROUNDS), busy_pct,
	       median(reference, ROUNDS), reference_pct,
	       median(sim, ROUNDS) / median(reference, ROUNDS));
}

int main(void)
{
	static const struct row rows[] = {
		{"programs of the paper, unpaced",
		 {"glxgears", "glmark2", "plot3d", "glxgears", "glmark2", "plot3d", "glxgears",
		  "glmark2"},
		 {13, 12, 13, 12, 13, 12, 13, 12}},
		{"programs of the paper, paced",
		 {"glxgears:fps_max=140", "glmark2:fps_max=160", "plot3d:fps_max=30",
		  "glxgears:fps_max=140", "glmark2:fps_max=160", "plot3d:fps_max=30",
		  "glxgears:fps_max=140", "glmark2:fps_max=160"},
		 {7, 18, 20, 7, 14, 20, 7, 7}},
		{"games at 60 Hz",
		 {"game:gpu_ms=2,cpu_ms=4,vsync_hz=60", "game:gpu_ms=2,cpu_ms=4,vsync_hz=60",
		  "game:gpu_ms=2,cpu_ms=4,vsync_hz=60", "game:gpu_ms=2,cpu_ms=4,vsync_hz=60",
		  "game:gpu_ms=2,cpu_ms=4,vsync_hz=60", "game:gpu_ms=2,cpu_ms=4,vsync_hz=60",
		  "game:gpu_ms=2,cpu_ms=4,vsync_hz=60", "game:gpu_ms=2,cpu_ms=4,vsync_hz=60"},
		 {13, 12, 13, 12, 13, 12, 13, 12}},
	};

	printf("%-36s %10s %6s %14s %6s %8s\n", "8 vGPUs, times real time", "sim/", "busy %",
	       "steps of 10 us", "busy %", "ratio");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		bench(&rows[i]);
	printf("target of the first row: at least 2,000 times real time\n");
	return 0;
}
