/* SPDX-License-Identifier: MIT */
/*
 * gover-arbiter --background returns when its sockets are open. Its message goes to a memfd, not to
 * a pipe, so that neither a long message nor a descriptor that its daemon keeps can block the wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "gpu/lib-start.h"

#define PROGRAM	      "gover-arbiter"
#define WAIT_LIMIT_NS (5 * NS_PER_S)
#define WAIT_STEP_NS  (2 * NS_PER_MS)
/* exit status of gover-arbiter: another arbiter serves the socket */
#define STATUS_SERVED 3

#define PATH_BYTES 4096

static void find_program(char ret_path[PATH_BYTES])
{
	char exe[PATH_BYTES - sizeof(PROGRAM)];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	if (slash) {
		slash[1] = '\0';
		snprintf(ret_path, PATH_BYTES, "%s" PROGRAM, exe);
		if (access(ret_path, X_OK) == 0)
			return;
	}
	strcpy(ret_path, PROGRAM); /* posix_spawnp() searches $PATH */
}

/* Signals have their default actions in the arbiter, and none is blocked. */
static int spawn_with(char *const *arguments, int output, posix_spawnattr_t *attributes,
		      posix_spawn_file_actions_t *actions, pid_t *ret_pid)
{
	char program[PATH_BYTES];
	sigset_t none, all;
	int r;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_setsigmask(attributes, &none);
	(void)posix_spawnattr_setsigdefault(attributes, &all);
	(void)posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	find_program(program);
	r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY,
						     0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
	if (r == 0)
		r = posix_spawnp(ret_pid, program, actions, attributes, arguments, environ);
	return -r;
}

static int spawn(const char *socket, const char *name, const char *discipline, int output,
		 pid_t *ret_pid)
{
	/* posix_spawn() does not change the arguments */
	char *const arguments[] = {(char *)(uintptr_t)PROGRAM,
				   (char *)(uintptr_t) "--socket",
				   (char *)(uintptr_t)socket,
				   (char *)(uintptr_t) "--name",
				   (char *)(uintptr_t)name,
				   (char *)(uintptr_t) "--discipline",
				   (char *)(uintptr_t)discipline,
				   (char *)(uintptr_t) "--background",
				   NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r = -posix_spawnattr_init(&attributes);

	if (r < 0)
		return r;
	r = -posix_spawn_file_actions_init(&actions);
	if (r == 0) {
		r = spawn_with(arguments, output, &attributes, &actions, ret_pid);
		(void)posix_spawn_file_actions_destroy(&actions);
	}
	(void)posix_spawnattr_destroy(&attributes);
	return r;
}

/* Returns the status of waitpid(), or -ETIMEDOUT after it has killed the process. */
static int wait_exit(pid_t pid)
{
	const struct timespec step = {.tv_nsec = WAIT_STEP_NS};
	uint64_t end_ns = clock_now().mono_ns + WAIT_LIMIT_NS;
	int status;
	pid_t r;

	while ((r = waitpid(pid, &status, WNOHANG)) != pid) {
		if (r < 0 && errno != EINTR)
			return -errno;
		if (clock_now().mono_ns > end_ns)
			break;
		(void)nanosleep(&step, NULL);
	}
	if (r == pid)
		return status;
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return -ETIMEDOUT;
}

static int judge(const char *socket, int status, int output, struct err *reterr)
{
	char message[256];

	if (status < 0)
		return err_fail(reterr, -status, "socket %s: " PROGRAM " does not start: %s",
				socket, strerror(-status));
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == STATUS_SERVED))
		return 0;
	if (file_pread_text(output, message, sizeof(message)) <= 0)
		snprintf(message, sizeof(message), "%s %d",
			 WIFSIGNALED(status) ? "ended by signal" : "exit status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	message[strcspn(message, "\n")] = '\0';
	return err_fail(reterr, ECHILD, "socket %s: " PROGRAM " does not start: %s", socket,
			message);
}

int lib_start(const char *socket, const char *name, const char *discipline, struct err *reterr)
{
	CLEANUP_CLOSE int output = memfd_create(PROGRAM, MFD_CLOEXEC);
	pid_t pid;
	int r;

	if (output < 0)
		return err_fail(reterr, errno, "socket %s: " PROGRAM " cannot be started: %m",
				socket);
	r = spawn(socket, name, discipline, output, &pid);
	if (r < 0)
		return err_fail(reterr, -r, "socket %s: " PROGRAM " cannot be started: %s", socket,
				r == -ENOENT ? "it is not installed" : strerror(-r));
	return judge(socket, wait_exit(pid), output, reterr);
}
