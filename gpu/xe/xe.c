/* SPDX-License-Identifier: MIT */
/*
 * Intel GPUs with SR-IOV: a vGPU is an enabled virtual function. Its cap is a time slice in the
 * round of all functions (quanta.h), its busy time comes from the PMU of the physical function
 * (usage.h). Never enables or disables a virtual function: the administrator writes sriov_numvfs.
 *
 * Stopping a GPU leaves quanta and priorities unchanged. docs/sriov.md lists all files.
 *
 * What happens with the slice of a function that has no work: with priority normal the function
 * keeps it, so that caps are limits; with priority low the next function has its turn, so that caps
 * are guarantees. The driver has one setting for all functions (the physical function alone may
 * also have priority high). Older drivers have the policy sched_if_idle instead.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gpu/gpu.h"
#include "gpu/xe/functions.h"
#include "gpu/xe/pmu.h"
#include "gpu/xe/xe.h"

#define SHARING_MAX	 16
#define SHARING_TEXT_MAX 64

/* In a longer time, total ticks must grow. A shorter one may be within a step of the counters. */
#define STILL_NS 50000000

/* The words of the driver for each sharing. */
static const struct {
	const char *sharing;
	const char *priority; /* sched_priority */
	const char *if_idle;  /* sched_if_idle */
} words[] = {
	{"guarantee", "low", "0"},
	{"hard", "normal", "1"},
	{"high", "high", NULL},
};

/* Cuts the text to the word in brackets: "[low] normal" becomes "low". */
static int cut_choice(char *text)
{
	char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (!end)
		return -EINVAL;
	*end = '\0';
	memmove(text, begin + 1, strlen(begin + 1) + 1);
	return 0;
}

