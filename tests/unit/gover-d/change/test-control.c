/* SPDX-License-Identifier: MIT */
/*
 * Requests that change the state, on two fake GPUs that can fail: each request is applied
 * completely or not at all, and its decisions match what happened. The scenario tests cover the
 * replies of the real daemon. The last part tests the units of promises and limits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-d/change/contract-change.h"
#include "gover-d/change/control.h"
#include "gover-d/manager/parts.h"
#include "gover-d/tick/round.h"
#include "tests/unit/gover-d/fake-backend.h"
#include "tests/unit/gover-d/store/test-save-at-once.h"
#include "tests/unit/gover-d/test-cap-journal.h"
#include "tests/unit/unit.h"

#define FAKES 4

/* --- the fake GPUs --- */

struct gpu_vgpu {
	char id[ID_MAX]; /* "": unused entry */
	int cap_pct, attached;
};

static struct gpu {
	struct gpu_vgpu vgpus[FAKES];
	int label_errno, destroy_errno; /* injected errors; 0: none */
} fakes[2];

static struct gpu_vgpu *fake_find(struct gpu *gpu, const char *id)
{
	for (int i = 0; i < FAKES; i++)
		if (strcmp(gpu->vgpus[i].id, id) == 0)
			return &gpu->vgpus[i];
	return NULL;
}

static int fake_create(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	struct gpu_vgpu *vgpu = fake_find(gpu, "");

	(void)reterr;
	assert_non_null(vgpu);
	assert_int_equal(id_copy(vgpu->id, id), 0);
	vgpu->cap_pct = cap_pct;
	return 0;
}

static int fake_destroy(struct gpu *gpu, const char *id, struct err *reterr)
{
	if (gpu->destroy_errno)
		return err_fail(reterr, gpu->destroy_errno, "vGPU %s: a program uses it", id);
	fake_find(gpu, id)->id[0] = '\0'; /* the caller detaches the vGPU afterwards */
	return 0;
}

static int fake_attach(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct gpu_vgpu *vgpu = fake_find(gpu, id);

	(void)now_mono_ns;
	if (!vgpu)
		return err_fail(reterr, ENOENT, "no vGPU %s", id);
	vgpu->attached++;
	*ret_vgpu = vgpu;
	return 0;
}

static void fake_detach(struct gpu_vgpu *vgpu)
{
	vgpu->attached--;
}

static int fake_write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	(void)now_mono_ns;
	vgpu->cap_pct = cap_pct;
	return 0;
}

static int fake_read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	*ret_cap_pct = vgpu->cap_pct;
	return 0;
}

static int fake_label(struct gpu_vgpu *vgpu, const char *key, const char *value, struct err *reterr)
{
	int errnum = vgpu >= fakes[1].vgpus ? fakes[1].label_errno : fakes[0].label_errno;

	(void)key;
	return errnum ? err_fail(reterr, errnum, "%s is not allowed", value) : 0;
}

static const struct gpu_ops fake_ops = {
	.name = "fake",
	.create = fake_create,
	.destroy = fake_destroy,
	.attach = fake_attach,
	.detach = fake_detach,
	.write_cap = fake_write_cap,
	.read_cap = fake_read_cap,
	.label = fake_label,
};

/* --- the fixture: a manager without an event loop --- */

static struct manager m;
static struct plan_round plan;
static struct err err;
static int64_t last_seen_id; /* of the decisions */

static int set_up(void)
{
	last_seen_id = 0;
	n_saves = save_errno = 0;
	memset(fakes, 0, sizeof(fakes));
	memset(&m, 0, sizeof(m));
	manager_wire(&m);
	m.tick.round = &plan;
	config_default(&m.store.settings.config);
	m.store.settings.file_config = m.store.settings.config;
	settings_apply(&m.store.settings);
	m.recorder.decisions = decisions_new(0);
	m.sales.alerts = m.recorder.alerts = alerts_new(0, ignore_alert, NULL);
	m.sales.offers = offers_new(0, ignore_offer, NULL);
	m.host.n_gpus = 2;
	for (int i = 0; i < 2; i++) {
		m.host.gpus[i] = (struct host_gpu){

			.traits = {.step_pct = 1, .floor_pct = 1, .creates = true},
			.selling = true,
		};
		snprintf(m.host.gpus[i].config.name, ID_MAX, "gpu%d", i);
		fake_backend_add(&m.host.gpus[i], &fake_ops, &fakes[i]);
	}
	err.msg[0] = '\0';
	return cap_journal_open(journal_path, &m.caps.actuator.journal, NULL);
}

