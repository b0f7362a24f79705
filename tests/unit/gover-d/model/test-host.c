/* SPDX-License-Identifier: MIT */
/* The host's GPUs and vGPUs in memory: lookup, order, sums of caps, release. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/model/host.h"
#include "tests/unit/gover-d/fake-backend.h"
#include "tests/unit/unit.h"

struct gpu_vgpu {
	int detached;
};

static struct host host;

static void fake_detach(struct gpu_vgpu *vgpu)
{
	vgpu->detached++;
}

static const struct gpu_ops fake_ops = {.name = "fake", .detach = fake_detach};
static struct gpu {
	int unused;
} fake_gpu;

static int set_up(void)
{
	memset(&host, 0, sizeof(host));
	for (int i = 0; i < 3; i++) {
		struct host_gpu *gpu = &host.gpus[host.n_gpus++];

		snprintf(gpu->config.name, sizeof(gpu->config.name), "gpu%d", i);
		fake_backend_add(gpu, &fake_ops, &fake_gpu);
	}
	return 0;
}

static struct vgpu *new_vgpu(const char *id)
{
	struct vgpu *vgpu = calloc(1, sizeof(*vgpu));

	assert_non_null(vgpu);
	assert_int_equal(id_copy(vgpu->contract.id, id), 0);
	return vgpu;
}

static struct vgpu *insert(int gpu, const char *id)
{
	struct vgpu *vgpu = new_vgpu(id);

	host_gpu_insert(&host.gpus[gpu], vgpu);
	return vgpu;
}

static int tear_down(void)
{
	for (int i = 0; i < host.n_gpus; i++) {
		while (host.gpus[i].vgpus) {
			struct vgpu *vgpu = host.gpus[i].vgpus;

			host_gpu_remove(&host.gpus[i], vgpu);
			assert_null(vgpu_free(&host.gpus[i], vgpu));
		}
		host.gpus[i].io = gpu_io_free(host.gpus[i].io);
	}
	return 0;
}

FIXTURE(set_up, tear_down)

/* Compares the ids of a GPU's vGPUs, in list order, with @ids ("a b c"). */
static void check_list(int gpu, const char *ids)
{
	char got[256] = "";
	int n = 0;

	for (const struct vgpu *v = host.gpus[gpu].vgpus; v; v = v->next, n++) {
		size_t used = strlen(got);

		snprintf(got + used, sizeof(got) - used, "%s%s", n ? " " : "", v->contract.id);
	}
	assert_string_equal(got, ids);
	assert_int_equal(host.gpus[gpu].n_vgpus, n);
}

TEST(gpus_and_vgpus_are_found_only_by_their_full_name)
{
	struct vgpu *first = insert(0, "a"), *second = insert(2, "ab");
	struct host_gpu *gpu = NULL;

	assert_ptr_equal(host_find_gpu(&host, "gpu1"), &host.gpus[1]);
	assert_null(host_find_gpu(&host, "gpu"));
	assert_null(host_find_gpu(&host, "gpu3"));
	assert_null(host_find_gpu(&host, ""));
	assert_ptr_equal(host_find_vgpu(&host, "a", &gpu), first);
	assert_ptr_equal(gpu, &host.gpus[0]);
	assert_ptr_equal(host_find_vgpu(&host, "ab", &gpu), second);
	assert_ptr_equal(gpu, &host.gpus[2]);
	assert_null(host_find_vgpu(&host, "b", &gpu));
	assert_null(host_find_vgpu(&host, "", &gpu));
	assert_ptr_equal(gpu, &host.gpus[2]); /* a failed lookup does not change @gpu */
	assert_ptr_equal(host_find_vgpu(&host, "ab", NULL), second);
	host.n_gpus = 2;
	assert_null(host_find_vgpu(&host, "ab", NULL));
	host.n_gpus = 3;
}

TEST(vgpus_are_sorted_in_natural_order)
{
	static const char *const orders[][5] = {
		{"vgpu1", "vgpu2", "vgpu10", "vm", "z"},
		{"z", "vm", "vgpu10", "vgpu2", "vgpu1"},
		{"vgpu10", "z", "vgpu1", "vm", "vgpu2"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(orders[i]); k++)
			assert_non_null(insert(1, orders[i][k]));
		check_list(1, "vgpu1 vgpu2 vgpu10 vm z");
		tear_down();
	}
	check_list(1, "");
}

TEST(removing_a_vgpu_keeps_the_others)
{
	struct vgpu *a = insert(0, "a"), *b = insert(0, "b"), *c = insert(0, "c");
	struct vgpu *other = insert(1, "other");

	host_gpu_remove(&host.gpus[0], b);
	assert_null(b->next);
	check_list(0, "a c");
	host_gpu_remove(&host.gpus[0], b); /* a second removal has no effect */
	host_gpu_remove(&host.gpus[0], other);
	check_list(0, "a c");
	check_list(1, "other");
	host_gpu_remove(&host.gpus[0], c);
	check_list(0, "a");
	host_gpu_remove(&host.gpus[0], a);
	check_list(0, "");
	host_gpu_insert(&host.gpus[0], c);
	host_gpu_insert(&host.gpus[0], b);
	host_gpu_insert(&host.gpus[0], a);
	check_list(0, "a b c");
}