static int name_of(enum xe_sharing_form form, const char *text, const char **ret_name)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *word =
			form == XE_SHARING_PRIORITY ? words[i].priority : words[i].if_idle;

		if (word && strcmp(word, text) == 0) {
			*ret_name = words[i].sharing;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_priority(const struct xe_place *place, int vf, const char **ret_name)
{
	struct xe_files files = {.n = 0};
	char text[SHARING_TEXT_MAX];
	int r = xe_files_open(place, vf, "sched_priority", &files);

	if (r == 0)
		r = xe_files_read_text(&files, text, sizeof(text));
	xe_files_close(&files);
	if (r == 0)
		r = cut_choice(text);
	return r < 0 ? r : name_of(XE_SHARING_PRIORITY, text, ret_name);
}

static int read_if_idle(const struct xe_place *place, const char **ret_name)
{
	struct xe_files files = {.n = 0};
	char text[SHARING_TEXT_MAX];
	int r = xe_files_open_sharing(place, &files);

	if (r == 0)
		r = xe_files_read_text(&files, text, sizeof(text));
	xe_files_close(&files);
	return r < 0 ? r : name_of(XE_SHARING_IF_IDLE, text, ret_name);
}

/*
 * Reads the setting of functions 0 to @n_vfs as "hard", "guarantee", "high" (the physical function
 * has priority over all others) or "mixed". Returns a negative errno; -EOPNOTSUPP: the driver has
 * no such setting.
 */
static int read_sharing(const struct xe_place *place, int n_vfs, char ret_word[SHARING_MAX])
{
	const char *name = "", *other;
	bool if_idle = place->layout->form == XE_SHARING_IF_IDLE;
	int r = if_idle ? read_if_idle(place, &name) : read_priority(place, 0, &name);

	for (int vf = 1; vf <= n_vfs && r == 0 && !if_idle; vf++) {
		r = read_priority(place, vf, &other);
		if (r == 0 && strcmp(name, other) != 0 && strcmp(name, "high") != 0)
			name = "mixed";
	}
	if (r == -ENOENT)
		return -EOPNOTSUPP;
	if (r == -EUCLEAN) {
		name = "mixed"; /* a write repairs it */
		r = 0;
	}
	if (r == 0)
		snprintf(ret_word, SHARING_MAX, "%s", name);
	return r;
}

static int write_sharing(const struct xe_place *place, bool guarantee)
{
	size_t row = guarantee ? 0 : 1;
	struct xe_files files = {.n = 0};
	int r = xe_files_open_sharing(place, &files);

	if (r == 0)
		r = xe_files_write_text(&files, place->layout->form == XE_SHARING_PRIORITY
							? words[row].priority
							: words[row].if_idle);
	xe_files_close(&files);
	return r == -ENOENT ? -EOPNOTSUPP : r;
}

struct gpu {
	struct xe_functions functions;
	char root[GPU_ROOT_MAX]; /* of sysfs */
	struct err lost;	 /* why the driver cannot be found again; "": it is bound */
	char device[PATH_MAX];	 /* path of the device in sysfs; "": unknown */
	double speed;
	bool dry_run;
	bool guarantees;
	const char *word;   /* the sharing that this daemon has set; NULL: none */
	struct xe_pmu *pmu; /* NULL: no busy times */
	/* why counters of some or all functions are not read; 0: all are read */
	int pmu_errno;
	struct backoff pmu_opening;
	/* Counters of all functions are read together, so that their sums are of one instant. */
	struct xe_usage usage[XE_VFS_MAX + 1];
	struct xe_counts counts[XE_VFS_MAX + 1]; /* of the last reading */
	bool counted[XE_VFS_MAX + 1];		 /* xe_pmu_add() has succeeded */
	uint64_t read_ns;			 /* time of the last reading; 0: none */
	bool counting;
	struct xe_rate rate;
};

struct gpu_vgpu {
	struct gpu *gpu;
	int vf;
	ino_t link;
	uint64_t taken_ns; /* time of the last reading that was given out */
};

/* --- counters --- */

static void drop_events(struct gpu *gpu, int vf)
{
	xe_pmu_remove(gpu->pmu, vf);
	gpu->counted[vf] = false;
	gpu->usage[vf].valid = gpu->usage[vf].known = false;
}

/*
 * Opens the events of new functions, and closes those of functions that are gone. Returns the first
 * error.
 */
static int follow_functions(struct gpu *gpu)
{
	int r = 0;

	for (int vf = 0; gpu->pmu && vf <= XE_VFS_MAX; vf++) {
		bool wanted = vf <= gpu->functions.n;
		int r_one = 0;

		if (wanted == gpu->counted[vf])
			continue;
		if (wanted)
			r_one = xe_pmu_add(gpu->pmu, vf);
		else
			drop_events(gpu, vf);
		gpu->counted[vf] = wanted && r_one == 0;
		r = r == 0 ? r_one : r;
	}
	return r;
}

static void close_counters(struct gpu *gpu)
{
	for (int vf = 0; gpu->pmu && vf <= XE_VFS_MAX; vf++)
		drop_events(gpu, vf);
	xe_pmu_close(gpu->pmu);
	gpu->pmu = NULL;
}

/*
 * Opens the counters that are not open. The next attempt is later, even if this one succeeds,
 * because the first reading may fail. The counters of the physical function fail only if those of
 * the device do.
 */
static void open_counters(struct gpu *gpu, uint64_t now_ns)
{
	int r = 0;

	if (!backoff_is_due(&gpu->pmu_opening, now_ns))
		return;
	backoff_fail(&gpu->pmu_opening, now_ns);
	if (gpu->pmu && !gpu->counted[0])
		close_counters(gpu);
	if (!gpu->pmu)
		r = xe_pmu_open(&gpu->functions.place, &xe_perf_kernel, &gpu->pmu);
	if (r == 0)
		r = follow_functions(gpu);
	gpu->pmu_errno = -r;
}

/* Reads the counters of all functions, and adds the time since the last reading to each. */
static void count(struct gpu *gpu, uint64_t now_ns)
{
	static const struct xe_counts none;
	struct xe_usage *usages[XE_VFS_MAX + 1];
	double dt_ns = gpu->counting ? (double)(now_ns - gpu->read_ns) * gpu->speed : 0;
	int n = gpu->functions.n + 1, error = 0, r;

	if (gpu->pmu_errno)
		open_counters(gpu, now_ns);
	if (!gpu->pmu || (gpu->counting && now_ns <= gpu->read_ns))
		return;
	for (int vf = 0; vf < n; vf++) {
		usages[vf] = &gpu->usage[vf];
		gpu->counts[vf] = none;
		r = gpu->counted[vf] ? xe_pmu_read(gpu->pmu, vf, &gpu->counts[vf]) : 0;
		if (r < 0)
			drop_events(gpu, vf);
		error = r < 0 ? -r : error;
	}
	if (!xe_usage_advance(usages, gpu->counts, n, dt_ns, &gpu->rate) && dt_ns >= STILL_NS) {
		close_counters(gpu);
		error = ENODATA;
	}
	if (error)
		gpu->pmu_errno = error;
	else if (!gpu->pmu_errno && dt_ns >= STILL_NS)
		backoff_reset(&gpu->pmu_opening);
	gpu->read_ns = now_ns;
	gpu->counting = true;
}

/* The driver was unbound. Finds it again if it was bound again meanwhile. */
static int find_driver(struct gpu *gpu)
{
	struct xe_place *place = xmalloc(sizeof(*place));
	int r = xe_place_find(gpu->root, gpu->functions.place.pci, place, &gpu->lost);

	if (r == 0) {
		r = xe_functions_reopen(&gpu->functions, place);
		if (r < 0)
			(void)err_fail(&gpu->lost, -r, "exec_quantum_ms: %s", xe_error_text(r));
	}
	free(place);
	if (r < 0)
		return -ENODEV;
	gpu->lost.msg[0] = '\0';
	close_counters(gpu);
	gpu->pmu_errno = ENODEV;
	backoff_reset(&gpu->pmu_opening);
	return 0;
}

/* Finds the enabled functions. The time until now belongs to the earlier set. */
static int find(struct gpu *gpu)
{
	int r = xe_functions_exist(&gpu->functions) ? 0 : find_driver(gpu);

	if (r == 0)
		r = xe_functions_find(&gpu->functions);
	if (r > 0 && !gpu->pmu_errno)
		gpu->pmu_errno = -follow_functions(gpu);
	return r;
}

/* What the errors of the counters mean; others have the text of strerror(). */
static const struct {
	int error;
	const char *text;
} pmu_texts[] = {
	{ENOENT, "this kernel or driver counts no ticks of functions (Linux 6.16 or later does)"},
	{EACCES, "the permission is missing (CAP_PERFMON, or kernel.perf_event_paranoid = 0)"},
	{ENODATA, "they do not grow"},
};

static void describe_problem(const struct gpu *gpu, struct err *ret_problem)
{
	const char *text = strerror(gpu->pmu_errno);

	if (gpu->lost.msg[0]) {
		*ret_problem = gpu->lost;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(pmu_texts); i++)
		if (pmu_texts[i].error == gpu->pmu_errno)
			text = pmu_texts[i].text;
	if (gpu->pmu_errno)
		(void)err_fail(ret_problem, gpu->pmu_errno, "the counters of ticks: %s", text);
}

/* --- opening --- */

static bool xe_present(const struct gpu_config *config)
{
	struct xe_place *place = xmalloc(sizeof(*place));
	bool present = xe_place_all(gpu_sysfs(config), place, 1) > 0;

	if (present && config->parent[0])
		present = xe_place_find(gpu_sysfs(config), config->parent, place, NULL) == 0;
	free(place);
	return present;
}

static int or_default(int value, int other)
{
	return value > 0 ? value : other;
}

static int set_up(struct gpu *gpu, const struct gpu_config *config, struct err *reterr)
{
	struct xe_functions *functions = &gpu->functions;
	int r = xe_place_find(gpu_sysfs(config), config->parent, &functions->place, reterr);

	if (r < 0)
		return r;
	functions->limits = (struct xe_quanta_limits){
		.least_ms = or_default(config->least_slice_ms, XE_LEAST_SLICE_MS),
		.longest_ms = or_default(config->longest_round_ms, XE_LONGEST_ROUND_MS),
		.tolerance_pt = XE_TOLERANCE_PT,
	};
	functions->preempt_timeout_us =
		(uint32_t)or_default(config->preempt_timeout_ms, XE_PREEMPT_TIMEOUT_MS) * 1000;
	if (config->state_dir[0] &&
	    snprintf(functions->memory, sizeof(functions->memory), "%s/xe-%s.caps",
		     config->state_dir, functions->place.pci) >= (int)sizeof(functions->memory))
		return err_fail(reterr, ENAMETOOLONG, "state_dir: too long");
	return xe_functions_open(functions, reterr);
}

static int open_gpu(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	struct gpu *gpu = xcalloc(1, sizeof(*gpu));
	int r;

	gpu->speed = gpu_speed(config);
	gpu->dry_run = config->dry_run;
	snprintf(gpu->root, sizeof(gpu->root), "%s", gpu_sysfs(config));
	r = set_up(gpu, config, reterr);
	if (r < 0) {
		free(gpu);
		return r;
	}
	if (!realpath(gpu->functions.place.device, gpu->device))
		gpu->device[0] = '\0';
	open_counters(gpu, 0);
	*ret_gpu = gpu;
	return 0;
}

static void close_gpu(struct gpu *gpu)
{
	if (!gpu)
		return;
	xe_pmu_close(gpu->pmu);
	xe_functions_close(&gpu->functions);
	free(gpu);
}

static void get_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	const struct xe_quanta_limits *limits = &gpu->functions.limits;

	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = (100 * limits->least_ms + limits->longest_ms - 1) / limits->longest_ms,
		.min_interval_ms = limits->longest_ms, /* a cap is in effect within one round */
		.share = GPU_HARD_CAP,
		.guarantees = gpu->guarantees,
		.no_ceiling = true,
		.sysfs_device = gpu->device[0] ? gpu->device : NULL,
	};
}

