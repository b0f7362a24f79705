/* SPDX-License-Identifier: MIT */
/* Identifies the process at the other end of a unix socket by a pidfd. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/linux/process.h"
#include "base/parse.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/*
 * Minimum time until a pid is used again. The kernel first uses all other pids: at least 32,768 on
 * old systems, four million on most hosts.
 */
#define PID_UNUSED_NS (2 * NS_PER_S)

#define START_FIELD 22 /* position of the start time in /proc/PID/stat, see proc(5) */

uint64_t fps_process_clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool is_out_of_fds(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/*
 * Reads the start time of a process, rounded up to the resolution of the kernel. The second field
 * is the name of the program and may contain spaces and parentheses.
 */
static int read_start(pid_t pid, uint64_t *ret_ns)
{
	char path[32], text[1024], *at, *end;
	uint64_t per_s = (uint64_t)sysconf(_SC_CLK_TCK);
	int64_t ticks;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	r = file_read_text(path, text, sizeof(text));
	if (r < 0)
		return r;
	at = strrchr(text, ')');
	for (int field = 2; at && field < START_FIELD; field++)
		at = strchr(at + 1, ' ');
	end = at ? strchr(at + 1, ' ') : NULL;
	if (!end)
		return -EINVAL;
	*end = '\0';
	if (parse_int(at + 1, 0, INT64_MAX / (int64_t)NS_PER_S - 1, &ticks) < 0)
		return -EINVAL;
	*ret_ns = ((uint64_t)ticks + 1) * (NS_PER_S / per_s);
	return 0;
}

/*
 * Returns true if the process has ended, but no process has waited for it yet. Then the kernel
 * still lists its pid, otherwise -1.
 */
static bool is_zombie(const struct fps_process *process)
{
	char path[40], text[1024], wanted[24];
	const char *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", process->pidfd);
	snprintf(wanted, sizeof(wanted), "\nPid:\t%d", (int)process->pid);
	line = file_read_text(path, text, sizeof(text)) > 0 ? strstr(text, wanted) : NULL;
	return line && strchr("\n", line[strlen(wanted)]); /* also true at the end of the text */
}

bool fps_process_has_pid(const struct fps_process *process)
{
	struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};

	return process->pid > 0 && process->pidfd >= 0 &&
	       (poll(&ended, 1, 0) == 0 || is_zombie(process));
}

bool fps_process_kept_pid(const struct fps_process *process, uint64_t had_pid_ns)
{
	return fps_process_has_pid(process) || fps_process_clock_ns() - had_pid_ns <= PID_UNUSED_NS;
}

/*
 * Linux before 6.5: the pid may belong to a new process, which started after the peer had connected
 * and ended. A process that started before @idle_ns has had this pid since before the connection. A
 * younger process is the peer only if there was no time to use the pid again.
 */
static int open_by_pid(struct fps_process *process, uint64_t idle_ns)
{
	uint64_t start_ns;
	int r;

	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0)
		return is_out_of_fds(errno) ? -errno : 0;
	r = read_start(process->pid, &start_ns);
	if (r < 0)
		process->pid = 0;
	if (r < 0 || start_ns <= idle_ns || fps_process_clock_ns() - idle_ns <= PID_UNUSED_NS)
		return 0;
	fps_process_close(process);
	return -EAGAIN;
}

int fps_process_open(int sock, uint64_t idle_ns, struct fps_process *ret_process)
{
	struct fps_process process = {.pidfd = -1};
	struct ucred peer = {.pid = 0};
	socklen_t length = sizeof(peer);
	int r = 0;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return -errno;
	process.pid = peer.pid;
	process.uid = peer.uid;
	length = sizeof(process.pidfd);
	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &process.pidfd, &length) < 0) {
		process.pidfd = -1;
		if (errno == ENOPROTOOPT && process.pid > 0)
			r = open_by_pid(&process, idle_ns);
		else if (is_out_of_fds(errno))
			r = -errno;
	}
	if (r < 0)
		return r;
	if (!fps_process_has_pid(&process))
		process.pid = 0;
	*ret_process = process;
	return 0;
}

void fps_process_close(struct fps_process *process)
{
	cleanup_closep(&process->pidfd);
	process->pidfd = -1;
}