static int tear_down(void)
{
	for (int i = 0; i < 2; i++) {
		while (m.host.gpus[i].vgpus) {
			struct vgpu *vgpu = m.host.gpus[i].vgpus;

			host_gpu_remove(&m.host.gpus[i], vgpu);
			vgpu_free(&m.host.gpus[i], vgpu);
		}
		for (int k = 0; k < FAKES; k++)
			assert_int_equal(fakes[i].vgpus[k].attached, 0); /* none leaked */
		gpu_io_free(m.host.gpus[i].io);
	}
	cap_journal_close(m.caps.actuator.journal);
	decisions_free(m.recorder.decisions);
	alerts_free(m.recorder.alerts);
	offers_free(m.sales.offers);
	json_decref(m.store.settings.live);
	return unlink(journal_path);
}

/* Adds a vGPU to the fake GPU and to the manager. */
static struct vgpu *place_vgpu(int gpu, const char *id, int initial_cap_pct, int cap_pct)
{
	struct vgpu *vgpu = calloc(1, sizeof(*vgpu));

	assert_non_null(vgpu);
	assert_int_equal(id_copy(vgpu->contract.id, id), 0);
	(void)id_copy(vgpu->contract.gpu, m.host.gpus[gpu].config.name);
	vgpu->contract.labels = json_object();
	vgpu->contract.terms.initial_cap_pct = initial_cap_pct;
	vgpu->contract.terms.weight = 1;
	vgpu->cap.pct = vgpu->cap.expected_pct = cap_pct;
	assert_int_equal(fake_create(&fakes[gpu], id, cap_pct, NULL), 0);
	assert_int_equal(fake_attach(&fakes[gpu], id, 0, &vgpu->device, NULL), 0);
	host_gpu_insert(&m.host.gpus[gpu], vgpu);
	return vgpu;
}

static int cap_of(int gpu, const char *id)
{
	return fake_find(&fakes[gpu], id)->cap_pct;
}

/* Decisions since the last call, such as "add noted, set written", and the last explanation. */
static char decided[256], why[DECISION_WHY_MAX];

static const char *take_decisions(void)
{
	const struct decision *d;
	size_t at = 0;

	decided[0] = '\0';
	while ((d = decisions_after(m.recorder.decisions, last_seen_id))) {
		at += (size_t)snprintf(decided + at, sizeof(decided) - at, "%s%s %s",
				       at ? ", " : "", decision_kind_name(d->kind),
				       decision_result_name(d->result));
		snprintf(why, sizeof(why), "%s", d->why);
		last_seen_id = d->id;
	}
	return decided;
}

FIXTURE(set_up, tear_down)

static int add(const char *gpu, const char *id, int initial_cap_pct, int min_cap_pct)
{
	struct contract contract = {
		.terms = {.initial_cap_pct = initial_cap_pct,
			  .min_cap_pct = min_cap_pct,
			  .weight = 1},
		.labels = json_pack("{s:s}", "colour", "red"),
	};
	int r;

	(void)id_copy(contract.id, id);
	(void)id_copy(contract.gpu, gpu);
	r = await_change(control_vgpu_add(&m.changes, &no_key, 0, &contract, at_end, &err));
	if (r != 0)
		contract_fini(&contract);
	return r;
}

static int change(const char *id, unsigned int fields, struct contract values)
{
	return await_change(control_vgpu_change(&m.changes, id, fields, &values, at_end, &err));
}

#define CAP(pct) ((struct contract){.terms.initial_cap_pct = (pct)})

/* --- creation and removal --- */

