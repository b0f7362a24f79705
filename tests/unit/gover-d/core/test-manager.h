/* SPDX-License-Identifier: MIT */
/*
 * Runs the whole daemon against a fake GPU backend, which replaces "sim". The test calls each tick
 * and sets its time. The fake GPU keeps its state when the daemon restarts. An injected fault lasts
 * until the test removes it. Each test of the program runs with the fixture of this file.
 */
#ifndef TESTS_UNIT_GOVER_D_CORE_TEST_MANAGER_H
#define TESTS_UNIT_GOVER_D_CORE_TEST_MANAGER_H
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-d/core/control.h"
#include "gover-d/core/manager.h"
#include "gover-d/core/save.h"
#include "gover-d/core/state.h"
#include "gover-d/core/tick.h"
#include "tests/unit/gover-d/core/test-change.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

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
	int open_errno, opens; /* opens: number of attempts to open the GPU */
	bool auto_finds;       /* backend = auto finds the GPU */
	int list_errno;
	int n_unopenable; /* number of further vGPUs "s1", "s2", ...; opening them fails */
	int external_cap_pct[DEVICES]; /* caps set externally after the next sample; 0: none */
	int writes;		       /* number of attempted cap writes */
	bool leases, limits_memory;
} fake;

static struct gpu_vgpu *device(const char *id)
{
	assert_in_range(id[0], 'a', 'a' + DEVICES - 1);
	return &fake.devices[id[0] - 'a'];
}

static int fake_open(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	(void)config;
	fake.opens++;
	if (fake.open_errno)
		return err_fail(reterr, fake.open_errno, "no driver is loaded");
	*ret_gpu = &fake;
	return 0;
}

static void fake_close(struct gpu *gpu)
{
	(void)gpu;
}

static void fake_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = 1,
		.creates = !gpu->external_vgpus,
		.limits_memory = gpu->limits_memory,
		.counts_frames = true,
	};
}

static int fake_list(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	if (gpu->list_errno)
		return -gpu->list_errno;
	for (int i = 0; i < DEVICES; i++)
		if (gpu->devices[i].exists)
			found(userdata, (char[]){(char)('a' + i), '\0'},
			      gpu->devices[i].initial_cap_pct);
	for (int i = 1; i <= gpu->n_unopenable; i++) {
		char id[ID_MAX];

		snprintf(id, sizeof(id), "s%d", i);
		found(userdata, id, 0);
	}
	return 0;
}

static int fake_create(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	if (gpu->create_errno)
		return err_fail(reterr, gpu->create_errno, "vGPU %s cannot be made", id);
	assert_false(device(id)->exists);
	*device(id) = (struct gpu_vgpu){.exists = true, .cap_pct = cap_pct};
	return 0;
}

static int fake_destroy(struct gpu *gpu, const char *id, struct err *reterr)
{
	(void)gpu;
	if (!device(id)->exists)
		return err_fail(reterr, ENOENT, "no vGPU %s", id);
	device(id)->exists = false;
	return 0;
}

