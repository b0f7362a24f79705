/* SPDX-License-Identifier: MIT */
/* Opens and closes the configured GPUs, and starts intel_gpu_top for Intel GPUs. */
#include <errno.h>
#include <stdio.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gover-d/core/gpus.h"
#include "gover-d/util/log.h"
#include "monitor/igt.h"

#define IGT_PATH     "/usr/bin/intel_gpu_top"
#define OPEN_WAIT_NS (2 * NS_PER_S)  /* limit for opening all GPUs at the start */
#define REOPEN_NS    (10 * NS_PER_S) /* time between two attempts to open a GPU */

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
	gpu->mode = GPU_MODE_ACT;
	gpu->selling = true;
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

/* Takes over the result of opening, see gpu_io_wait_open(). */
static int end_open(struct host_gpu *gpu, uint64_t until_ns, struct err *reterr)
{
	struct err inner = {""};
	int r = gpu_io_wait_open(gpu->io, until_ns, &inner);

	if (r < 0)
		return err_fail(reterr, -r, "GPU %s cannot be opened: %s", gpu->config.name,
				r == -EINPROGRESS ? "it does not answer"
				: inner.msg[0]	  ? inner.msg
						  : strerror(-r));
	if (r > 0)
		log_notice("GPU %s: %s", gpu->config.name, inner.msg);
	gpu->open = true;
	gpu_io_traits(gpu->io, &gpu->traits);
	if (gpu->traits.observes)
		gpu->mode = GPU_MODE_OBSERVE;
	snprintf(gpu->config.backend, sizeof(gpu->config.backend), "%s", gpu_io_backend(gpu->io));
	log_sharing(gpu);
	return 0;
}

/* True if backend = auto found no GPU. */
static bool is_absent(const struct host_gpu *gpu, int r)
{
	return r == -ENODEV && strcmp(gpu->config.backend, "auto") == 0;
}

static void drop(struct host *host, int index)
{
	log_notice("GPU %s: backend auto found no vGPU scheduler on this host",
		   host->gpus[index].config.name);
	gpu_io_free(host->gpus[index].io);
	host->n_gpus--;
	memmove(&host->gpus[index], &host->gpus[index + 1],
		(size_t)(host->n_gpus - index) * sizeof(host->gpus[0]));
	memset(&host->gpus[host->n_gpus], 0, sizeof(host->gpus[0]));
}

int gpus_open(struct host *host, const struct config *config, bool dry_run, struct err *reterr)
{
	uint64_t until_ns = clock_now().mono_ns + OPEN_WAIT_NS;
	int r = 0;

	/* Begin with all GPUs first, so that one that hangs does not delay the others. */
	for (int i = 0; r >= 0 && i < config->n_gpus; i++)
		r = begin_open(host, config, i, dry_run, reterr);
	for (int i = 0; r >= 0 && i < host->n_gpus; i++) {
		struct err err = {""};

		r = end_open(&host->gpus[i], until_ns, &err);
		if (is_absent(&host->gpus[i], r)) {
			drop(host, i--);
			r = 0;
		} else if (r == -EINPROGRESS) {
			log_warning("%s; the daemon starts without it", err.msg);
			host->gpus[i].open_errno = r;
			r = 0;
		} else if (r < 0) {
			(void)err_fail(reterr, -r, "%s", err.msg);
		}
	}
	return r;
}

int gpus_open_some(struct host *host, const struct config *config)
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
		int r = end_open(&host->gpus[i], until_ns, &err);

		if (is_absent(&host->gpus[i], r)) {
			drop(host, i--);
		} else if (r < 0) {
			log_error("%s", err.msg);
			failed++;
		}
	}
	return failed;
}

bool gpus_retry_open(struct host_gpu *gpu, struct instant now)
{
	struct err err = {""};
	int r;

	if (gpu->open_retry_ns) {
		if (now.mono_ns < gpu->open_retry_ns)
			return false;
		gpu->open_retry_ns = 0;
		gpu_io_reopen(gpu->io);
	}
	r = end_open(gpu, 0, &err);
	if (r == -EINPROGRESS)
		return false;
	if (r < 0) {
		if (r != gpu->open_errno)
			log_error("%s", err.msg);
		gpu->open_retry_ns = now.mono_ns + REOPEN_NS;
	} else {
		log_notice("GPU %s answers and is open now", gpu->config.name);
	}
	gpu->open_errno = r;
	return r >= 0;
}

void gpus_follow_paper_mode(struct host_gpu *gpu, bool paper_mode)
{
	struct err err = {""};
	int r;

	if (!gpu->open || gpu->paper_mode == paper_mode || !gpu_chooses_sharing(&gpu->config))
		return;
	r = gpu_io_choose_sharing(gpu->io, paper_mode, &err);
	if (r < 0 && r != gpu->sharing_errno)
		log_error("GPU %s: its sharing cannot be changed: %s", gpu->config.name, err.msg);
	gpu->sharing_errno = r;
	if (r < 0)
		return;
	gpu->paper_mode = paper_mode;
	gpu_io_traits(gpu->io, &gpu->traits);
	/* A ceiling is written with guarantees only. */
	for (struct vgpu *v = gpu->vgpus; v; v = v->next)
		v->ceiling_pct = 0;
	log_sharing(gpu);
}

void gpus_close(struct host *host)
{
	for (int i = host->n_gpus; i-- > 0;) {
		struct host_gpu *gpu = &host->gpus[i];

		while (gpu->vgpus) {
			struct vgpu *vgpu = gpu->vgpus;

			host_gpu_remove(gpu, vgpu);
			vgpu_free(gpu, vgpu);
		}
		gpu->igt = igt_free(gpu->igt);
		gpu->io = gpu_io_free(gpu->io);
	}
	host->n_gpus = 0;
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

int gpus_open_igt(struct host_gpu *gpu, const struct config *config, struct err *reterr)
{
	const char *path = igt_setting(config, gpu);
	char device[PATH_MAX];
	int r;

	if (strcmp(path, "auto") == 0)
		path = igt_wanted(gpu) ? IGT_PATH : "off";
	if (strcmp(path, "off") == 0)
		return 0;
	r = igt_new(path, igt_device(gpu, device), config->period_ms, &gpu->igt, reterr);
	return r < 0 ? r : igt_start(gpu->igt, reterr);
}

void gpus_dispatch_igt(struct host *host, struct instant now)
{
	struct err err = {""};

	for (int i = 0; i < host->n_gpus; i++)
		if (host->gpus[i].igt && igt_dispatch(host->gpus[i].igt, now.mono_ns, &err) < 0)
			log_warning("GPU %s: %s", host->gpus[i].config.name, err.msg);
}
