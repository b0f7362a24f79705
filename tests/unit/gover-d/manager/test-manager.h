/* SPDX-License-Identifier: MIT */
/*
 * Runs the whole daemon against a fake GPU backend, which replaces "sim". The fake GPU keeps its
 * state when the daemon restarts. An injected fault lasts until the test removes it. Each test of
 * the program runs with the fixture of this file.
 */
#ifndef TESTS_UNIT_GOVER_D_MANAGER_TEST_MANAGER_H
#define TESTS_UNIT_GOVER_D_MANAGER_TEST_MANAGER_H

#include <stdatomic.h>

#include "tests/unit/gover-d/manager/test-daemon.h"

#define DEVICES 4 /* vGPUs a, b, c and d */
#define BUSY	2 /* a demand above the capacity of the GPU */

/* --- fake GPU --- */

struct gpu_vgpu {
	bool exists;
	uint64_t identity; /* 0: unknown */
	int cap_pct;	   /* 0: no limit */
	double demand;	   /* as a fraction of the whole GPU */
	uint64_t at_ns;
	double busy_ns, sched_ns;
	bool draws; /* programs draw @fps frames per second; needs traits of a GPU that counts */
	double fps, frames;
	/*
	 * The lease of the cap, used if fake.leases is set. It never expires by itself: to simulate
	 * the expiry, a test resets cap_pct.
	 */
	int initial_cap_pct; /* 0: never set */
	bool cap_written;
	int lease_ms, renewals;
	/* used if fake.limits_memory is set */
	uint64_t memory_bytes, max_bytes;
	int memory_writes;
	/* injected faults */
	int attach_errno, renew_errno;
	int write_errno, read_cap_errno, read_initial_errno;
	int reading_cap_errno; /* a reading contains no cap */
	int memory_errno;
	bool ignores_writes; /* a write returns success but changes nothing */
	bool forgets_writes; /* the cap before a write returns at the next reading */
	int forgotten_pct;   /* this cap; 0: no write since the last reading */
	/* the device is removed when its cap is written, or when its initial cap is read */
	bool ends_at_write, ends_at_read_initial;
	bool stale; /* busy time cannot be read */
};

static struct gpu {
	struct gpu_vgpu devices[DEVICES];
	bool external_vgpus; /* the backend cannot create vGPUs; the test creates them */
	int create_errno;
	int open_errno;
	/* Backend auto opens a GPU in a thread. */
	atomic_int opens;	/* number of attempts to open the GPU */
	atomic_bool auto_finds; /* backend = auto finds the GPU */
	int list_errno;
	int n_unopenable; /* number of further vGPUs "s1", "s2", ...; opening them fails */
	int external_cap_pct[DEVICES]; /* caps set externally after the next sample; 0: none */
	int writes;		       /* number of attempted cap writes */
	bool leases, limits_memory;
	bool spares; /* a vGPU gets its demand, also above its cap */
} fake;

static struct gpu_vgpu *device(const char *id)
{
	assert_in_range(id[0], 'a', 'a' + DEVICES - 1);
	return &fake.devices[id[0] - 'a'];
}

static int fake_open(const struct gpu_config *given, struct gpu **ret_gpu, struct err *reterr)
{
	(void)given;
	fake.opens++;
	if (fake.open_errno)
		return err_fail(reterr, fake.open_errno, "no driver is loaded");
	*ret_gpu = &fake;
	return 0;
}

static void fake_close(struct gpu *own)
{
	(void)own;
}

static void fake_traits(const struct gpu *own, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = 1,
		.creates = !own->external_vgpus,
		.limits_memory = own->limits_memory,
		.counts_frames = true,
	};
}

static int fake_list(struct gpu *own, gpu_found_fn found, void *userdata)
{
	if (own->list_errno)
		return -own->list_errno;
	for (int i = 0; i < DEVICES; i++)
		if (own->devices[i].exists)
			found(userdata, (char[]){(char)('a' + i), '\0'},
			      own->devices[i].initial_cap_pct);
	for (int i = 1; i <= own->n_unopenable; i++) {
		char id[ID_MAX];

		snprintf(id, sizeof(id), "s%d", i);
		found(userdata, id, 0);
	}
	return 0;
}

