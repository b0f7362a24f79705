/* SPDX-License-Identifier: MIT */
/* Opens and closes the configured GPUs, and starts intel_gpu_top for Intel GPUs. */
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "gover-d/cap/actuate.h"
#include "gover-d/cap/gpus.h"
#include "gover-d/util/log.h"
#include "monitor/igt.h"

#define IGT_PATH     "/usr/bin/intel_gpu_top"
#define OPEN_WAIT_NS (2 * NS_PER_S) /* limit for opening all GPUs at the start */

/* Adds the GPU to the host and begins to open it. */
static int begin_open(struct host *host, const struct config *conf, int index, bool dry_run,
		      struct err *reterr)
{
	const struct gpu_section *section = &conf->gpus[index];
	struct host_gpu *gpu = &host->gpus[host->n_gpus];
	struct gpu_config config = section->gpu;
	struct err inner = {""};
	int r;

	config.dry_run = dry_run;
	config.paper_mode = conf->params.paper_mode;
	if (strlen(conf->state_dir) < sizeof(config.state_dir))
		memcpy(config.state_dir, conf->state_dir, strlen(conf->state_dir) + 1);
	r = gpu_io_new(&config, &host->patience, &gpu->io, &inner);
	if (r < 0)
		return err_fail(reterr, -r, "GPU %s cannot be opened: %s", config.name, inner.msg);
	gpu->config = section->gpu;
	gpu->paper_mode = config.paper_mode;
	host_gpu_set_mode(gpu, GPU_MODE_ACT, /* selling= */ true, (struct since){.at_ms = 0});
	/* until the GPU is open; no backend has smaller steps */
	gpu->traits = (struct gpu_traits){.step_pct = 1, .floor_pct = 1};
	host->n_gpus++;
	return 0;
}

static void log_sharing(const struct host_gpu *gpu)
{
	const char *why = gpu_io_sharing_why(gpu->io);

	if (gpu->traits.observes) {
		log_notice("GPU %s: its vGPUs are only observed, because no cap can be set; busy "
			   "times come from %s",
			   gpu->config.name, gpu->traits.truth);
		return;
	}
	log_notice("GPU %s: its sharing is %s%s%s", gpu->config.name,
		   gpu_sharing_name(gpu->traits.guarantees), why[0] ? ": " : "", why);
}

/* Takes over the result of opening, see gpu_io_wait_open(). @ret_why: why the GPU is not open. */
static int end_open(struct host_gpu *gpu, uint64_t until_ns, struct err *ret_why)
{
	int r = gpu_io_wait_open(gpu->io, until_ns, ret_why);

	if (r == -EINPROGRESS)
		return err_fail(ret_why, -r, "it does not answer");
	if (r < 0 && ret_why->msg[0] == '\0')
		return err_fail(ret_why, -r, "%s",
				r == -ENODEV ? "backend auto found no vGPU scheduler on this host"
					     : strerror(-r));
	if (r < 0)
		return r;
	if (r > 0)
		log_notice("GPU %s: %s", gpu->config.name, ret_why->msg);
	gpu->state = GPU_OPEN;
	gpu_io_traits(gpu->io, &gpu->traits);
	host_gpu_set_mode(gpu, gpu->mode, gpu->selling, gpu->frozen_since);
	snprintf(gpu->config.backend, sizeof(gpu->config.backend), "%s", gpu_io_backend(gpu->io));
	log_sharing(gpu);
	return 0;
}

/* Plans the next attempt. The same reason is logged once. */
static void note_closed(struct host_gpu *gpu, const struct err *why, struct instant now)
{
	if (strcmp(gpu->open_error.msg, why->msg) != 0)
		log_error("GPU %s cannot be opened: %s; the daemon tries again", gpu->config.name,
			  why->msg);
	gpu->open_error = *why;
	gpu->state = GPU_CLOSED;
	backoff_fail(&gpu->reopening, now.mono_ns);
}

/* True if backend = auto found no GPU, and no earlier daemon has used one. */
static bool is_absent(const struct host_gpu *gpu, int r, const struct contracts *known)
{
	return r == -ENODEV && strcmp(gpu->config.backend, "auto") == 0 &&
	       !contracts_know_gpu(known, gpu->config.name);
}

static void swap(struct host_gpu *a, struct host_gpu *b)
{
	struct host_gpu other = *a;

	*a = *b;
	*b = other;
}