/* --- sharing --- */

/* As keep_sharing() of gvt.c: takes the sharing in force. Returns 1 with a message, or 0. */
static int keep_sharing(struct gpu *gpu, const char *is, struct err *reterr)
{
	bool guarantee = strcmp(is, "guarantee") == 0;

	if (!gpu->dry_run && (guarantee || strcmp(is, "hard") == 0 || strcmp(is, "mixed") == 0))
		return 0;
	gpu->guarantees = guarantee;
	(void)err_fail(reterr, EBUSY,
		       "%s: the functions have sharing %s, and %s does not change it",
		       gpu->functions.place.pci, is, gpu->dry_run ? "a dry run" : "sharing = auto");
	return 1;
}

static int set_sharing(struct gpu *gpu, bool guarantee, bool by_default, struct err *reterr)
{
	const char *word = gpu_sharing_name(guarantee);
	const struct xe_place *place = &gpu->functions.place;
	char is[SHARING_MAX];
	int r = read_sharing(place, gpu->functions.n, is);

	gpu->word = NULL;
	if (r == 0 && strcmp(is, word) != 0 && (by_default || gpu->dry_run) &&
	    keep_sharing(gpu, is, reterr) > 0)
		return 1;
	if (r == 0 && strcmp(is, word) != 0)
		r = write_sharing(place, guarantee);
	if (r < 0)
		return err_fail(reterr, -r, "sharing = %s: %s of GPU %s cannot be set: %s", word,
				place->layout->sharing, place->pci,
				r == -EOPNOTSUPP ? "the driver has no such file"
						 : xe_error_text(r));
	gpu->guarantees = guarantee;
	gpu->word = gpu->dry_run ? NULL : word;
	return 0;
}