FIXTURE_ONCE(make_folder, remove_folder)

TEST(a_vgpu_with_a_rejected_label_is_not_created)
{
	fakes[0].label_errno = EINVAL;
	assert_int_equal(add("gpu0", "a", 50, 0), CONTROL_E_INVALID);
	assert_non_null(strstr(change_err.msg, "colour"));
	assert_int_equal(n_saves, 2); /* the contract was stored, and taken back */
	assert_null(m.host.gpus[0].vgpus);
	assert_null(fake_find(&fakes[0], "a"));
	assert_string_equal(take_decisions(), "");
}

/* The vGPU remains on the GPU. The next tick finds it, like any vGPU without a contract. */
TEST(a_rejected_vgpu_is_detached_even_if_its_removal_fails)
{
	fakes[0].label_errno = EINVAL;
	fakes[0].destroy_errno = EBUSY;
	assert_int_equal(add("gpu0", "a", 50, 0), CONTROL_E_INVALID);
	assert_null(m.host.gpus[0].vgpus);
	assert_int_equal(fake_find(&fakes[0], "a")->attached, 0);
}

TEST(a_rejection_names_the_minimum_cap_to_start_with)
{
	place_vgpu(0, "a", 80, 80);
	assert_int_equal(add("gpu0", "b", 50, 35), CONTROL_E_DOES_NOT_FIT);
	assert_non_null(strstr(err.msg, "needs at least 35 %"));
	assert_int_equal(add("gpu0", "b", 50, 0), 0);
	assert_int_equal(add("gpu0", "c", 50, 0), CONTROL_E_DOES_NOT_FIT);
	assert_non_null(strstr(err.msg, "needs at least 10 %"));
}

TEST(a_hold_cap_without_a_hold_is_rejected)
{
	place_vgpu(0, "a", 80, 80);
	assert_int_equal(change("a", CONTRACT_HELD_CAP, (struct contract){.held_cap_pct = 40}),
			 CONTROL_E_INVALID);
	assert_non_null(strstr(err.msg, "held_cap_pct"));
	assert_string_equal(take_decisions(), "");
}

TEST(a_dry_run_records_no_decision_for_a_rejected_request)
{
	place_vgpu(0, "a", 95, 95);
	m.store.settings.dry_run = true;
	assert_int_equal(add("gpu0", "b", 50, 0), CONTROL_E_DRY_RUN);
	assert_non_null(strstr(err.msg, "dry run"));
	assert_int_equal(await_change(control_vgpu_remove(&m.changes, "a", at_end, &err)),
			 CONTROL_E_DRY_RUN);
	assert_non_null(strstr(err.msg, "dry run"));
	assert_string_equal(take_decisions(), "");
}

/* --- a contract for a vGPU found without one --- */

TEST(a_found_vgpu_gets_its_contract_and_cap)
{
	struct vgpu *a = place_vgpu(0, "a", 30, 30);

	a->found = true;
	assert_int_equal(add("gpu0", "a", 10, 0), 0);
	assert_false(a->found);
	assert_int_equal(a->contract.terms.initial_cap_pct, 10);
	assert_string_equal(json_string_value(json_object_get(a->contract.labels, "colour")),
			    "red");
	assert_int_equal(cap_of(0, "a"), 10);
	assert_string_equal(take_decisions(), "add noted, set written");
	assert_non_null(strstr(why, "a 30 -> 10 %"));
}

TEST(the_contract_of_a_found_vgpu_must_fit)
{
	struct vgpu *a = place_vgpu(0, "a", 30, 30), *b = place_vgpu(0, "b", 70, 70);

	a->found = true;
	b->contract.held = true;
	b->contract.held_cap_pct = 70;
	assert_int_equal(add("gpu0", "a", 50, 40), CONTROL_E_DOES_NOT_FIT);
	assert_non_null(strstr(err.msg, "30 %"));
	assert_true(a->found);
	assert_int_equal(a->contract.terms.initial_cap_pct, 30);
	assert_string_equal(take_decisions(), "");
}