/* Moves the GPU behind the GPUs of the host, to those that gpus_find_absent() looks for. */
static void set_aside(struct host *host, int index, const struct err *why)
{
	log_notice("GPU %s: %s", host->gpus[index].config.name, why->msg);
	host->gpus[index].open_error = *why; /* it is not logged again */
	note_closed(&host->gpus[index], why, clock_now());
	host->n_gpus--;
	host->n_absent++;
	for (int i = index; i < host->n_gpus; i++)
		swap(&host->gpus[i], &host->gpus[i + 1]);
}

/*
 * Ends the start if the configuration cannot be right: a key has a value that this GPU does not
 * have. Any other error can end by itself: a driver is loaded, or a permission is granted.
 */
static bool is_final(int r)
{
	return r == -EINVAL || r == -ENAMETOOLONG || r == -EBUSY;
}

int gpus_open(struct host *host, const struct config *config, const struct contracts *known,
	      bool dry_run, struct err *reterr)
{
	uint64_t until_ns = clock_now().mono_ns + OPEN_WAIT_NS;
	int r = 0;

	/* Begin with all GPUs first, so that one that hangs does not delay the others. */
	for (int i = 0; r >= 0 && i < config->n_gpus; i++)
		r = begin_open(host, config, i, dry_run, reterr);
	for (int i = 0; r >= 0 && i < host->n_gpus; i++) {
		struct host_gpu *gpu = &host->gpus[i];
		struct err why = {""};

		r = end_open(gpu, until_ns, &why);
		if (is_final(r))
			return err_fail(reterr, -r, "GPU %s cannot be opened: %s", gpu->config.name,
					why.msg);
		if (is_absent(gpu, r, known))
			set_aside(host, i--, &why);
		else if (r == -EINPROGRESS)
			log_warning("GPU %s cannot be opened: %s; the daemon starts without it",
				    gpu->config.name, why.msg);
		else if (r < 0)
			note_closed(gpu, &why, clock_now());
		r = 0;
	}
	return r;
}

int gpus_open_some(struct host *host, const struct config *config, const struct contracts *known)
{
	uint64_t until_ns = clock_now().mono_ns + OPEN_WAIT_NS;
	struct err err = {""};
	int failed = 0;

	for (int i = 0; i < config->n_gpus; i++) {
		if (begin_open(host, config, i, /* dry_run= */ false, &err) == 0)
			continue;
		log_error("%s", err.msg);
		failed++;
	}
	for (int i = 0; i < host->n_gpus; i++) {
		struct host_gpu *gpu = &host->gpus[i];
		struct err why = {""};
		int r = end_open(gpu, until_ns, &why);

		if (is_absent(gpu, r, known)) {
			set_aside(host, i--, &why);
		} else if (r < 0) {
			log_error("GPU %s cannot be opened: %s", gpu->config.name, why.msg);
			failed++;
		}
	}
	return failed;
}

bool gpus_retry_open(struct host_gpu *gpu, struct instant now)
{
	struct err why = {""};
	int r;

	if (gpu->state == GPU_CLOSED) {
		if (!backoff_is_due(&gpu->reopening, now.mono_ns))
			return false;
		gpu->state = GPU_OPENING;
		gpu_io_reopen(gpu->io);
	}
	r = end_open(gpu, 0, &why);
	if (r == -EINPROGRESS)
		return false;
	if (r < 0) {
		note_closed(gpu, &why, now);
		return false;
	}
	log_notice("GPU %s answers and is open now", gpu->config.name);
	return true;
}

struct host_gpu *gpus_find_absent(struct host *host, struct instant now)
{
	struct host_gpu *next = &host->gpus[host->n_gpus];

	for (int i = 0; i < host->n_absent; i++) {
		if (!gpus_retry_open(&next[i], now))
			continue;
		if (i > 0)
			swap(next, &next[i]);
		host->n_gpus++;
		host->n_absent--;
		return next;
	}
	return NULL;
}

void gpus_describe_problem(const struct host_gpu *gpu, int period_ms, struct instant now,
			   char ret_text[ERR_MSG_MAX])
{
	bool open = gpu->state == GPU_OPEN;
	const char *name = gpu->config.name, *why = open ? gpu->problem.msg : gpu->open_error.msg;
	const char *colon = why[0] ? ": " : "";
	double silent_s = (double)gpu_io_silent_ns(gpu->io) / NS_PER_S;
	const size_t size = ERR_MSG_MAX;

	ret_text[0] = '\0';
	if (gpu->telemetry_valid)
		text_append(ret_text, size, "%s", why);
	else if (silent_s > 0)
		text_append(ret_text, size, "GPU %s has not answered for %.0f s", name, silent_s);
	else if (gpu->state == GPU_CLOSED)
		text_append(ret_text, size,
			    "GPU %s cannot be opened%s%s; the next attempt is in %.0f s", name,
			    colon, why, ceil(backoff_left_s(&gpu->reopening, now.mono_ns)));
	else if (!open)
		text_append(ret_text, size, "GPU %s cannot be opened%s%s; an attempt is running",
			    name, colon, why);
	else if (gpu->list_errno)
		text_append(ret_text, size, "the vGPUs of GPU %s cannot be listed: %s", name,
			    why[0] ? why : strerror(-gpu->list_errno));
	else if (gpu->missed_sweeps)
		text_append(ret_text, size,
			    "the readings on GPU %s take %.2f s, too long for a period of %.2f s",
			    name, gpu->sweep_s, period_ms / 1000.0);
	else
		text_append(ret_text, size, "busy time on GPU %s cannot be read%s%s", name, colon,
			    why);
}

