/* SPDX-License-Identifier: MIT */
/* Steps of `run` that do not depend on the daemon. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "gover-ctl/verb/launch.h"

const struct launch_library launch_fps = {"libgover-fps.so", "GOVER_FPS_LIB", "LD_PRELOAD"};
const struct launch_library launch_cl = {"libgover-cl.so", "GOVER_CL_LIB", "OPENCL_LAYERS"};

/* Searches the library beside the program and in the prefix of the program. */
static int search_library(const struct launch_library *library, const char *exe,
			  char path[PATH_MAX], struct err *reterr)
{
	static const char *const places[] = {"", "../lib/gover/"};
	const char *slash = strrchr(exe, '/');
	int folder = slash ? (int)(slash - exe) + 1 : 0;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int n = snprintf(path, PATH_MAX, "%.*s%s%s", folder, exe, places[i], library->name);

		if (n < PATH_MAX && access(path, R_OK) == 0)
			return 0;
	}
	return err_fail(reterr, ENOENT,
			"%s: found neither in %.*s nor in %.*s../lib/gover/; install it, or set %s",
			library->name, folder, exe, folder, exe, library->override);
}

int launch_find_library(const struct launch_library *library, const char *override, const char *exe,
			char ret_path[PATH_MAX], struct err *reterr)
{
	char path[PATH_MAX];
	int r = 0;

	if (override && override[0]) {
		snprintf(path, sizeof(path), "%s", override);
		if (access(path, R_OK) < 0)
			return err_fail(reterr, ENOENT, "%s: %s: %s", library->override, path,
					strerror(errno));
	} else {
		r = search_library(library, exe, path, reterr);
	}
	if (r < 0)
		return r;
	if (strpbrk(path, ": "))
		return err_fail(reterr, EINVAL, "%s: not usable in %s (space or colon in the path)",
				path, library->list);
	strcpy(ret_path, path);
	return 0;
}

int launch_make_list(const char *library, const char *before, char *ret_value, size_t size)
{
	bool more = before && before[0];
	int n = snprintf(ret_value, size, "%s%s%s", library, more ? ":" : "", more ? before : "");

	return n < (int)size ? 0 : -ENAMETOOLONG;
}

double launch_choose_fps_max(double target_fps)
{
	if (!(target_fps > 0))
		return 0;
	return target_fps + (target_fps > 100 ? target_fps / 100 : 1);
}

static int enter_one(const char *path, long pid, struct err *reterr)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	const char *advice = "";
	char text[24];
	int n = snprintf(text, sizeof(text), "%ld\n", pid);
	int r;

	if (fd >= 0 && write(fd, text, (size_t)n) == n)
		return 0;
	r = errno;
	if (r == EACCES || r == EPERM)
		advice = " (only root or the owner of the control group may do this)";
	return err_fail(reterr, r, "%s: %s%s", path, strerror(r), advice);
}

int launch_enter_vgpu(const json_t *vgpu, long pid, struct err *reterr)
{
	const json_t *attach = json_object_get(vgpu, "attach"), *place;
	const json_t *places = json_object_get(attach, "cgroup_procs");
	size_t i;

	if (json_array_size(places) == 0)
		return err_fail(
			reterr, EOPNOTSUPP,
			"vGPU '%s': the backend of GPU '%s' cannot run programs of this host",
			field_text(vgpu, "id"), field_text(vgpu, "gpu"));
	json_array_foreach (places, i, place) {
		const char *path = json_string_value(place);
		int r = path ? enter_one(path, pid, reterr)
			     : err_fail(reterr, EPROTO, "attach.cgroup_procs: not a path");

		if (r < 0)
			return r;
	}
	return 0;
}
