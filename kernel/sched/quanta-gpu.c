/* SPDX-License-Identifier: MIT */
/* A simulated GPU on kernel/sched/quanta.c. Calls no external function. */
#include "kernel/sched/quanta-gpu.h"

static void set_work(struct quanta_gpu *gpu, unsigned int i)
{
	const struct quanta_gpu_tenant *tenant = &gpu->tenants[i];

	quanta_set_work(&gpu->quanta, i, tenant->work_ns > 0 && !tenant->stopped,
			tenant->load_pct == QUANTA_GPU_ENDLESS);
}

/* The demand of a slot arrives at its start and is queued until it is served. */
static void add_demand(struct quanta_gpu *gpu, unsigned int i, uint64_t ns)
{
	struct quanta_gpu_tenant *tenant = &gpu->tenants[i];

	if (tenant->load_pct == QUANTA_GPU_ENDLESS)
		tenant->work_ns = UINT64_MAX;
	else
		tenant->work_ns += (uint64_t)tenant->load_pct * ((uint32_t)ns / 100);
	set_work(gpu, i);
}

static void open_slot(struct quanta_gpu *gpu)
{
	unsigned int i;

	gpu->slot_end_ns = gpu->now_ns + QUANTA_GPU_SLOT_NS;
	for (i = 0; i < gpu->quanta.n_functions; i++)
		if (gpu->functions[i].present && gpu->tenants[i].load_pct > 0)
			add_demand(gpu, i, QUANTA_GPU_SLOT_NS);
}

static void clear_tenant(struct quanta_gpu_tenant *tenant)
{
	tenant->load_pct = 0;
	tenant->stopped = false;
	tenant->work_ns = 0;
}

void quanta_gpu_start(struct quanta_gpu *gpu, unsigned int total_vfs, uint64_t now_ns)
{
	unsigned int i;

	quanta_start(&gpu->quanta, gpu->functions, total_vfs + 1);
	for (i = 0; i <= total_vfs; i++)
		clear_tenant(&gpu->tenants[i]);
	gpu->n_vfs = 0;
	gpu->start_ns = now_ns;
	gpu->now_ns = now_ns;
	gpu->slot_end_ns = now_ns + QUANTA_GPU_SLOT_NS;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void serve(struct quanta_gpu *gpu, uint64_t ns)
{
	unsigned int turn = gpu->quanta.turn;
	struct quanta_gpu_tenant *tenant = &gpu->tenants[turn];
	bool has_work = gpu->quanta.has_turn && gpu->functions[turn].pending;

	if (quanta_pass(&gpu->quanta, ns)) {
		tenant->load_pct = 0;
		tenant->work_ns = 0;
	} else if (has_work && tenant->load_pct != QUANTA_GPU_ENDLESS) {
		tenant->work_ns -= ns;
	}
	set_work(gpu, turn);
}

/* Advances to the next event, but not beyond @to_ns: the end of a turn, of the work or a slot. */
static void step(struct quanta_gpu *gpu, uint64_t to_ns)
{
	uint64_t ns = lesser(to_ns, gpu->slot_end_ns) - gpu->now_ns, run_ns;
	const struct quanta_function *function = quanta_pick(&gpu->quanta, &run_ns);

	if (function)
		ns = lesser(ns, run_ns);
	if (function && function->pending)
		ns = lesser(ns, gpu->tenants[gpu->quanta.turn].work_ns);
	serve(gpu, ns);
	gpu->now_ns += ns;
	if (gpu->now_ns == gpu->slot_end_ns)
		open_slot(gpu);
}

void quanta_gpu_advance(struct quanta_gpu *gpu, uint64_t now_ns)
{
	while (gpu->now_ns < now_ns)
		step(gpu, now_ns);
}

void quanta_gpu_skip(struct quanta_gpu *gpu, uint64_t now_ns)
{
	gpu->now_ns = now_ns;
	open_slot(gpu);
}

void quanta_gpu_set_vfs(struct quanta_gpu *gpu, unsigned int n_vfs)
{
	unsigned int i;

	for (i = 1; i < gpu->quanta.n_functions; i++) {
		clear_tenant(&gpu->tenants[i]);
		set_work(gpu, i);
		quanta_set_present(&gpu->quanta, i, i <= n_vfs);
	}
	gpu->n_vfs = n_vfs;
	if (n_vfs > 0)
		return;
	for (i = 0; i < gpu->quanta.n_functions; i++) {
		quanta_set_quantum(&gpu->quanta, i, 0);
		quanta_set_timeout(&gpu->quanta, i, 0);
	}
	quanta_gpu_set_priorities(gpu, QUANTA_LOW);
}

void quanta_gpu_set_load(struct quanta_gpu *gpu, unsigned int function, unsigned int load_pct)
{
	struct quanta_gpu_tenant *tenant = &gpu->tenants[function];

	if (load_pct == tenant->load_pct)
		return;
	tenant->load_pct = (uint8_t)load_pct;
	tenant->work_ns = 0;
	add_demand(gpu, function, gpu->slot_end_ns - gpu->now_ns);
}

void quanta_gpu_stop(struct quanta_gpu *gpu, unsigned int function)
{
	gpu->tenants[function].stopped = true;
	set_work(gpu, function);
}

void quanta_gpu_set_priorities(struct quanta_gpu *gpu, enum quanta_priority priority)
{
	unsigned int i;

	for (i = 0; i < gpu->quanta.n_functions; i++)
		quanta_set_priority(&gpu->quanta, i, priority);
}

/* 19.2 MHz is 0.0192 ticks per ns, here in units of 2^-32; the error is less than 10^-9. */
uint64_t quanta_gpu_ticks(uint64_t ns)
{
	const uint64_t ticks_per_ns = 82463372;

	return (ns >> 32) * ticks_per_ns + (((ns & UINT32_MAX) * ticks_per_ns) >> 32);
}