TEST(a_found_vgpu_is_sold_on_its_own_gpu)
{
	struct vgpu *a = place_vgpu(1, "a", 30, 30);

	a->found = true;
	assert_int_equal(add("gpu0", "a", 30, 0), CONTROL_E_EXISTS);
	assert_non_null(strstr(err.msg, "gpu1"));
	assert_true(a->found);
	assert_string_equal(a->contract.gpu, "gpu1");
	assert_int_equal(add("gpu1", "a", 30, 0), 0);
	assert_string_equal(take_decisions(), "add noted");
}

TEST(an_operator_hold_does_not_sell_a_found_vgpu)
{
	struct vgpu *a = place_vgpu(0, "a", 30, 30);

	a->found = true;
	assert_int_equal(change("a", CONTRACT_HELD, (struct contract){.held = true}), 0);
	assert_true(a->found && a->contract.held);
	assert_int_equal(
		change("a", CONTRACT_TARGET_FPS, (struct contract){.terms.target_fps = 30}), 0);
	assert_false(a->found);
	assert_int_equal(change("a", CONTRACT_FPS_LIMIT, (struct contract){.fps_limit = 62.5}), 0);
	assert_true(a->contract.fps_limit == 62.5 && a->contract.held);
}

/* --- changes --- */

TEST(an_unknown_flavor_is_rejected_with_the_allowed_names)
{
	struct contract contract = {
		.id = "b",
		.gpu = "gpu0",
		.flavor = "large",
		.terms = {.initial_cap_pct = 20, .weight = 1},
	};
	struct vgpu *a = place_vgpu(0, "a", 30, 30);

	strcpy(m.store.settings.config.flavors[0].name, "small");
	m.store.settings.config.n_flavors = 1;
	assert_int_equal(await_change(control_vgpu_add(&m.changes, &no_key, CONTRACT_FLAVOR,
						       &contract, at_end, &err)),
			 CONTROL_E_INVALID);
	assert_string_equal(err.msg, "flavor: large is not allowed (allowed: default, small)");
	assert_int_equal(change("a", CONTRACT_FLAVOR, contract), CONTROL_E_INVALID);
	assert_string_equal(err.msg, "flavor: large is not allowed (allowed: default, small)");
	assert_string_equal(a->contract.flavor, "");
	assert_string_equal(take_decisions(), "");
	assert_int_equal(change("a", CONTRACT_FLAVOR, (struct contract){.flavor = "small"}), 0);
	assert_string_equal(a->contract.flavor, "small");
	assert_string_equal(take_decisions(), "set noted");
	assert_int_equal(cap_of(0, "a"), 30);
}

/* Begins a sale of vGPU "b" on GPU 0, whose request contains @fields with their @values. */
static int sell(unsigned int fields, struct contract values)
{
	(void)id_copy(values.id, "b");
	(void)id_copy(values.gpu, "gpu0");
	values.terms.weight = 1;
	err.msg[0] = '\0';
	return await_change(control_vgpu_add(&m.changes, &no_key, fields, &values, at_end, &err));
}

static void configure_small(void)
{
	m.store.settings.config.flavors[0] =
		(struct flavor){.name = "small", .cap_pct = 20, .target_fps = 30, .target_rate = 4};
	m.store.settings.config.n_flavors = 1;
	strcpy(m.store.settings.config.offer.flavor, "half");
}

TEST(the_flavour_sets_the_cap_and_the_target_that_are_missing)
{
	static const struct {
		unsigned int fields;
		struct contract values;
		int cap_pct;
		double target_fps;
	} rows[] = {
		{CONTRACT_FLAVOR, {.flavor = "small"}, 20, 30},
		{CONTRACT_FLAVOR | CONTRACT_INITIAL_CAP,
		 {.flavor = "small", .terms.initial_cap_pct = 25},
		 25,
		 30},
		{CONTRACT_FLAVOR | CONTRACT_TARGET_FPS, {.flavor = "small"}, 20, 0},
		{CONTRACT_FLAVOR, {.flavor = "half"}, 50, 0},
		{CONTRACT_FLAVOR, {.flavor = ""}, 50, 0},
		{CONTRACT_INITIAL_CAP, {.terms.initial_cap_pct = 10}, 10, 0},
	};

	configure_small();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct vgpu *b;

		assert_int_equal(sell(rows[i].fields, rows[i].values), 0);
		b = host_find_vgpu(&m.host, "b", NULL);
		assert_int_equal(b->contract.terms.initial_cap_pct, rows[i].cap_pct);
		assert_true(b->contract.terms.target_fps == rows[i].target_fps);
		assert_string_equal(b->contract.flavor, rows[i].values.flavor);
		assert_int_equal(await_change(control_vgpu_remove(&m.changes, "b", at_end, &err)),
				 0);
	}
}