void gpus_follow_paper_mode(struct host_gpu *gpu, bool paper_mode)
{
	struct err err = {""};
	int r;

	if (gpu->state != GPU_OPEN || !gpu_chooses_sharing(&gpu->config))
		return;
	r = gpu_io_choose_sharing(gpu->io, paper_mode, &err);
	if (r < 0 && r != gpu->sharing_errno)
		log_error("GPU %s: its sharing cannot be changed: %s", gpu->config.name, err.msg);
	gpu->sharing_errno = r;
	if (r < 0)
		return;
	gpu->paper_mode = paper_mode;
	gpu_io_traits(gpu->io, &gpu->traits);
	actuate_forget_ceilings(gpu);
	log_sharing(gpu);
}

void gpus_close(struct host *host)
{
	for (int i = host->n_gpus + host->n_absent; i-- > 0;) {
		struct host_gpu *gpu = &host->gpus[i];

		while (gpu->vgpus) {
			struct vgpu *vgpu = gpu->vgpus;

			host_gpu_remove(gpu, vgpu);
			vgpu_free(gpu, vgpu);
		}
		gpu->igt = igt_free(gpu->igt);
		gpu->io = gpu_io_free(gpu->io);
	}
	host->n_gpus = host->n_absent = 0;
}

/* --- intel_gpu_top --- */

/* Returns the setting intel_gpu_top of this GPU: "auto", "off" or a path. */
static const char *igt_setting(const struct config *config, const struct host_gpu *gpu)
{
	for (int i = 0; i < config->n_gpus; i++)
		if (strcmp(config->gpus[i].gpu.name, gpu->config.name) == 0)
			return config->gpus[i].intel_gpu_top;
	return "off";
}

/* The perf counters are named "i915" or, on a host with several Intel GPUs, "i915_ADDRESS". */
static bool intel_gpu_present(void)
{
	glob_t found;
	bool present = glob("/sys/bus/event_source/devices/i915*", 0, NULL, &found) == 0;

	globfree(&found);
	return present;
}

/* The setting "auto" starts intel_gpu_top if the backend cannot read the physical utilisation. */
static bool igt_wanted(const struct host_gpu *gpu)
{
	if (gpu_io_has_physical(gpu->io) || !intel_gpu_present())
		return false;
	if (access(IGT_PATH, X_OK) == 0)
		return true;
	log_notice(
		"GPU %s: physical utilisation is unknown: %s is missing (package intel-gpu-tools)",
		gpu->config.name, IGT_PATH);
	return false;
}

/* Returns the device argument of intel_gpu_top; NULL: intel_gpu_top uses its default GPU. */
static const char *igt_device(const struct host_gpu *gpu, char text[PATH_MAX])
{
	const char *path = gpu->traits.sysfs_device;

	return path && snprintf(text, PATH_MAX, "sys:%s", path) < PATH_MAX ? text : NULL;
}

void gpus_open_igt(struct host_gpu *gpu, const struct config *config)
{
	const char *path = igt_setting(config, gpu);
	struct err err = {""};
	char device[PATH_MAX];

	if (strcmp(path, "auto") == 0)
		path = igt_wanted(gpu) ? IGT_PATH : "off";
	if (strcmp(path, "off") == 0)
		return;
	gpu->igt = igt_new(path, igt_device(gpu, device), config->period_ms);
	if (igt_start(gpu->igt, &err) < 0)
		log_warning("GPU %s: %s", gpu->config.name, err.msg);
}

void gpus_dispatch_igt(struct host_gpu *gpu, struct instant now)
{
	struct err err = {""};

	if (igt_dispatch(gpu->igt, now.mono_ns, &err) < 0)
		log_warning("GPU %s: %s", gpu->config.name, err.msg);
}
