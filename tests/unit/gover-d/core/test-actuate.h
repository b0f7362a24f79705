/* SPDX-License-Identifier: MIT */
/*
 * A fake GPU and a fixture for the tests of actuate.c. The fake records every cap write and can
 * inject errors. Any invalid call fails the test, even if real hardware accepts such a call.
 */
#ifndef TESTS_UNIT_GOVER_D_CORE_TEST_ACTUATE_H
#define TESTS_UNIT_GOVER_D_CORE_TEST_ACTUATE_H
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/core/actuate.h"
#include "tests/unit/gover-d/fake-backend.h"
#include "tests/unit/gover-d/test-cap-journal.h"
#include "tests/unit/unit.h"

#define VGPUS		3
#define NO_LIMIT	0
#define FORCED_NO_LIMIT (-1) /* value of forced_pct: a write removes the limit */

static const struct instant now = {.mono_ns = 7 * NS_PER_S, .wall_ms = 1700000000000};

/* --- the fake --- */

struct gpu_vgpu {
	bool exists, attached;
	int cap_pct;
	int write_errno, read_errno; /* injected errors; 0: none */
	int forced_pct;		     /* cap after any write; 0: the written value */
};

static struct gpu {
	struct gpu_vgpu vgpus[VGPUS]; /* the vGPUs a, b and c */
	int create_errno, attach_errno, destroy_errno;
	int detaches;	  /* number of detach calls */
	int max_sum_pct;  /* largest sum of caps so far */
	char writes[128]; /* all cap writes in order, "a40 b60"; "a40!": failed */
} fake;

static struct gpu_vgpu *fake_find(const char *id)
{
	assert_in_range(id[0], 'a', 'a' + VGPUS - 1);
	return &fake.vgpus[id[0] - 'a'];
}

static void fake_update_max_sum(void)
{
	int sum_pct = 0;

	for (int i = 0; i < VGPUS; i++)
		if (fake.vgpus[i].exists)
			sum_pct += fake.vgpus[i].cap_pct;
	if (sum_pct > fake.max_sum_pct)
		fake.max_sum_pct = sum_pct;
}

static int fake_create(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	struct gpu_vgpu *vgpu = fake_find(id);
	int last_pct, intent_pct;
	struct cap_journal *journal;

	/* The journal must contain the intended cap before the vGPU is created. */
	assert_int_equal(cap_journal_open(journal_path, &journal, NULL), 0);
	assert_true(cap_journal_get(journal, id, &last_pct, &intent_pct));
	assert_int_equal(intent_pct, cap_pct);
	cap_journal_close(journal);
	if (gpu->create_errno)
		return err_fail(reterr, gpu->create_errno, "vGPU %s cannot be created", id);
	vgpu->exists = true;
	vgpu->cap_pct = cap_pct;
	return 0;
}

static int fake_destroy(struct gpu *gpu, const char *id, struct err *reterr)
{
	struct gpu_vgpu *vgpu = fake_find(id);

	if (!vgpu->exists)
		return err_fail(reterr, ENOENT, "no vGPU %s", id);
	if (gpu->destroy_errno)
		return err_fail(reterr, gpu->destroy_errno, "vGPU %s: 2 programs use it", id);
	vgpu->exists = false;
	return 0;
}

static int fake_attach(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct gpu_vgpu *vgpu = fake_find(id);

	assert_int_equal(now_mono_ns, now.mono_ns);
	assert_false(vgpu->attached);
	if (gpu->attach_errno)
		return err_fail(reterr, gpu->attach_errno, "vGPU %s cannot be opened", id);
	if (!vgpu->exists)
		return err_fail(reterr, ENOENT, "no vGPU %s", id);
	vgpu->attached = true;
	*ret_vgpu = vgpu;
	return 0;
}

static void fake_detach(struct gpu_vgpu *vgpu)
{
	assert_true(vgpu->attached);
	vgpu->attached = false;
	fake.detaches++;
}