TEST(a_flavour_promises_in_the_unit_of_the_gpu)
{
	static const struct {
		enum gpu_unit unit;
		unsigned int fields;
		struct contract values;
		double target_fps, target_rate;
		const char *problem; /* NULL: sold */
	} rows[] = {
		{GPU_FRAMES, 0, {.flavor = "small"}, 30, 0, NULL},
		{GPU_WORK, 0, {.flavor = "small"}, 0, 4, NULL},
		{GPU_WORK,
		 CONTRACT_TARGET_RATE,
		 {.flavor = "small", .target_rate = 2.5},
		 0,
		 2.5,
		 NULL},
		{GPU_WORK,
		 CONTRACT_TARGET_FPS,
		 {.flavor = "small", .terms.target_fps = 20},
		 0,
		 0,
		 "target_fps: 20"},
		{GPU_FRAMES,
		 CONTRACT_TARGET_RATE,
		 {.flavor = "small", .target_rate = 2.5},
		 0,
		 0,
		 "target_rate: 2.5"},
	};

	configure_small();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct vgpu *b;
		int r;

		m.host.gpus[0].state = GPU_OPEN;
		m.host.gpus[0].traits.unit = rows[i].unit;
		r = sell(CONTRACT_FLAVOR | rows[i].fields, rows[i].values);
		b = host_find_vgpu(&m.host, "b", NULL);
		assert_int_equal(r, rows[i].problem ? CONTROL_E_INVALID : 0);
		assert_int_equal(b == NULL, rows[i].problem != NULL);
		if (rows[i].problem) {
			assert_non_null(strstr(err.msg, rows[i].problem));
			continue;
		}
		assert_true(b->contract.terms.target_fps == rows[i].target_fps);
		assert_true(b->contract.target_rate == rows[i].target_rate);
		assert_int_equal(await_change(control_vgpu_remove(&m.changes, "b", at_end, &err)),
				 0);
	}
}

TEST(a_label_change_moves_no_cap)
{
	struct contract values = {.labels = json_pack("{s:s}", "colour", "blue")};
	struct vgpu *a = place_vgpu(0, "a", 60, 20);

	a->policy.window_fill = 1;
	assert_int_equal(change("a", CONTRACT_LABELS, values), 0);
	json_decref(values.labels);
	assert_string_equal(take_decisions(), "set noted");
	assert_int_equal(cap_of(0, "a"), 20);
	assert_int_equal(change("a", 0, (struct contract){.vm = ""}), 0);
	assert_string_equal(take_decisions(), ""); /* a request without fields records nothing */
}

TEST(a_smaller_contract_lowers_the_cap_and_records_it)
{
	place_vgpu(0, "a", 60, 60);
	place_vgpu(0, "b", 50, 40);
	assert_int_equal(change("a", CONTRACT_INITIAL_CAP, CAP(30)), 0);
	assert_int_equal(cap_of(0, "a"), 30);
	/* vGPU b was below its initial cap and gets the freed capacity */
	assert_int_equal(cap_of(0, "b"), 50);
	assert_string_equal(take_decisions(), "set noted, set written, return written");
}