static int renew_sharing(struct gpu *gpu, char ret_was[GPU_SHARING_MAX])
{
	char is[SHARING_MAX];
	int r;

	if (!gpu->word)
		return 0;
	r = read_sharing(&gpu->functions.place, gpu->functions.n, is);
	if (r < 0 || strcmp(is, gpu->word) == 0)
		return r;
	snprintf(ret_was, GPU_SHARING_MAX, "%s", is);
	r = write_sharing(&gpu->functions.place, gpu->guarantees);
	return r < 0 ? r : 1;
}

/* --- list --- */

static int list_vgpus(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	int r = find(gpu);

	if (r < 0)
		return gpu_gone_or(r);
	if (!gpu->dry_run)
		(void)xe_functions_balance(&gpu->functions); /* the next listing tries again */
	for (int vf = 1; vf <= gpu->functions.n; vf++)
		found(userdata, gpu->functions.all[vf].id, 0);
	return 0;
}

static int create_vgpu(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	(void)cap_pct;
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s: gover cannot create virtual functions (write their number to "
			"/sys/bus/pci/devices/%s/sriov_numvfs)",
			id, gpu->functions.place.pci);
}

static int destroy_vgpu(struct gpu *gpu, const char *id, struct err *reterr)
{
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s: gover cannot remove virtual functions (write 0 to "
			"/sys/bus/pci/devices/%s/sriov_numvfs)",
			id, gpu->functions.place.pci);
}

/* --- one vGPU --- */

static int attach_vgpu(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct gpu_vgpu *vgpu;
	int cap_pct, vf, r = find(gpu);

	vf = xe_functions_index(&gpu->functions, id);
	if (r >= 0 && vf == 0)
		return err_fail(reterr, ENOENT,
				"vGPU %s is not an enabled virtual function of GPU %s", id,
				gpu->functions.place.pci);
	if (r >= 0)
		r = xe_functions_read_cap(&gpu->functions, vf, gpu->functions.all[vf].link,
					  &cap_pct);
	if (r < 0)
		return err_fail(reterr, r == -ENODEV ? ENOENT : -r,
				"vGPU %s: exec_quantum_ms cannot be read: %s", id,
				xe_error_text(r));
	vgpu = xmalloc(sizeof(*vgpu));
	*vgpu = (struct gpu_vgpu){
		.gpu = gpu, .vf = vf, .link = gpu->functions.all[vf].link, .taken_ns = now_mono_ns};
	count(gpu, now_mono_ns); /* the first reading then has a busy time */
	*ret_vgpu = vgpu;
	return 0;
}

