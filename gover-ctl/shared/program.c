/* SPDX-License-Identifier: MIT */
/* Finds the libraries of this package, and finds and starts its programs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gover-ctl/shared/program.h"

void program_own_path(char ret_path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);

	ret_path[n > 0 ? n : 0] = '\0';
}

/* Returns the path of the program, or its name if PATH is to be searched. */
static char *find(const char *name)
{
	static const char *const places[] = {"", "../sbin/"};
	char exe[PATH_MAX], *slash, *path;

	program_own_path(exe);
	slash = strrchr(exe, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(places); i++) {
		path = xasprintf("%.*s%s%s", (int)(slash - exe) + 1, exe, places[i], name);
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return xstrdup(name);
}

static int spawn(const char *const *argv, int fd, int end, pid_t *ret_pid)
{
	CLEANUP_FREE char *path = find(argv[0]);
	posix_spawn_file_actions_t actions;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, end);
	r = posix_spawnp(ret_pid, path, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int program_start(const char *const *argv, int end, struct program *ret_program, struct err *reterr)
{
	bool writes = end == STDIN_FILENO;
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_fail(reterr, errno, "%s: %s", argv[0], strerror(errno));
	r = spawn(argv, fds[writes ? 0 : 1], end, &ret_program->pid);
	close(fds[writes ? 0 : 1]);
	if (r == 0) {
		signal(SIGPIPE, SIG_IGN);
		ret_program->pipe = fdopen(fds[writes ? 1 : 0], writes ? "w" : "r");
		return 0;
	}
	close(fds[writes ? 1 : 0]);
	if (r == -ENOENT)
		return err_fail(reterr, ENOENT,
				"%s: neither beside gover-ctl nor in PATH (install the package "
				"gover)",
				argv[0]);
	return err_fail(reterr, -r, "%s: %s", argv[0], strerror(-r));
}

int program_wait(struct program *program)
{
	int status = 0;

	fclose(program->pipe);
	while (waitpid(program->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

json_t *program_read_json(const char *const *argv, struct err *reterr)
{
	struct program program;
	json_error_t error;
	json_t *json;

	if (program_start(argv, STDOUT_FILENO, &program, reterr) < 0)
		return NULL;
	json = json_loadf(program.pipe, 0, &error);
	(void)program_wait(&program);
	if (!json)
		(void)err_fail(reterr, EPROTO, "%s %s: failed, or printed no JSON", argv[0],
			       argv[1]);
	return json;
}

const struct program_library program_library_fps = {"libgover-fps.so", "GOVER_FPS_LIB",
						    "LD_PRELOAD"};
const struct program_library program_library_cl = {"libgover-cl.so", "GOVER_CL_LIB",
						   "OPENCL_LAYERS"};

/* Searches the library beside the program and in the prefix of the program. */
static int search_library(const struct program_library *library, const char *exe,
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

int program_find_library(const struct program_library *library, const char *override,
			 const char *exe, char ret_path[PATH_MAX], struct err *reterr)
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
