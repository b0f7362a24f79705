/* SPDX-License-Identifier: MIT */
/* Asks monitor/ for frames where the configuration says they come from. Must never wait. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/state.h"
#include "gover-d/util/log.h"

#define LOOK_EVERY_NS NS_PER_S
#define SLOW_LOOKS    30

static bool is_counted(const struct manager *m, const struct host_gpu *gpu)
{
	for (int i = 0; i < m->config.n_gpus; i++)
		if (strcmp(m->config.gpus[i].gpu.name, gpu->config.name) == 0)
			return strcmp(m->config.gpus[i].fps_source, "bpf") == 0;
	return false;
}

/* Told once, and kept for who asks later. */
static void complain(struct frames *frames, const char *text)
{
	if (strcmp(frames->error, text) == 0)
		return;
	snprintf(frames->error, sizeof(frames->error), "%s", text);
	log_warning("fps_source = bpf: %s", text);
}

void frames_open(struct manager *m)
{
	struct frames *frames = &m->frames;
	struct fps_bpf_stats stats;
	struct err err = {""};
	bool wanted = false;

	for (int i = 0; i < m->host.n_gpus; i++)
		wanted |= is_counted(m, &m->host.gpus[i]);
	if (!wanted)
		return;
	if (fps_bpf_new(&frames->bpf, &err) < 0) {
		complain(frames, err.msg);
		return;
	}
	fps_bpf_stats(frames->bpf, &stats);
	log_notice("the kernel counts frames, in %d of this host's libraries", stats.files);
}

void frames_close(struct manager *m)
{
	m->frames.bpf = fps_bpf_free(m->frames.bpf);
}

/* The first place is in the hierarchy by which the backend itself knows a vGPU's processes. */
static void take_first(void *userdata, const char *path)
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
	int r = -EOPNOTSUPP;

	if (gpu->ops->places)
		r = gpu->ops->places(gpu->gpu, id, take_first, folder);
	if (r == 0)
		r = fps_bpf_watch(frames->bpf, id, folder);
	if (r == 0)
		return;
	snprintf(text, sizeof(text), "vGPU %s: its control group's frames cannot be counted: %s",
		 id, strerror(-r));
	complain(frames, text);
}

const struct fps_totals *frames_of(struct manager *m, const struct host_gpu *gpu,
				   const struct vgpu *vgpu)
{
	struct frames *frames = &m->frames;
	const char *id = vgpu->contract.id;
	const struct fps_totals *totals;

	if (!is_counted(m, gpu))
		return m->fps ? fps_hub_totals(m->fps, id) : NULL;
	if (!frames->bpf)
		return NULL;
	totals = fps_bpf_totals(frames->bpf, id);
	if (totals)
		return totals;
	watch(frames, gpu, id);
	return fps_bpf_totals(frames->bpf, id);
}

void frames_forget(struct manager *m, const char *id)
{
	if (m->fps)
		fps_hub_forget(m->fps, id);
	if (m->frames.bpf)
		fps_bpf_forget(m->frames.bpf, id);
}

void frames_look(struct manager *m, struct instant now)
{
	struct frames *frames = &m->frames;
	char text[ERR_MSG_MAX];

	if (!frames->bpf || now.mono_ns < frames->look_ns + LOOK_EVERY_NS)
		return;
	frames->look_ns = now.mono_ns;
	if (fps_bpf_request_scan(frames->bpf)) {
		frames->slow_looks = 0;
		return;
	}
	if (++frames->slow_looks < SLOW_LOOKS)
		return;
	snprintf(text, sizeof(text),
		 "looking for new libraries hangs, perhaps in a file system of a vGPU's programs; "
		 "those that are known are counted");
	complain(frames, text);
}
