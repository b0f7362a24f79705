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
#include "gover-ctl/doctor/cgroup.h"
#include "gover-ctl/installation.h"

#define MOUNTS_MAX (1024 * 1024)

enum access { ACCESS_UNKNOWN, ACCESS_WRITABLE, ACCESS_READ_ONLY, ACCESS_OTHER_USER };

/* Returns true if a list of controllers such as "cpuset cpu io" contains "cpu". */
static bool has_cpu(const char *controllers)
{
	for (const char *at = controllers; (at = strstr(at, "cpu")); at += 3)
		if ((at == controllers || at[-1] == ' ') && strchr(" \n", at[3]))
			return true;
	return false;
}

/*
 * Finds the folder of the cpu controller: /sys/fs/cgroup for control groups v2, a folder below it
 * for v1. Returns -ENOENT if there is no such folder.
 */
static int find_cpu_controller(const struct doctor_input *input, char ret_path[PATH_MAX])
{
	static const char *const v1[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
	CLEANUP_FREE char *controllers = NULL;
	char path[PATH_MAX];

	doctor_under_root(input, "/sys/fs/cgroup/cgroup.controllers", path);
	if (file_read(path, 4096, &controllers, NULL) == 0 && has_cpu(controllers)) {
		doctor_under_root(input, "/sys/fs/cgroup", ret_path);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(v1); i++) {
		doctor_under_root(input, v1[i], ret_path);
		if (access(ret_path, F_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

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
static enum access find_access(const struct doctor_input *input, const char *path)
{
	const struct installation *i = input->installation;
	enum access found = i && i->pid ? read_mounts(i->pid, path) : ACCESS_UNKNOWN;

	if (!i || found == ACCESS_READ_ONLY || i->source != INSTALLATION_UNIT)
		return found;
	if (found == ACCESS_UNKNOWN && i->unit.protects_cgroups)
		return ACCESS_READ_ONLY;
	return i->unit.user[0] && strcmp(i->unit.user, "root") != 0 ? ACCESS_OTHER_USER
								    : ACCESS_WRITABLE;
}

/* Advises the drop-in of the backend; the examples are in the prefix of gover-ctl. */
static void advise_drop_in(const struct doctor_input *input, const char *text,
			   struct doctor_finding *finding)
{
	const char *backend = doctor_uses_backend(input, "lib") ? "lib" : "softgpu";
	const char *slash = strrchr(input->exe, '/');
	char examples[PATH_MAX], resolved[PATH_MAX];

	snprintf(examples, sizeof(examples), "%.*s/../share/gover/examples",
		 slash ? (int)(slash - input->exe) : 0, input->exe);
	if (!realpath(examples, resolved))
		strcpy(resolved, "/usr/share/gover/examples");
	doctor_advise(finding, DOCTOR_FAIL, text,
		      "install the drop-in: sudo install -D -m 644 -t "
		      "/etc/systemd/system/gover-.service.d %.200s/%s.conf && sudo systemctl "
		      "daemon-reload && sudo systemctl restart gover-d",
		      resolved, backend);
}

static void judge_writable(const char *path, bool used, struct doctor_finding *finding)
{
	bool writable = access(path, W_OK) == 0;
	enum doctor_state missing = used ? DOCTOR_FAIL : DOCTOR_WARN;

	if (writable)
		doctor_find(finding, DOCTOR_OK, "", "control groups for vGPUs can be created in %s",
			    path);
	else if (errno == EROFS)
		doctor_find(finding, missing,
			    "in a container: mount control groups read-write and delegate the cpu "
			    "controller (systemd: Delegate=cpu)",
			    "control groups for vGPUs: %s is mounted read-only on this host", path);
	else
		doctor_find(finding, missing,
			    "run gover-d as root, or delegate a control group to it",
			    "control groups for vGPUs: folder %s cannot be written: %s", path,
			    strerror(errno));
}

void doctor_cgroup_check(const struct doctor_input *input, struct doctor_finding *finding)
{
	bool used = doctor_uses_backend(input, "softgpu") || doctor_uses_backend(input, "lib");
	char path[PATH_MAX], text[PATH_MAX + 192];
	enum access seen;

	if (find_cpu_controller(input, path) < 0) {
		doctor_find(
			finding, used ? DOCTOR_FAIL : DOCTOR_WARN,
			"in a container: delegate the cpu controller (systemd: Delegate=cpu)",
			"control groups have no cpu controller: backends softgpu and lib cannot "
			"work");
		return;
	}
	seen = find_access(input, path);
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
			 input->installation->unit.user, path);
		break;
	case ACCESS_WRITABLE:
		doctor_find(finding, DOCTOR_OK, "", "control groups for vGPUs can be created in %s",
			    path);
		return;
	case ACCESS_UNKNOWN:
		judge_writable(path, used, finding);
		return;
	}
	if (used)
		advise_drop_in(input, text, finding);
	else
		finding->state = DOCTOR_SKIPPED; /* the sandbox of a host with other backends */
}