TEST(a_larger_min_cap_raises_the_cap_without_naming_an_operator)
{
	place_vgpu(0, "a", 60, 60);
	place_vgpu(0, "b", 50, 40);
	assert_int_equal(change("b", CONTRACT_MIN_CAP, (struct contract){.terms.min_cap_pct = 45}),
			 0);
	assert_int_equal(cap_of(0, "b"), 45);
	assert_int_equal(cap_of(0, "a"), 55);
	assert_string_equal(take_decisions(), "set noted, set written");
	assert_non_null(strstr(why, "contract of b"));
	assert_null(strstr(why, "perator"));
}

TEST(a_hold_is_recorded_as_a_hold)
{
	struct contract hold = {.held = true, .held_cap_pct = 30};

	place_vgpu(0, "a", 60, 60);
	assert_int_equal(change("a", CONTRACT_HELD | CONTRACT_HELD_CAP, hold), 0);
	assert_int_equal(cap_of(0, "a"), 30);
	assert_string_equal(take_decisions(), "hold noted, hold written");
}

TEST(in_modes_without_policy_only_the_requested_cap_changes)
{
	static const enum gpu_mode modes[] = {GPU_MODE_OBSERVE, GPU_MODE_FROZEN};
	struct contract hold = {.held = true, .held_cap_pct = 40};

	place_vgpu(0, "a", 60, 60);
	place_vgpu(0, "b", 60, 30);
	place_vgpu(0, "c", 10, 10);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		m.host.gpus[0].mode = modes[i];
		assert_int_equal(change("a", CONTRACT_HELD | CONTRACT_HELD_CAP, hold), 0);
		assert_int_equal(cap_of(0, "a"), hold.held_cap_pct);
		hold.held_cap_pct -= 10;
	}
	assert_int_equal(await_change(control_vgpu_remove(&m.changes, "c", at_end, &err)), 0);
	/* vGPU b is below its initial cap, but the policy is off */
	assert_int_equal(cap_of(0, "b"), 30);
	assert_string_equal(take_decisions(), "hold noted, hold written, hold noted, hold written, "
					      "remove written");
}

/*
 * An external writer set a cap of 60 % for a contract of 50 %. The cap stays until the hold is
 * released.
 */
TEST(an_external_cap_above_the_contract_blocks_no_other_change)
{
	struct vgpu *a = place_vgpu(0, "a", 50, 60);
	struct contract values = {.vm = "vm-a"};

	a->contract.held = a->cap.foreign = true;
	a->contract.held_cap_pct = 60;
	assert_int_equal(change("a", CONTRACT_VM, values), 0);
	assert_string_equal(a->contract.vm, "vm-a");
	assert_int_equal(cap_of(0, "a"), 60);
	assert_int_equal(change("a", CONTRACT_HELD, (struct contract){.held = false}), 0);
	assert_int_equal(cap_of(0, "a"), 50);
	assert_false(a->cap.foreign);
}

/* --- parameters --- */

static int set_policy(const char *json)
{
	json_t *object = json_loads(json, 0, NULL);
	int r = await_change(control_policy_change(&m.changes, object, at_end, &err));

	json_decref(object);
	return r;
}

TEST(a_changed_parameter_is_recorded_as_a_decision)
{
	assert_int_equal(set_policy("{\"overload_pct\": 90, \"paper_mode\": true}"), 0);
	assert_string_equal(take_decisions(), "set noted");
	assert_non_null(strstr(why, "overload_pct 95 -> 90, paper_mode off -> on"));
	assert_null(strstr(why, "restart"));
	assert_string_equal(decisions_after(m.recorder.decisions, 0)->gpu, "");
	m.store.settings.dry_run = true;
	assert_int_equal(set_policy("{\"overload_pct\": 80}"), 0);
	assert_string_equal(take_decisions(), "set noted");
	assert_non_null(strstr(why, "restart"));
}

TEST(an_unchanged_parameter_is_not_recorded)
{
	assert_int_equal(set_policy("{\"overload_pct\": 95, \"paper_mode\": null}"), 0);
	assert_int_equal(set_policy("{}"), 0);
	assert_int_equal(set_policy("{\"overload_pct\": 90, \"lowload_pct\": 101}"),
			 CONTROL_E_INVALID);
	assert_string_equal(take_decisions(), "");
}