static void detach_vgpu(struct gpu_vgpu *vgpu)
{
	free(vgpu);
}

static uint64_t get_identity(const struct gpu_vgpu *vgpu)
{
	return vgpu->link;
}

static int read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	return xe_functions_read_cap(&vgpu->gpu->functions, vgpu->vf, vgpu->link, ret_cap_pct);
}

/*
 * The first vGPU of a sweep reads the counters of all; the others take their part of this reading.
 */
static int read_vgpu(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading)
{
	struct gpu *gpu = vgpu->gpu;
	const struct xe_usage *usage = &gpu->usage[vgpu->vf];
	struct gpu_reading reading = {.cap_valid = false};
	int r = read_cap(vgpu, &reading.cap_pct);

	if (r == -ENODEV)
		return r;
	reading.cap_valid = r == 0;
	reading.cap_errno = -r;
	if (gpu->read_ns <= vgpu->taken_ns || now_mono_ns > gpu->read_ns + XE_READING_NS)
		count(gpu, now_mono_ns);
	vgpu->taken_ns = gpu->pmu ? gpu->read_ns : now_mono_ns;
	reading.at_ns = (uint64_t)((double)vgpu->taken_ns * gpu->speed);
	reading.busy_valid = usage->valid;
	reading.busy_ns = (uint64_t)usage->busy_ns;
	reading.sched_ns = (uint64_t)usage->sched_ns;
	*ret_reading = reading;
	return 0;
}

static int write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	(void)now_mono_ns;
	if (cap_pct < 1 || cap_pct > 100)
		return -EINVAL;
	return xe_functions_write_cap(&vgpu->gpu->functions, vgpu->vf, vgpu->link, cap_pct);
}

/*
 * The driver resets a function that is disabled: it then has no limit. An administrator may write a
 * quantum before the function is enabled again, which is not an external change of its cap.
 */
static int read_initial_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	const struct xe_function *function = &vgpu->gpu->functions.all[vgpu->vf];

	if (function->link != vgpu->link)
		return -ENODEV;
	*ret_cap_pct = function->first_cap_pct;
	return 0;
}

/* The busy time of all functions together. */
static int physical(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
		    uint64_t *ret_busy_ns)
{
	double busy_ns = 0;

	(void)now_mono_ns;
	if (!gpu->pmu || !gpu->usage[0].valid)
		return -ENODATA;
	for (int vf = 0; vf <= gpu->functions.n; vf++)
		busy_ns += gpu->usage[vf].busy_ns;
	*ret_at_ns = (uint64_t)((double)gpu->read_ns * gpu->speed);
	*ret_busy_ns = (uint64_t)busy_ns;
	return 0;
}

static void get_round(const struct gpu *gpu, struct gpu_round *ret_round)
{
	struct gpu_round round = {.round_ms = 0};
	struct xe_round is;

	xe_functions_round(&gpu->functions, &is);
	if (gpu->functions.steered && is.total_ms > 0)
		round = (struct gpu_round){
			.round_ms = (int)is.total_ms,
			.longest_wait_ms = (int)is.wait_ms,
			.host_share_pct = 100.0 * is.pf_ms / is.total_ms,
		};
	*ret_round = round;
}

const struct gpu_ops gpu_xe_ops = {
	.name = "xe",
	.checks = gpu_xe_checks,
	.present = xe_present,
	.open = open_gpu,
	.close = close_gpu,
	.traits = get_traits,
	.list = list_vgpus,
	.create = create_vgpu,
	.destroy = destroy_vgpu,
	.attach = attach_vgpu,
	.detach = detach_vgpu,
	.identity = get_identity,
	.read = read_vgpu,
	.write_cap = write_cap,
	.read_cap = read_cap,
	.set_sharing = set_sharing,
	.renew_sharing = renew_sharing,
	/* not supported: with guarantees, the driver gives idle time to any function with work */
	.write_ceiling = NULL,
	.read_initial_cap = read_initial_cap,
	.physical = physical,
	.problem = describe_problem,
	.round = get_round,
};