static int fake_create(struct gpu *own, const char *id, int cap_pct, struct err *reterr)
{
	if (own->create_errno)
		return err_fail(reterr, own->create_errno, "vGPU %s cannot be made", id);
	assert_false(device(id)->exists);
	*device(id) = (struct gpu_vgpu){.exists = true, .cap_pct = cap_pct};
	return 0;
}

static int fake_destroy(struct gpu *own, const char *id, struct err *reterr)
{
	(void)own;
	if (!device(id)->exists)
		return err_fail(reterr, ENOENT, "no vGPU %s", id);
	device(id)->exists = false;
	return 0;
}

static int fake_attach(struct gpu *own, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	(void)own, (void)now_mono_ns;
	if (id[0] == 's')
		return err_fail(reterr, EIO, "vGPU %s cannot be opened", id);
	if (!device(id)->exists)
		return err_fail(reterr, ENOENT, "no vGPU %s", id);
	if (device(id)->attach_errno)
		return err_fail(reterr, device(id)->attach_errno, "vGPU %s cannot be opened", id);
	*ret_vgpu = device(id);
	return 0;
}

static void fake_detach(struct gpu_vgpu *vgpu)
{
	(void)vgpu;
}

static uint64_t fake_identity(const struct gpu_vgpu *vgpu)
{
	return vgpu->identity;
}

static int fake_read(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading)
{
	double cap = vgpu->cap_pct == 0 ? 1 : vgpu->cap_pct / 100.0;

	if (!vgpu->exists)
		return -ENODEV;
	if (vgpu->at_ns > 0 && now_mono_ns > vgpu->at_ns) {
		double passed_ns = (double)(now_mono_ns - vgpu->at_ns);

		vgpu->busy_ns +=
			passed_ns * (fake.spares || vgpu->demand < cap ? vgpu->demand : cap);
		vgpu->sched_ns += passed_ns * cap;
		vgpu->frames += vgpu->fps * passed_ns / 1e9;
	}
	vgpu->at_ns = now_mono_ns;
	if (vgpu->forgotten_pct)
		vgpu->cap_pct = vgpu->forgotten_pct;
	vgpu->forgotten_pct = 0;
	*ret_reading = (struct gpu_reading){
		.at_ns = now_mono_ns,
		.busy_valid = !vgpu->stale,
		.busy_ns = (uint64_t)vgpu->busy_ns,
		.sched_ns = (uint64_t)vgpu->sched_ns,
		.cap_valid = vgpu->reading_cap_errno == 0,
		.cap_pct = vgpu->cap_pct,
		.cap_errno = vgpu->reading_cap_errno,
		.frames_valid = vgpu->draws,
		.frames = (uint64_t)vgpu->frames,
		.memory_valid = fake.limits_memory,
		.memory_bytes = vgpu->memory_bytes,
	};
	return 0;
}

static int fake_write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	(void)now_mono_ns;
	fake.writes++;
	vgpu->exists = vgpu->exists && !vgpu->ends_at_write;
	if (!vgpu->exists)
		return -ENODEV;
	if (vgpu->write_errno)
		return -vgpu->write_errno;
	if (vgpu->forgets_writes && !vgpu->forgotten_pct)
		vgpu->forgotten_pct = vgpu->cap_pct;
	if (!vgpu->ignores_writes)
		vgpu->cap_pct = cap_pct;
	vgpu->cap_written = true;
	return 0;
}

static int fake_read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	if (!vgpu->exists)
		return -ENODEV;
	if (vgpu->read_cap_errno)
		return -vgpu->read_cap_errno;
	*ret_cap_pct = vgpu->cap_pct;
	return 0;
}

