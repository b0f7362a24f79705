/* SPDX-License-Identifier: MIT */
/*
 * Seccomp filters for the tests of the libraries in customers' programs. A filter is
 * ACTION:CALL,CALL,...: errno (EPERM), trap or kill, and the system calls that it forbids.
 */
#ifndef TESTS_HELPER_SANDBOX_H
#define TESTS_HELPER_SANDBOX_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define SANDBOX_CALL(name)        \
	{                         \
#name, SYS_##name \
	}
#define SANDBOX_CALLS_MAX     32
#define SANDBOX_SAME(a, b, n) (strlen(b) == (n) && strncmp(a, b, n) == 0)

static const struct {
	const char *name;
	int number;
} sandbox_calls[] = {
	SANDBOX_CALL(close),	    SANDBOX_CALL(clock_nanosleep), SANDBOX_CALL(connect),
	SANDBOX_CALL(fcntl),	    SANDBOX_CALL(ftruncate),	   SANDBOX_CALL(getdents64),
	SANDBOX_CALL(getpid),	    SANDBOX_CALL(getrandom),	   SANDBOX_CALL(madvise),
	SANDBOX_CALL(memfd_create), SANDBOX_CALL(openat),	   SANDBOX_CALL(ppoll),
	SANDBOX_CALL(recvfrom),	    SANDBOX_CALL(recvmsg),	   SANDBOX_CALL(sendmsg),
	SANDBOX_CALL(sendto),	    SANDBOX_CALL(socket),	   SANDBOX_CALL(getsockopt),
#ifdef SYS_poll
	SANDBOX_CALL(poll),
#endif
#ifdef SYS_newfstatat
	SANDBOX_CALL(newfstatat),
#endif
#ifdef SYS_fstat
	SANDBOX_CALL(fstat),
#endif
};

static inline unsigned int sandbox_action(const char *filter)
{
	if (strncmp(filter, "errno:", 6) == 0)
		return SECCOMP_RET_ERRNO | EPERM;
	return strncmp(filter, "trap:", 5) == 0 ? SECCOMP_RET_TRAP : SECCOMP_RET_KILL_PROCESS;
}

/* True for a call that some architectures do not have. */
static inline bool sandbox_may_lack(const char *name, size_t length)
{
	return SANDBOX_SAME(name, "poll", length) || SANDBOX_SAME(name, "fstat", length) ||
	       SANDBOX_SAME(name, "newfstatat", length);
}

/* Puts @filter into force. Returns false if it names an unknown call, or if the kernel refuses it.
 */
static inline bool sandbox_enter(const char *filter)
{
	struct sock_filter steps[2 * SANDBOX_CALLS_MAX + 2];
	const char *name = strchr(filter, ':');
	unsigned short n = 0;
	struct sock_fprog program = {.filter = steps};

	steps[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						  offsetof(struct seccomp_data, nr));
	while (name && n < 2 * SANDBOX_CALLS_MAX) {
		size_t length = strcspn(++name, ",");
		unsigned short before = n;

		for (size_t i = 0; i < sizeof(sandbox_calls) / sizeof(sandbox_calls[0]); i++) {
			if (!SANDBOX_SAME(name, sandbox_calls[i].name, length))
				continue;
			steps[n++] = (struct sock_filter)BPF_JUMP(
				BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)sandbox_calls[i].number, 0,
				1);
			steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
								  sandbox_action(filter));
		}
		if (n == before && !sandbox_may_lack(name, length))
			return false;
		name = name[length] ? name + length : NULL;
	}
	steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/*
 * Enters the filter in the environment variable SANDBOX at the call whose number is in
 * SANDBOX_STEP. Called for each frame or launch.
 */
static inline void sandbox_step(void)
{
	static long left = -1; /* 0: done */

	if (left == 0)
		return;
	if (left < 0) {
		const char *step = getenv("SANDBOX_STEP");

		left = step ? strtol(step, NULL, 10) : 0;
	}
	if (left > 0 && --left == 0 && !sandbox_enter(getenv("SANDBOX")))
		exit(77);
}

#endif
