/* SPDX-License-Identifier: MIT */
/*
 * The process at the other end of a unix socket. The kernel uses the pid of an ended process again,
 * and a connection can outlive its process, because other processes may hold it too. A pid
 * therefore identifies the process only as long as the process exists.
 */
#ifndef BASE_LINUX_PROCESS_H
#define BASE_LINUX_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The process that called connect(). */
struct fps_process {
	/* 0: the process has ended, is in another pid namespace, or cannot be identified */
	pid_t pid;
	uid_t uid; /* user of the process when it connected */
	int pidfd; /* readable after the process has ended; -1: none */
};

/*
 * Finds the process at the other end of @sock, which was just accepted. At @idle_ns
 * (fps_process_clock_ns()) no connection waited to be accepted. Returns 0 or a negative errno if no
 * fd is free. Linux before 6.5 cannot show that the process with this pid is the one that
 * connected. If another process may have got the pid since @idle_ns, returns -EAGAIN: the program
 * must connect again. The caller calls fps_process_close().
 */
int fps_process_open(int sock, uint64_t idle_ns, struct fps_process *ret_process);
void fps_process_close(struct fps_process *process);

/*
 * Returns true if the pid still belongs to this process. A process keeps its pid until its parent
 * has waited for it.
 */
bool fps_process_has_pid(const struct fps_process *process);

/*
 * Returns true if no other process can have had the pid from @had_pid_ns (fps_process_clock_ns())
 * until now: the process still has it, or it had it then and there was no time to use it again.
 */
bool fps_process_kept_pid(const struct fps_process *process, uint64_t had_pid_ns);

/* The clock of the start times of processes: time since boot, including suspend. */
uint64_t fps_process_clock_ns(void);

#endif
