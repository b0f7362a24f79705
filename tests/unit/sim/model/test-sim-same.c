/* SPDX-License-Identifier: MIT */
/*
 * Tests that the simulated GPU gives the same results as before. Each result is a hash of all
 * counters in every interval of 100 ms. If a hash changes, new figures cannot be compared with old
 * figures.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sim/model/sim.h"
#include "tests/unit/unit.h"

#define TENANTS 8

/* Adds bytes to a FNV-1a hash. */
static void mix(uint64_t *sum, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		*sum = (*sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}

static struct sim_vgpu *add(struct sim *sim, int i, int cap_pct, const char *text)
{
	struct workload workload;
	struct sim_vgpu *vgpu;
	struct err err = {""};
	char id[ID_MAX];

	snprintf(id, sizeof(id), "v%d", i);
	assert_int_equal(sim_add(sim, id, cap_pct, &vgpu), 0);
	if (workload_parse(text, &workload, &err) < 0)
		fail_msg("%s", err.msg);
	sim_set_workload(sim, vgpu, &workload);
	return vgpu;
}

static void mix_counters(uint64_t *sum, const struct sim *sim, struct sim_vgpu *vgpu)
{
	struct sim_counters c;

	sim_read(sim, vgpu, &c);
	mix(sum, &c.busy_ns, sizeof(c.busy_ns));
	mix(sum, &c.sched_ns, sizeof(c.sched_ns));
	mix(sum, &c.frames, sizeof(c.frames));
	mix(sum, &c.frame_p99_ms, sizeof(c.frame_p99_ms));
}

struct row {
	const char *workloads[TENANTS]; /* NULL: end of the list */
	int caps[TENANTS];
	bool moving; /* true: the caps change every second */
	uint64_t sum;
};

static uint64_t live(const struct row *row)
{
	struct sim_vgpu *vgpus[TENANTS];
	uint64_t sum = 0xcbf29ce484222325u;
	uint64_t random = 1;
	struct sim *sim;
	int n = 0;

	sim = sim_new();
	while (n < TENANTS && row->workloads[n]) {
		vgpus[n] = add(sim, n, row->caps[n], row->workloads[n]);
		n++;
	}
	for (uint64_t t = 1; t <= 400; t++) {
		sim_advance(sim, t * (NS_PER_S / 10));
		for (int i = 0; i < n; i++)
			mix_counters(&sum, sim, vgpus[i]);
		for (int i = 0; row->moving && t % 10 == 0 && i < n; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			sim_set_cap(sim, vgpus[i], (int)(random >> 33) % (200 / n));
		}
	}
	sim_free(sim);
	return sum;
}

TEST(histories_have_not_changed)
{
	static const struct row rows[] = {
		{{"glxgears", "glmark2", "plot3d", "glxgears", "glmark2", "plot3d", "glxgears",
		  "glmark2"},
		 {13, 12, 13, 12, 13, 12, 13, 12},
		 false,
		 0x03d02a42136b27cd},
		{{"glxgears", "glmark2", "plot3d", "glxgears", "glmark2", "plot3d", "glxgears",
		  "glmark2"},
		 {5, 20, 30, 5, 10, 20, 5, 5},
		 true,
		 0x3b6c3423a5c8e3c9},
		{{"glxgears:fps_max=140", "glmark2:fps_max=160", "plot3d:fps_max=30",
		  "glmark2:seed=7", "plot3d:scale=0.5"},
		 {7, 25, 44, 12, 12},
		 true,
		 0x73e26968a1e739b0},
		{{"busy", "load:pct=12.5", "load:pct=40", "idle", "frame:gpu_ms=0.01,cpu_ms=0",
		  "frame:gpu_ms=30,cpu_ms=3"},
		 {0, 20, 10, 30, 1, 0},
		 false,
		 0xb41b701c0bb7a6f7},
		{{"busy", "load:pct=33.3", "load:pct=40", "glmark2", "frame:gpu_ms=0.01,cpu_ms=0",
		  "frame:gpu_ms=30,cpu_ms=3", "plot3d"},
		 {0, 20, 10, 30, 1, 0, 50},
		 true,
		 0xf1bb1bc85e1fb352},
		{{"game:gpu_ms=9,cpu_ms=5,vsync_hz=60", "square:period_s=7,low_pct=2,high_pct=40",
		  "burst:on_s=1,off_s=2,pct=60", "game:gpu_ms=2,cpu_ms=6,vsync_hz=144,seed=3"},
		 {40, 20, 30, 10},
		 true,
		 0xaf239027610db63f},
		{{"glmark2"}, {50}, false, 0xf66a0b71e9b38655},
		{{"busy"}, {33}, true, 0xf89defb0f2280ae5},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t sum = live(&rows[i]);

		if (sum != rows[i].sum)
			fail_msg("row %zu: 0x%016llx", i, (unsigned long long)sum);
	}
}