TEST(only_existing_vgpus_count_in_the_cap_sum_but_all_in_the_sold_sum)
{
	static struct gpu_vgpu device;
	static const struct {
		const char *id;
		int initial_cap_pct, cap_pct;
		bool exists;
	} rows[] = {
		{"a", 60, 50, true},
		{"b", 50, 30, true},
		{"gone", 40, 40, false},
	};

	assert_int_equal(host_gpu_sum_cap_pct(&host.gpus[0]), 0);
	assert_int_equal(host_gpu_sum_initial_cap_pct(&host.gpus[0]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct vgpu *vgpu = insert(0, rows[i].id);

		vgpu->contract.terms.initial_cap_pct = rows[i].initial_cap_pct;
		vgpu->cap.pct = rows[i].cap_pct;
		vgpu->device = rows[i].exists ? &device : NULL;
	}
	assert_int_equal(host_gpu_sum_cap_pct(&host.gpus[0]), 80);
	assert_int_equal(host_gpu_sum_initial_cap_pct(&host.gpus[0]), 150);
	assert_int_equal(host_gpu_sum_cap_pct(&host.gpus[1]), 0);
}

TEST(freeing_a_vgpu_releases_device_and_labels_once)
{
	struct gpu_vgpu device = {.detached = 0};
	struct vgpu *vgpu = new_vgpu("a");
	json_t *labels = json_object();

	vgpu->device = &device;
	vgpu->contract.labels = json_incref(labels);
	assert_null(vgpu_free(&host.gpus[0], vgpu));
	assert_int_equal(device.detached, 1);
	assert_int_equal(labels->refcount, 1);
	json_decref(labels);
	assert_null(vgpu_free(&host.gpus[0], new_vgpu("missing")));
	assert_null(vgpu_free(&host.gpus[0], NULL));
}

TEST(contract_fini_can_be_called_twice)
{
	struct contract contract = {.labels = json_object()};

	contract_fini(&contract);
	assert_null(contract.labels);
	contract_fini(&contract);
}

TEST(modes_have_the_names_of_the_interface)
{
	static const char *const names[] = {"act", "observe", "frozen"};
	static const char *const wrong[] = {"", "Act", "act ", "freeze", "observ"};
	enum gpu_mode mode = GPU_MODE_ACT;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(gpu_mode_name((enum gpu_mode)i), names[i]);
		assert_int_equal(gpu_mode_parse(names[i], &mode), 0);
		assert_int_equal(mode, i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(gpu_mode_parse(wrong[i], &mode), -EINVAL);
	assert_int_equal(mode, GPU_MODE_FROZEN);
}

TEST(the_unit_of_a_gpu_selects_the_promise)
{
	static const struct {
		bool open;
		enum gpu_unit unit;
		double target_fps, target_rate, target;
		bool work;
	} rows[] = {
		{true, GPU_FRAMES, 30, 0, 30, false},
		{true, GPU_FRAMES, 30, 500, 30, false},
		{true, GPU_FRAMES, 0, 500, 0, false},
		{true, GPU_WORK, 0, 500, 500, true},
		{true, GPU_WORK, 30, 500, 500, true},
		{true, GPU_WORK, 30, 0, 0, true},
		/* before the GPU is open */
		{false, GPU_FRAMES, 30, 0, 30, false},
		{false, GPU_FRAMES, 0, 500, 500, true},
		{false, GPU_FRAMES, 0, 0, 0, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_gpu *gpu = &host.gpus[0];
		struct contract contract = {
			.terms = {.initial_cap_pct = 40, .target_fps = rows[i].target_fps},
			.target_rate = rows[i].target_rate,
		};
		struct policy_terms terms;

		gpu->state = rows[i].open ? GPU_OPEN : GPU_OPENING;
		gpu->traits.unit = rows[i].unit;
		terms = host_terms(gpu, &contract);
		assert_int_equal(terms.initial_cap_pct, 40);
		assert_true(terms.target_fps == rows[i].target);
		assert_int_equal(terms.counts_work, rows[i].work);
		assert_int_equal(host_gpu_unit(gpu, &contract) == GPU_WORK, rows[i].work);
	}
	host.gpus[0].state = GPU_OPEN;
}

TEST(a_new_contract_finds_its_gpu)
{
	struct contract contract = {.id = "new"};

	assert_non_null(insert(1, "old"));
	assert_null(host_gpu_for(&host, &contract));
	assert_int_equal(id_copy(contract.id, "old"), 0);
	assert_ptr_equal(host_gpu_for(&host, &contract), &host.gpus[1]);
	assert_int_equal(id_copy(contract.gpu, "gpu2"), 0);
	assert_ptr_equal(host_gpu_for(&host, &contract), &host.gpus[2]);
	assert_int_equal(id_copy(contract.gpu, "gpu9"), 0);
	assert_null(host_gpu_for(&host, &contract));
	host.n_gpus = 1;
	contract = (struct contract){.id = "new"};
	assert_ptr_equal(host_gpu_for(&host, &contract), &host.gpus[0]);
	host.n_gpus = 3;
}
