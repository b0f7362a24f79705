/* SPDX-License-Identifier: MIT */
/*
 * Reads the facts of a running program from /proc. The environment is that with which the program
 * was started. Paths are those that the program sees (/proc/PID/root). The owner of the program is
 * untrusted: each file is read up to a limit.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "gover-ctl/doctor/counting.h"

#define TEXT_MAX	(8 << 20)
#define LIBRARY_MAX	(64 << 20)
#define PRELOAD		"libgover-fps.so"
#define DEFAULT_FPS	"unix:/run/gover/fps.sock" /* FPS_DEFAULT_SOCKET of the library */
#define CGROUPS		"/sys/fs/cgroup"
#define STATE_CONNECTED 3 /* in /proc/net/unix */

/* Reads a file of the process; the caller frees it. NULL: it cannot be read. */
static char *read_proc(pid_t pid, const char *name, size_t *ret_length)
{
	char path[PATH_MAX], *text = NULL;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return file_read(path, TEXT_MAX, &text, ret_length) < 0 ? NULL : text;
}

static bool path_in_root(pid_t pid, const char *path, char ret_path[PATH_MAX])
{
	return snprintf(ret_path, PATH_MAX, "/proc/%d/root/%s", (int)pid, path) < PATH_MAX;
}

/* A relative path, or a name that the loader searches, counts as existing. */
static bool exists(pid_t pid, const char *path)
{
	char full[PATH_MAX];
	struct stat st;

	return path[0] != '/' || (path_in_root(pid, path, full) && stat(full, &st) == 0);
}

static const char *variable(const char *environment, size_t length, const char *name)
{
	size_t name_length = strlen(name);

	for (const char *at = environment; at < environment + length; at += strlen(at) + 1)
		if (strncmp(at, name, name_length) == 0 && at[name_length] == '=')
			return at + name_length + 1;
	return NULL;
}

/* Returns true if the file of a library names a function that presents frames. */
static bool names_present(pid_t pid, const char *library)
{
	CLEANUP_FREE char *text = NULL;
	char path[PATH_MAX];
	size_t length = 0;

	return library[0] == '/' && path_in_root(pid, library, path) &&
	       file_read(path, LIBRARY_MAX, &text, &length) == 0 &&
	       (memmem(text, length, "glXSwapBuffers", 15) ||
		memmem(text, length, "eglSwapBuffers", 15));
}

static void read_preload(const char *list, struct counting_facts *facts)
{
	CLEANUP_FREE char *copy = xstrdup(list);
	char *rest = NULL;

	for (char *at = strtok_r(copy, ": ", &rest); at; at = strtok_r(NULL, ": ", &rest)) {
		const char *slash = strrchr(at, '/');

		if (strcmp(slash ? slash + 1 : at, PRELOAD) == 0) {
			snprintf(facts->preload, sizeof(facts->preload), "%s", at);
			facts->preload_exists = exists(facts->pid, at);
			return;
		}
		if (!facts->earlier[0] && names_present(facts->pid, at))
			snprintf(facts->earlier, sizeof(facts->earlier), "%s", at);
	}
	facts->earlier[0] = '\0'; /* the library is not in the list */
}

static void read_environment(const char *environment, size_t length, struct counting_facts *facts)
{
	const char *fps = variable(environment, length, "GOVER_FPS");
	const char *list = variable(environment, length, "LD_PRELOAD");
	const char *sandbox = variable(environment, length, "GOVER_SANDBOX");

	snprintf(facts->fps, sizeof(facts->fps), "%s", fps ? fps : DEFAULT_FPS);
	facts->trusts_filter = sandbox && strcmp(sandbox, "errno") == 0;
	if (strncmp(facts->fps, "unix:", 5) == 0) {
		snprintf(facts->socket, sizeof(facts->socket), "%s", facts->fps + 5);
		facts->socket_exists = exists(facts->pid, facts->socket);
	}
	if (list)
		read_preload(list, facts);
}

static void read_maps(const char *maps, struct counting_facts *facts)
{
	static const char *const gpu[] = {"/libGL.so", "/libGLX.so", "/libEGL.so", "/libvulkan.so",
					  "/libGLESv2.so"};

	facts->dynamic = strstr(maps, "/ld-linux") || strstr(maps, "/ld-musl") ||
			 strstr(maps, "/ld64.so") || strstr(maps, "/ld-2.");
	facts->loaded = strstr(maps, "/" PRELOAD) || strstr(maps, "/libgover-fps-layer.so");
	facts->counted = strstr(maps, "/memfd:gover-fps") != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(gpu); i++)
		facts->uses_gpu = facts->uses_gpu || strstr(maps, gpu[i]);
}

/* The words of the auxiliary vector are as wide as those of the program. */
static void read_privileges(const char *auxv, size_t length, struct counting_facts *facts)
{
	size_t word = facts->narrow ? sizeof(uint32_t) : sizeof(uint64_t);

	for (size_t at = 0; at + 2 * word <= length; at += 2 * word) {
		uint64_t type = 0, value = 0;

		memcpy(&type, auxv + at, word);
		memcpy(&value, auxv + at + word, word);
		if (type == AT_SECURE)
			facts->privileged = value != 0;
	}
}

/* Returns true if the line of an inode in /proc/net/unix is that of a connected packet socket. */
static bool is_packet_socket(const char *sockets, unsigned long inode)
{
	const char *line = sockets;
	unsigned long found;
	unsigned int type, state;

	while ((line = strchr(line, '\n'))) {
		line++;
		if (sscanf(line, "%*s %*s %*s %*s %x %x %lu", &type, &state, &found) == 3 &&
		    found == inode)
			return type == SOCK_SEQPACKET && state == STATE_CONNECTED;
	}
	return false;
}