static int fake_attach(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	(void)gpu, (void)now_mono_ns;
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

		vgpu->busy_ns += passed_ns * (vgpu->demand < cap ? vgpu->demand : cap);
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

static int fake_physical(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			 uint64_t *ret_busy_ns)
{
	(void)now_mono_ns, (void)ret_at_ns, (void)ret_busy_ns;
	for (int i = 0; i < DEVICES; i++) {
		if (gpu->external_cap_pct[i])
			gpu->devices[i].cap_pct = gpu->external_cap_pct[i];
		gpu->external_cap_pct[i] = 0;
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
	.write_memory = fake_write_memory,
	.read_initial_cap = fake_read_initial_cap,
	.write_initial_cap = fake_write_initial_cap,
	.renew = fake_renew,
	.physical = fake_physical,
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

const struct gpu_ops *gpu_auto(const struct gpu_config *config)
{
	(void)config;
	return fake.auto_finds ? &fake_ops : NULL;
}

/* --- daemon --- */

static struct config config;
static struct instant now; /* the time never goes back, also when the daemon restarts */
static struct manager *m;
static struct host_gpu *gpu;
static struct err err;

static int set_up(void)
{
	memset(&fake, 0, sizeof(fake));
	if (temp_folder_make() < 0)
		return -1;
	config_default(&config);
	snprintf(config.state_dir, sizeof(config.state_dir), "%s/state", temp_folder);
	snprintf(config.socket, sizeof(config.socket), "%s/gover.sock", temp_folder);
	snprintf(config.fps_socket, sizeof(config.fps_socket), "%s/fps.sock", temp_folder);
	strcpy(config.gpus[0].gpu.backend, "sim");
	now = clock_now();
	return 0;
}

static inline void start_daemon(bool dry_run)
{
	err.msg[0] = '\0';
	assert_int_equal(manager_new(&config, dry_run, &m, &err), 0);
	assert_int_equal(manager_start(m, &err), 0);
	/* Only the test runs ticks. */
	assert_true(sd_event_source_set_enabled(m->timer, SD_EVENT_OFF) >= 0);
	gpu = &m->host.gpus[0];
	change_event = m->event;
}

static inline void start(void)
{
	start_daemon(false);
}

static inline void start_dry_run(void)
{
	start_daemon(true);
}

static inline void stop_daemon(void)
{
	m = manager_free(m);
	gpu = NULL;
}

static inline void restart(void)
{
	stop_daemon();
	start();
}

static int tear_down(void)
{
	stop_daemon();
	return temp_folder_remove();
}

FIXTURE(set_up, tear_down)

static inline void tick(int periods)
{
	while (periods-- > 0) {
		now.mono_ns += NS_PER_S;
		now.wall_ms += 1000;
		tick_run(m, now, false);
	}
}

/* Runs one tick, three periods late. */
static inline void tick_late(void)
{
	now.mono_ns += 4 * NS_PER_S;
	now.wall_ms += 4000;
	tick_run(m, now, true);
}

static inline void wait_for_saves(void)
{
	while (m->save_running)
		assert_true(sd_event_run(m->event, UINT64_MAX) >= 0);
}

static inline void save_now(void)
{
	save_soon(m);
	wait_for_saves();
}

static inline struct vgpu *vgpu(const char *id)
{
	struct vgpu *found = host_find_vgpu(&m->host, id, NULL);

	assert_non_null(found);
	return found;
}

/*
 * Skips a test that starts the daemon hundreds of times. With an emulator, a cap write of one of
 * them takes longer than its time limit.
 */
static inline void skip_with_emulator(void)
{
	if (getenv("TEST_RUNNER")) {
		print_message("# an emulator is too slow for the time limits of GPUs\n");
		skip();
	}
}

static inline struct contract contract_of(const char *id, int initial_cap_pct)
{
	struct contract contract = {
		.gpu = "gpu0",
		.terms = {.initial_cap_pct = initial_cap_pct, .weight = 1},
		.labels = json_object(),
	};

	assert_int_equal(id_copy(contract.id, id), 0);
	return contract;
}

/* Each of these functions waits for the end of the change and returns its result. */

static inline int add(struct contract contract)
{
	int r = await_change(control_vgpu_add(m, &contract, at_end, &err));

	if (r != 0)
		contract_fini(&contract);
	return r;
}

static inline int change(const char *id, unsigned int fields, struct contract values)
{
	return await_change(control_vgpu_change(m, id, fields, &values, at_end, &err));
}

static inline int set_initial_cap(const char *id, int initial_cap_pct)
{
	return change(id, CONTRACT_INITIAL_CAP,
		      (struct contract){.terms = {.initial_cap_pct = initial_cap_pct}});
}

static inline int release(const char *id)
{
	return change(id, CONTRACT_HELD, (struct contract){.held = false});
}

/* Takes ownership of @values. */
static inline int change_policy(json_t *values)
{
	int r = await_change(control_policy_change(m, values, at_end, &err));

	json_decref(values);
	return r;
}

static inline int remove_vgpu(const char *id)
{
	return await_change(control_vgpu_remove(m, id, at_end, &err));
}

static inline int change_mode(enum gpu_mode mode)
{
	return await_change(control_gpu_change(m, "gpu0", &mode, NULL, at_end, &err));
}

static inline int claim(int64_t offer, const char *key, const char *id)
{
	const struct control_claim claim = {.offer = offer, .key = key, .holder = key};
	struct contract contract = {.labels = json_object()};

	strcpy(contract.id, id);
	return await_change(control_offer_claim(m, &claim, &contract, at_end, &err));
}

static inline int hold(const char *id, int cap_pct)
{
	int r = change(id, CONTRACT_HELD | CONTRACT_HELD_CAP,
		       (struct contract){.held = true, .held_cap_pct = cap_pct});

	save_now();
	return r;
}

static inline void sell(const char *id, int initial_cap_pct, double demand)
{
	assert_int_equal(add(contract_of(id, initial_cap_pct)), 0);
	device(id)->demand = demand;
	save_now();
}

/*
 * Returns the active alert; NULL: none. @id: id of the vGPU; "": the alert is about the GPU or the
 * host; NULL: any subject.
 */
static inline const struct alert *find_active_alert(enum alert_kind kind, const char *id)
{
	for (size_t i = 0; i < alerts_count(m->alerts); i++) {
		const struct alert *alert = alerts_at(m->alerts, i);

		if (alert->kind == kind && !alert->cleared_ms &&
		    (!id || strcmp(alert->vgpu, id) == 0))
			return alert;
	}
	return NULL;
}

/* Checks that the alert is active and its text contains @words. */
static inline const struct alert *expect_alert(enum alert_kind kind, const char *id,
					       const char *words)
{
	const struct alert *alert = find_active_alert(kind, id);

	assert_non_null(alert);
	if (!strstr(alert->text, words))
		fail_msg("the alert is '%s'", alert->text);
	return alert;
}

/* Returns the live offer of the GPU, which must exist. */
static inline struct offer *live_offer(void)
{
	struct offer *offer = offers_live(m->offers, "gpu0");

	assert_non_null(offer);
	return offer;
}

static inline void expect_closed(const struct offer *offer, const char *reason)
{
	assert_int_equal(offer->life.state, OFFER_CLOSED);
	assert_non_null(strstr(offer->reason, reason));
}

/* Counts the decisions of @kind with @result. @result NULL: any result. */
static inline int count_decisions(const char *kind, const char *result)
{
	int n = 0;

	for (const struct decision *d = decisions_after(m->decisions, 0); d;
	     d = decisions_after(m->decisions, d->id))
		n += strcmp(decision_kind_name(d->kind), kind) == 0 &&
		     (!result || strcmp(decision_result_name(d->result), result) == 0);
	return n;
}

/* --- state files --- */

static inline const char *state_path(const char *name)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", config.state_dir, name);
	return path;
}

/* Checks that the last and the intended cap in the cap journal on disk are @cap_pct. */
static inline void expect_journal(const char *id, int cap_pct)
{
	struct cap_journal *journal;
	int last_pct, intent_pct;

	if (m)
		assert_int_equal(cap_journal_flush(m->actuator.journal), 0);
	assert_int_equal(cap_journal_open(state_path("caps"), &journal, &err), 0);
	assert_true(cap_journal_get(journal, id, &last_pct, &intent_pct));
	assert_int_equal(last_pct, cap_pct);
	assert_int_equal(intent_pct, cap_pct);
	cap_journal_close(journal);
}

static inline void delete_contracts_file(void)
{
	assert_int_equal(unlink(state_path("contracts.json")), 0);
}

static inline void delete_database(void)
{
	assert_int_equal(unlink(state_path("history.db")), 0);
}

static inline void change_database(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(state_path("history.db"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline char *read_state(const char *name)
{
	char *text = NULL;

	assert_int_equal(file_read(state_path(name), 1 << 20, &text, NULL), 0);
	return text;
}

/* Checks whether the contracts file contains @text, without running the event loop. */
static inline bool contracts_file_contains(const char *text)
{
	CLEANUP_FREE char *file = NULL;

	return file_read(state_path("contracts.json"), 1 << 20, &file, NULL) == 0 &&
	       strstr(file, text);
}

static inline void write_contracts(const char *text)
{
	assert_int_equal(file_replace(state_path("contracts.json"), text, strlen(text)), 0);
}

static inline bool state_file_exists(const char *name)
{
	return access(state_path(name), F_OK) == 0;
}

/*
 * Stops the daemon as SIGTERM does, with a last save. stop_daemon() alone leaves the files as after
 * a crash.
 */
static inline void stop_by_sigterm(void)
{
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(manager_run(m), 0);
	stop_daemon();
}

#endif
