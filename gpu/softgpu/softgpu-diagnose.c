/* SPDX-License-Identifier: MIT */
/*
 * The check of control groups. The daemon may see them differently than this program: its unit can
 * mount them read-only. The mounts of the running daemon decide; if they cannot be read, the
 * properties of the unit.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/linux/cgroup.h"
#include "base/xalloc.h"
#include "gpu/diagnose.h"
#include "gpu/gpu.h"
#include "gpu/softgpu/softgpu.h"

#define MOUNTS_MAX (1024 * 1024)

enum access { ACCESS_UNKNOWN, ACCESS_WRITABLE, ACCESS_READ_ONLY, ACCESS_OTHER_USER };

/* Returns true if the mount point @point contains @path. */
static bool contains(const char *point, const char *path)
{
	size_t n = strlen(point);

	return strncmp(point, path, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/*
 * Finds the mount of @path in the mounts of process @pid: the last of the longest mount points that
 * contain it.
 */
static enum access read_mounts(pid_t pid, const char *path)
{
	enum access found = ACCESS_UNKNOWN;
	CLEANUP_FREE char *text = NULL;
	char file[64], *rest = NULL;
	size_t longest = 0;

	snprintf(file, sizeof(file), "/proc/%ld/mountinfo", (long)pid);
	if (file_read(file, MOUNTS_MAX, &text, NULL) < 0)
		return ACCESS_UNKNOWN;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char point[PATH_MAX], options[256];

		if (sscanf(line, "%*s %*s %*s %*s %4095s %255s", point, options) != 2 ||
		    !contains(point, path) || strlen(point) < longest)
			continue;
		longest = strlen(point);
		found = strncmp(options, "ro", 2) == 0 && strchr(",", options[2]) ? ACCESS_READ_ONLY
										  : ACCESS_WRITABLE;
	}
	return found;
}

/* Finds out how the daemon sees the folder @path. */
static enum access find_access(const struct gpu_host *host, const char *path)
{
	enum access found = host->pid ? read_mounts(host->pid, path) : ACCESS_UNKNOWN;

	if (found == ACCESS_READ_ONLY || !host->unit)
		return found;
	if (found == ACCESS_UNKNOWN && host->protects_cgroups)
		return ACCESS_READ_ONLY;
	return host->user[0] && strcmp(host->user, "root") != 0 ? ACCESS_OTHER_USER
								: ACCESS_WRITABLE;
}

/* Advises the drop-in of the backend; the examples are in the prefix of this program. */
static void advise_drop_in(const struct gpu_host *host, const char *text, struct finding *finding)
{
	const char *backend = diagnose_uses(host, "lib") ? "lib" : "softgpu";
	const char *slash = strrchr(host->exe, '/');
	char examples[PATH_MAX], resolved[PATH_MAX];

	snprintf(examples, sizeof(examples), "%.*s/../share/gover/examples",
		 slash ? (int)(slash - host->exe) : 0, host->exe);
	if (!realpath(examples, resolved))
		strcpy(resolved, "/usr/share/gover/examples");
	finding_advise(finding, FINDING_FAIL, text,
		       "install the drop-in: sudo install -D -m 644 -t "
		       "/etc/systemd/system/gover-.service.d %.200s/%s.conf && sudo systemctl "
		       "daemon-reload && sudo systemctl restart gover-d",
		       resolved, backend);
}

static void judge_writable(const char *path, bool used, struct finding *finding)
{
	bool writable = access(path, W_OK) == 0;
	enum finding_state missing = used ? FINDING_FAIL : FINDING_WARN;

	if (writable)
		finding_set(finding, FINDING_OK, "",
			    "control groups for vGPUs can be created in %s", path);
	else if (errno == EROFS)
		finding_set(finding, missing,
			    "in a container: mount control groups read-write and delegate the cpu "
			    "controller (systemd: Delegate=cpu)",
			    "control groups for vGPUs: %s is mounted read-only on this host", path);
	else
		finding_set(finding, missing,
			    "run gover-d as root, or delegate a control group to it",
			    "control groups for vGPUs: folder %s cannot be written: %s", path,
			    strerror(errno));
}

static void check_cgroups(const struct gpu_host *host, struct finding *finding)
{
	bool used = diagnose_uses(host, "softgpu") || diagnose_uses(host, "lib");
	CLEANUP_FREE struct cgroup_host *cgroups = xmalloc(sizeof(*cgroups));
	char mountinfo[PATH_MAX], text[PATH_MAX + 192];
	const char *path = cgroups->mounts[0].path;
	enum access seen;
	struct err err;

	diagnose_path(host, CGROUP_MOUNTINFO, mountinfo);
	if (cgroup_find(mountinfo, cgroups, &err) < 0) {
		finding_set(
			finding, used ? FINDING_FAIL : FINDING_WARN,
			"in a container: delegate the cpu controller (systemd: Delegate=cpu)",
			"control groups have no cpu controller: backends softgpu and lib cannot "
			"work");
		return;
	}
	seen = find_access(host, path);
	if (access(path, W_OK) < 0 && errno == EROFS)
		seen = ACCESS_UNKNOWN; /* read-only for all programs, not only for the daemon */
	switch (seen) {
	case ACCESS_READ_ONLY:
		snprintf(text, sizeof(text),
			 "control groups are read-only for gover-d (%s): it cannot create vGPUs",
			 path);
		break;
	case ACCESS_OTHER_USER:
		snprintf(text, sizeof(text),
			 "gover-d.service runs as user %s, which may not create control groups in "
			 "%s",
			 host->user, path);
		break;
	case ACCESS_WRITABLE:
		finding_set(finding, FINDING_OK, "",
			    "control groups for vGPUs can be created in %s", path);
		return;
	case ACCESS_UNKNOWN:
		judge_writable(path, used, finding);
		return;
	}
	if (used)
		advise_drop_in(host, text, finding);
	else
		finding->state = FINDING_SKIPPED; /* the sandbox of a host with other backends */
}

const struct gpu_check gpu_softgpu_checks[] = {{"cgroups", check_cgroups}, {NULL, NULL}};