static long limit_of_files(pid_t pid)
{
	CLEANUP_FREE char *text = read_proc(pid, "limits", NULL);
	const char *line = text ? strstr(text, "Max open files") : NULL;
	long limit;

	return line && sscanf(line, "Max open files %ld", &limit) == 1 ? limit : LONG_MAX;
}

static void read_files(struct counting_facts *facts)
{
	CLEANUP_FREE char *sockets = read_proc(facts->pid, "net/unix", NULL);
	char path[64], target[64];
	const struct dirent *entry;
	unsigned long inode;
	long n = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)facts->pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		ssize_t length =
			readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

		if (length < 0)
			continue;
		n++;
		target[length] = '\0';
		if (sockets && sscanf(target, "socket:[%lu]", &inode) == 1)
			facts->connected = facts->connected || is_packet_socket(sockets, inode);
	}
	if (folder)
		(void)closedir(folder);
	facts->out_of_files = n >= limit_of_files(facts->pid);
}

/* Returns true if the control group @group is @folder of the mounted groups, or below it. */
static bool is_group(const char *group, const char *folder)
{
	size_t length = strlen(folder);

	return length > 1 && strncmp(group, folder, length) == 0 &&
	       (group[length] == '\0' || group[length] == '/');
}

/* @procs: path of cgroup.procs. @groups: lines NUMBER:CONTROLLERS:GROUP of the process. */
static bool is_in_vgpu(const char *groups, const char *procs)
{
	char folder[PATH_MAX], *slash;
	const char *below;

	if (strncmp(procs, CGROUPS "/", sizeof(CGROUPS)) != 0 ||
	    snprintf(folder, sizeof(folder), "%s", procs + sizeof(CGROUPS) - 1) >= PATH_MAX)
		return false;
	slash = strrchr(folder, '/');
	*slash = '\0';
	below = folder[0] ? strchr(folder + 1, '/') : NULL; /* version 1: below its controller */
	for (const char *line = groups; line && line[0]; line = strchr(line, '\n')) {
		char group[PATH_MAX];

		line += line[0] == '\n';
		if (sscanf(line, "%*[^:]:%*[^:]:%4095[^\n]", group) != 1 &&
		    sscanf(line, "%*[^:]::%4095[^\n]", group) != 1)
			continue;
		if (is_group(group, folder) || (below && is_group(group, below)))
			return true;
	}
	return false;
}

static void find_vgpu(const char *groups, const json_t *vgpus, struct counting_facts *facts)
{
	const json_t *vgpu, *procs;
	size_t i, j;

	facts->vgpu = COUNTING_VGPU_NONE;
	json_array_foreach (json_object_get(vgpus, "vgpus"), i, vgpu) {
		json_array_foreach (
			json_object_get(json_object_get(vgpu, "attach"), "cgroup_procs"), j, procs)
			if (is_in_vgpu(groups, json_string_value(procs)))
				facts->vgpu = COUNTING_VGPU_FOUND;
	}
}

static void read_status(const char *status, struct counting_facts *facts)
{
	const char *line = strstr(status, "\nSeccomp:");

	(void)sscanf(status, "Name: %63s", facts->name);
	facts->filtered = line && strtol(line + sizeof("\nSeccomp:") - 1, NULL, 10) == 2;
}

static bool is_narrow(pid_t pid)
{
	char path[64], head[EI_NIDENT];
	CLEANUP_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = file_open(path, O_RDONLY, 0);
	return fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
	       head[EI_CLASS] == ELFCLASS32;
}

/* The program chooses these texts. */
static void mask(struct counting_facts *facts)
{
	char *const texts[] = {facts->name,    facts->group, facts->preload,
			       facts->earlier, facts->fps,   facts->socket};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		text_mask_controls(texts[i]);
}

int counting_read(pid_t pid, const json_t *vgpus, struct counting_facts *ret_facts,
		  struct err *reterr)
{
	struct counting_facts facts = {.pid = pid};
	size_t length = 0, auxv_length = 0;
	CLEANUP_FREE char *status = read_proc(pid, "status", NULL);
	CLEANUP_FREE char *environment = read_proc(pid, "environ", &length);
	CLEANUP_FREE char *maps = read_proc(pid, "maps", NULL);
	CLEANUP_FREE char *auxv = read_proc(pid, "auxv", &auxv_length);
	CLEANUP_FREE char *groups = read_proc(pid, "cgroup", NULL);

	if (!status)
		return err_fail(reterr, ESRCH, "process %d: does not exist", (int)pid);
	if (!environment || !maps || !auxv)
		return err_fail(reterr, EACCES,
				"process %d: cannot be examined by this user (run the command "
				"with sudo)",
				(int)pid);
	read_status(status, &facts);
	facts.narrow = is_narrow(pid);
	read_privileges(auxv, auxv_length, &facts);
	read_maps(maps, &facts);
	read_environment(environment, length, &facts);
	read_files(&facts);
	if (groups) {
		snprintf(facts.group, sizeof(facts.group), "%.*s", (int)strcspn(groups, "\n"),
			 groups);
		if (vgpus)
			find_vgpu(groups, vgpus, &facts);
	}
	mask(&facts);
	*ret_facts = facts;
	return 0;
}
