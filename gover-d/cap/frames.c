/* SPDX-License-Identifier: MIT */
/* Reads the frame counts of each vGPU from the source that the configuration names. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "gover-d/cap/frames.h"
#include "gover-d/config/config.h"
#include "gover-d/util/log.h"
#include "monitor/fps/fps.h"

#define SCAN_INTERVAL_NS NS_PER_S
#define SLOW_SCANS_MAX	 30
/* Equal to the priority of REST (http.c), so that a flood of one does not block the other. */
#define FPS_PRIORITY (SD_EVENT_PRIORITY_NORMAL + 10)

static bool is_counted(const struct config *config, const struct host_gpu *gpu)
{
	for (int i = 0; i < config->n_gpus; i++)
		if (strcmp(config->gpus[i].gpu.name, gpu->config.name) == 0)
			return strcmp(config->gpus[i].fps_source, "bpf") == 0;
	return false;
}

/* Logs a new problem once and stores it for status queries. */
static void log_problem(struct frames *frames, const char *text)
{
	if (strcmp(frames->error, text) == 0)
		return;
	snprintf(frames->error, sizeof(frames->error), "%s", text);
	log_warning("fps_source = bpf: %s", text);
}

static int owner_of(void *userdata, pid_t pid, char ret_id[ID_MAX])
{
	const struct host *host = userdata;

	for (int i = 0; i < host->n_gpus; i++) {
		const struct host_gpu *gpu = &host->gpus[i];

		if (gpu_io_owner(gpu->io, pid, ret_id) == 0)
			return 0;
	}
	return -ENOENT;
}

/*
 * Finds the vGPU of a guest by @name (a vGPU or a virtual machine) or by @cid. If two contracts
 * have the same VM or CID, no vGPU is found, so that no report counts for the wrong tenant.
 */
static int vm_of(void *userdata, uint32_t cid, const char *name, char ret_id[ID_MAX])
{
	const struct host *host = userdata;
	const struct vgpu *found = name ? host_view_vgpu(host, name, NULL) : NULL;

	if (found)
		return id_copy(ret_id, found->contract.id);
	for (int i = 0; i < host->n_gpus; i++) {
		for (const struct vgpu *v = host->gpus[i].vgpus; v; v = v->next) {
			if (name ? strcmp(v->contract.vm, name) != 0 : v->contract.cid != cid)
				continue;
			if (found)
				return -ENOENT;
			found = v;
		}
	}
	return found ? id_copy(ret_id, found->contract.id) : -ENOENT;
}

static int on_report(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	fps_hub_dispatch(userdata);
	return 0;
}

static int open_hub(struct frames *frames, struct host *host, sd_event *event, struct err *reterr)
{
	const struct config *config = frames->config;
	int r;

	r = fps_hub_new(config->fps_socket, owner_of, host, &frames->hub, reterr);
	if (r < 0)
		return r;
	r = fps_hub_listen_guests(frames->hub, (uint32_t)config->fps_vsock_port, config->fps_ports,
				  vm_of, reterr);
	if (r < 0)
		return r;
	r = sd_event_add_io(event, &frames->source, fps_hub_fd(frames->hub), EPOLLIN, on_report,
			    frames->hub);
	if (r >= 0)
		r = sd_event_source_set_priority(frames->source, FPS_PRIORITY);
	return r < 0 ? err_fail(reterr, -r, "event loop: %s", strerror(-r)) : 0;
}

static void open_bpf(struct frames *frames, const struct host *host)
{
	struct fps_bpf_stats stats;
	struct err err = {""};
	bool wanted = false;

	for (int i = 0; i < host->n_gpus; i++)
		wanted |= is_counted(frames->config, &host->gpus[i]);
	if (!wanted)
		return;
	if (fps_bpf_new(&frames->bpf, &err) < 0) {
		log_problem(frames, err.msg);
		return;
	}
	fps_bpf_stats(frames->bpf, &stats);
	log_notice("the kernel counts frames in %d libraries of this host", stats.files);
}

int frames_open(struct frames *frames, const struct config *config, struct host *host,
		sd_event *event, struct err *reterr)
{
	int r;

	frames->config = config;
	r = open_hub(frames, host, event, reterr);
	if (r >= 0)
		open_bpf(frames, host);
	return r;
}

void frames_close(struct frames *frames)
{
	frames->bpf = fps_bpf_free(frames->bpf);
	frames->source = sd_event_source_unref(frames->source);
	frames->hub = fps_hub_free(frames->hub);
}

/* Stores the folder of the first path. This folder is the control group of the vGPU. */
static void store_folder(void *userdata, const char *path)
{
	char *folder = userdata;
	const char *slash = strrchr(path, '/');

	if (folder[0] == '\0' && slash && slash - path < PATH_MAX) {
		memcpy(folder, path, (size_t)(slash - path));
		folder[slash - path] = '\0';
	}
}

static void watch(struct frames *frames, const struct host_gpu *gpu, const char *id)
{
	char folder[PATH_MAX] = "", text[ERR_MSG_MAX];
	int r = gpu_io_places(gpu->io, id, store_folder, folder);

	if (r == 0)
		r = fps_bpf_watch(frames->bpf, id, folder);
	if (r == 0)
		return;
	snprintf(text, sizeof(text),
		 "vGPU %s: the frames of its control group cannot be counted: %s", id,
		 strerror(-r));
	log_problem(frames, text);
}

const struct fps_totals *frames_of(struct frames *frames, const struct host_gpu *gpu,
				   const struct vgpu *vgpu)
{
	const char *id = vgpu->contract.id;
	const struct fps_totals *totals;

	/* Reported frames are no units of work. */
	if (host_gpu_unit(gpu, &vgpu->contract) == GPU_WORK)
		return NULL;
	if (!is_counted(frames->config, gpu))
		return frames->hub ? fps_hub_totals(frames->hub, id) : NULL;
	if (!frames->bpf)
		return NULL;
	totals = fps_bpf_totals(frames->bpf, id);
	if (totals)
		return totals;
	watch(frames, gpu, id);
	return fps_bpf_totals(frames->bpf, id);
}

void frames_forget(struct frames *frames, const char *id)
{
	if (frames->hub)
		fps_hub_forget(frames->hub, id);
	if (frames->bpf)
		fps_bpf_forget(frames->bpf, id);
}

void frames_scan(struct frames *frames, struct instant now)
{
	char text[ERR_MSG_MAX];

	if (now.mono_ns < frames->scan_ns + SCAN_INTERVAL_NS)
		return;
	frames->scan_ns = now.mono_ns;
	if (fps_bpf_request_scan(frames->bpf)) {
		frames->slow_scans = 0;
		return;
	}
	if (++frames->slow_scans < SLOW_SCANS_MAX)
		return;
	snprintf(text, sizeof(text),
		 "the search for new libraries hangs, perhaps in a file system of a vGPU; frames "
		 "of known libraries are still counted");
	log_problem(frames, text);
}