static int fake_write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	const char id[] = {(char)('a' + (vgpu - fake.vgpus)), '\0'};
	size_t used = strlen(fake.writes);
	int last_pct, intent_pct;
	struct cap_journal *journal;

	assert_int_equal(now_mono_ns, now.mono_ns);
	assert_int_equal(cap_journal_open(journal_path, &journal, NULL), 0);
	assert_true(cap_journal_get(journal, id, &last_pct, &intent_pct));
	assert_int_equal(last_pct, vgpu->cap_pct);
	assert_int_equal(intent_pct, cap_pct);
	cap_journal_close(journal);
	snprintf(fake.writes + used, sizeof(fake.writes) - used, "%s%s%d%s", used ? " " : "", id,
		 cap_pct, vgpu->write_errno ? "!" : "");
	if (vgpu->forced_pct)
		vgpu->cap_pct = vgpu->forced_pct == FORCED_NO_LIMIT ? NO_LIMIT : vgpu->forced_pct;
	else if (!vgpu->write_errno)
		vgpu->cap_pct = cap_pct;
	fake_update_max_sum();
	return -vgpu->write_errno;
}

static int fake_read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	if (vgpu->read_errno)
		return -vgpu->read_errno;
	*ret_cap_pct = vgpu->cap_pct;
	return 0;
}

static const struct gpu_ops fake_ops = {
	.name = "fake",
	.create = fake_create,
	.destroy = fake_destroy,
	.attach = fake_attach,
	.detach = fake_detach,
	.write_cap = fake_write_cap,
	.read_cap = fake_read_cap,
};

/* --- the fixture --- */

static struct host_gpu gpu;
static struct vgpu vgpus[VGPUS];
static struct actuator actuator;
static struct err err;

static int set_up(void)
{
	memset(&fake, 0, sizeof(fake));
	memset(vgpus, 0, sizeof(vgpus));
	gpu = (struct host_gpu){
		.config = {.name = "gpu0"},

		.traits = {.step_pct = 1, .floor_pct = 1, .creates = true},
	};
	fake_backend_add(&gpu, &fake_ops, &fake);
	actuator = (struct actuator){.dry_run = false};
	err.msg[0] = '\0';
	return cap_journal_open(journal_path, &actuator.journal, NULL);
}

static int tear_down(void)
{
	cap_journal_close(actuator.journal);
	gpu.io = gpu_io_free(gpu.io);
	return unlink(journal_path);
}

static void name_vgpu(int index)
{
	vgpus[index].contract.id[0] = (char)('a' + index);
}

/* Adds vGPU @index to the GPU with the cap @cap_pct. */
static void place_vgpu(int index, int cap_pct)
{
	struct vgpu *vgpu = &vgpus[index];

	name_vgpu(index);
	fake.vgpus[index].exists = fake.vgpus[index].attached = true;
	fake.vgpus[index].cap_pct = vgpu->expected_cap_pct = cap_pct;
	vgpu->cap_pct = cap_pct == NO_LIMIT ? 100 : cap_pct;
	vgpu->device = &fake.vgpus[index];
	host_gpu_insert(&gpu, vgpu);
	fake_update_max_sum();
}

/* Compares the entry of @id in the journal file; -1: no entry. */
static void check_journal(const char *rule, const char *id, int last_pct, int intent_pct)
{
	int last = -1, intent = -1;
	struct cap_journal *journal;

	assert_int_equal(cap_journal_flush(actuator.journal), 0);
	assert_int_equal(cap_journal_open(journal_path, &journal, NULL), 0);
	(void)cap_journal_get(journal, id, &last, &intent);
	cap_journal_close(journal);
	if (last != last_pct || intent != intent_pct)
		fail_msg("%s: the journal contains %d, %d for %s, expected %d, %d", rule, last,
			 intent, id, last_pct, intent_pct);
}

enum { A, B, C };

#endif