static int fake_write_memory(struct gpu_vgpu *vgpu, uint64_t max_bytes)
{
	vgpu->memory_writes++;
	if (vgpu->memory_errno)
		return -vgpu->memory_errno;
	vgpu->max_bytes = max_bytes;
	return 0;
}

static int fake_read_initial_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	if (!fake.leases)
		return -EOPNOTSUPP;
	vgpu->exists = vgpu->exists && !vgpu->ends_at_read_initial;
	if (!vgpu->exists)
		return -ENODEV;
	if (vgpu->read_initial_errno)
		return -vgpu->read_initial_errno;
	*ret_cap_pct = vgpu->initial_cap_pct;
	return 0;
}

static int fake_write_initial_cap(struct gpu_vgpu *vgpu, int initial_cap_pct, int cap_pct)
{
	if (vgpu->cap_written)
		return -EPERM;
	vgpu->initial_cap_pct = vgpu->cap_pct = initial_cap_pct;
	if (vgpu->write_errno)
		return -vgpu->write_errno;
	vgpu->cap_pct = cap_pct;
	vgpu->cap_written = true;
	return 0;
}

static int fake_renew(struct gpu_vgpu *vgpu, int lease_ms)
{
	if (!fake.leases)
		return -EOPNOTSUPP;
	if (!vgpu->exists)
		return -ENODEV;
	if (vgpu->renew_errno)
		return -vgpu->renew_errno;
	vgpu->lease_ms = lease_ms;
	vgpu->renewals++;
	return 0;
}

static int fake_physical(struct gpu *own, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			 uint64_t *ret_busy_ns)
{
	(void)now_mono_ns, (void)ret_at_ns, (void)ret_busy_ns;
	for (int i = 0; i < DEVICES; i++) {
		if (own->external_cap_pct[i])
			own->devices[i].cap_pct = own->external_cap_pct[i];
		own->external_cap_pct[i] = 0;
	}
	return -ENODATA;
}

static const struct gpu_ops fake_ops = {
	.name = "sim",
	.in_memory = true,
	.open = fake_open,
	.close = fake_close,
	.traits = fake_traits,
	.list = fake_list,
	.create = fake_create,
	.destroy = fake_destroy,
	.attach = fake_attach,
	.detach = fake_detach,
	.identity = fake_identity,
	.read = fake_read,
	.write_cap = fake_write_cap,
	.read_cap = fake_read_cap,
	.memory.write = fake_write_memory,
	.lease.read_initial_cap = fake_read_initial_cap,
	.lease.write_initial_cap = fake_write_initial_cap,
	.lease.renew = fake_renew,
	.observe.physical = fake_physical,
};

/* These functions replace gpu/gpu.c. */
const struct gpu_ops *gpu_at(size_t index)
{
	return index == 0 ? &fake_ops : NULL;
}

const struct gpu_ops *gpu_find(const char *backend)
{
	return strcmp(backend, fake_ops.name) == 0 ? &fake_ops : NULL;
}

const struct gpu_ops *gpu_auto(const struct gpu_config *given)
{
	(void)given;
	return fake.auto_finds ? &fake_ops : NULL;
}

/* --- daemon --- */

static int set_up(void)
{
	memset(&fake, 0, sizeof(fake));
	return prepare_daemon();
}

FIXTURE(set_up, tear_down)

static inline void tick(int periods)
{
	while (periods-- > 0) {
		now.mono_ns += NS_PER_S;
		now.boot_ns += NS_PER_S;
		now.wall_ms += 1000;
		period_run(&m->tick, now, false);
	}
}

/* Runs one tick, three periods late. */
static inline void tick_late(void)
{
	now.mono_ns += 4 * NS_PER_S;
	now.boot_ns += 4 * NS_PER_S;
	now.wall_ms += 4000;
	period_run(&m->tick, now, true);
}

static inline void sell(const char *id, int initial_cap_pct, double demand)
{
	assert_int_equal(add(contract_of(id, initial_cap_pct)), 0);
	device(id)->demand = demand;
	save_now();
}

#endif