/* --- the unit of a promise and of a limit of the frame rate --- */

#define BOTH (CONTRACT_TARGET_FPS | CONTRACT_TARGET_RATE)
#define NO_LIMIT_OF_WORK                                                                           \
	"fps_limit: 62.5 is not allowed for vGPU a (allowed: 0, because GPU gpu7 counts units of " \
	"work)"

TEST(promises_and_limits_are_in_the_unit_of_the_gpu)
{
	static const struct {
		bool open;
		enum gpu_unit unit;
		unsigned int fields;
		double target_fps, target_rate, fps_limit;
		const char *problem; /* NULL: allowed */
	} rows[] = {
		{true, GPU_FRAMES, BOTH, 59.94, 0, 0, NULL},
		{true, GPU_WORK, BOTH, 0, 0.5, 0, NULL},
		{true, GPU_FRAMES, BOTH, 0, 0, 0, NULL},
		{true, GPU_WORK, BOTH, 0, 0, 0, NULL},
		{true, GPU_FRAMES, BOTH, 30, 0.5, 0,
		 "target_rate: 0.5 is not allowed for vGPU a (allowed: 0, or target_fps, because "
		 "GPU gpu7 counts frames)"},
		{true, GPU_WORK, BOTH, 30, 0.5, 0,
		 "target_fps: 30 is not allowed for vGPU a (allowed: 0, or target_rate, because "
		 "GPU gpu7 counts units of work)"},
		/* a promise that does not change */
		{true, GPU_WORK, CONTRACT_TARGET_RATE, 30, 0.5, 0, NULL},
		{true, GPU_FRAMES, CONTRACT_TARGET_FPS, 30, 0.5, 0, NULL},
		{true, GPU_WORK, CONTRACT_WEIGHT, 30, 0.5, 0, NULL},
		/* a frame rate is limited only where frames count */
		{true, GPU_FRAMES, CONTRACT_FPS_LIMIT, 0, 0, 62.5, NULL},
		{true, GPU_WORK, CONTRACT_FPS_LIMIT, 0, 0, 0, NULL},
		{true, GPU_WORK, CONTRACT_FPS_LIMIT, 0, 0, 62.5, NO_LIMIT_OF_WORK},
		/* a contract of an earlier version with a limit can change otherwise */
		{true, GPU_WORK, BOTH, 0, 0.5, 62.5, NULL},
		/* before the GPU is open, a promise shows the unit */
		{false, GPU_FRAMES, CONTRACT_FPS_LIMIT, 0, 0, 62.5, NULL},
		{false, GPU_FRAMES, CONTRACT_FPS_LIMIT, 0, 0.5, 62.5, NO_LIMIT_OF_WORK},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_gpu gpu = {.config = {.name = "gpu7"},
				       .state = rows[i].open ? GPU_OPEN : GPU_OPENING};
		const struct contract contract = {.id = "a",
						  .terms = {.target_fps = rows[i].target_fps},
						  .target_rate = rows[i].target_rate,
						  .fps_limit = rows[i].fps_limit};
		int r;

		gpu.traits.unit = rows[i].unit;
		err.msg[0] = '\0';
		r = contract_change_check_units(&gpu, rows[i].fields, &contract, &err);
		if (r != (rows[i].problem ? CONTROL_E_INVALID : 0) ||
		    strcmp(err.msg, rows[i].problem ? rows[i].problem : "") != 0)
			fail_msg("row %zu: %d, '%s'", i, r, err.msg);
	}
}

TEST(before_the_gpu_is_open_only_a_promise_in_frames_can_change)
{
	struct host_gpu gpu = {.config = {.name = "gpu7"}};
	struct contract contract = {.id = "a", .target_rate = 0.5};

	contract.terms.target_fps = 30;
	assert_int_equal(contract_change_check_units(&gpu, CONTRACT_TARGET_FPS, &contract, &err),
			 0);
	assert_int_equal(contract_change_check_units(&gpu, BOTH, &contract, &err),
			 CONTROL_E_NO_ANSWER);
}
