/* SPDX-License-Identifier: MIT */
/*
 * The process at the other end of a connection, with and without the help of the kernel
 * (SO_PEERPIDFD). fake_getsockopt() replaces a kernel before 6.5.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <linux/sched.h>

#define PEERPIDFD 77

static int fake_getsockopt(int fd, int level, int option, void *value, unsigned int *length);

#define getsockopt fake_getsockopt
#include "base/linux/process.c"
#include "tests/unit/unit.h"
#undef getsockopt

static int peerpidfd_errno; /* result of SO_PEERPIDFD; 0: the result of the kernel */
static int listener;
static struct sockaddr_un address;
static socklen_t length_of_address;

static int fake_getsockopt(int fd, int level, int option, void *value, unsigned int *length)
{
	if (option != PEERPIDFD || peerpidfd_errno == 0)
		return getsockopt(fd, level, option, value, length);
	errno = peerpidfd_errno;
	return -1;
}

static int setup(void)
{
	peerpidfd_errno = 0;
	address = (struct sockaddr_un){.sun_family = AF_UNIX};
	length_of_address = sizeof(address);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	/* the kernel chooses an abstract name */
	if (bind(listener, (struct sockaddr *)&address, sizeof(address.sun_family)) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length_of_address) < 0)
		return -1;
	return listen(listener, 8);
}

static int teardown(void)
{
	return close(listener);
}

FIXTURE(setup, teardown)

struct child {
	pid_t pid;
	int sock; /* accepted */
};

/* Starts a process that connects. */
static struct child child_new(void)
{
	struct child c = {.pid = fork()};
	int sock = -1;

	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		if (connect(sock, (struct sockaddr *)&address, length_of_address) < 0)
			_exit(1);
		for (;;)
			(void)pause();
	}
	c.sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(c.sock >= 0);
	return c;
}

static void child_kill(const struct child *c)
{
	siginfo_t info;

	assert_int_equal(kill(c->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT), 0);
}

static void child_reap(const struct child *c)
{
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

static void child_end(const struct child *c)
{
	child_kill(c);
	child_reap(c);
	assert_int_equal(close(c->sock), 0);
}

/* The time of fps_process_clock_ns() @s seconds ago. */
static uint64_t ago(uint64_t s)
{
	return fps_process_clock_ns() - s * NS_PER_S;
}

/* Runs a test on both kinds of kernel. */
#define ON_BOTH_KERNELS for (int i = 0; i < 2; i++, peerpidfd_errno = ENOPROTOOPT)

TEST(a_process_keeps_its_pid_until_it_is_reaped)
{
	ON_BOTH_KERNELS
	{
		struct child c = child_new();
		struct fps_process process;

		assert_int_equal(fps_process_open(c.sock, ago(0), &process), 0);
		assert_int_equal(process.pid, c.pid);
		assert_int_equal(process.uid, geteuid());
		assert_true(process.pidfd >= 0);
		assert_true(fps_process_has_pid(&process));
		child_kill(&c);
		assert_true(fps_process_has_pid(&process));
		child_reap(&c);
		assert_false(fps_process_has_pid(&process));
		fps_process_close(&process);
		assert_int_equal(process.pidfd, -1);
		assert_false(fps_process_has_pid(&process));
		assert_int_equal(close(c.sock), 0);
	}
}

TEST(no_other_process_gets_a_pid_at_once)
{
	ON_BOTH_KERNELS
	{
		struct child c = child_new();
		struct fps_process process;

		assert_int_equal(fps_process_open(c.sock, ago(0), &process), 0);
		assert_true(fps_process_kept_pid(&process, ago(60)));
		child_end(&c);
		assert_true(fps_process_kept_pid(&process, ago(0)));
		assert_false(fps_process_kept_pid(&process, ago(3)));
		fps_process_close(&process);
	}
}

TEST(an_ended_process_has_no_pid)
{
	ON_BOTH_KERNELS
	{
		struct child c = child_new();
		struct fps_process process;

		child_kill(&c);
		child_reap(&c);
		assert_int_equal(fps_process_open(c.sock, ago(0), &process), 0);
		assert_int_equal(process.pid, 0);
		assert_int_equal(process.uid, geteuid());
		assert_false(fps_process_has_pid(&process));
		fps_process_close(&process);
		assert_int_equal(close(c.sock), 0);
	}
}

/* Starts a process with the id @pid. Skips the test if no process can get a chosen id. */
static struct child reuse(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&pid,
		.set_tid_size = 1,
	};
	struct child c = {.pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args)), .sock = -1};

	if (c.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	if (c.pid < 0) {
		print_message("# no process can get a chosen pid: %s\n", strerror(errno));
		skip();
	}
	return c;
}

/*
 * The process has ended before the connection is accepted, and another process has its pid. Without
 * SO_PEERPIDFD, the start time shows this if the hub was busy for long enough to use the pid again.
 */
TEST(a_later_process_with_the_pid_is_not_the_peer)
{
	ON_BOTH_KERNELS
	{
		uint64_t idle_ns = ago(0);
		struct child c = child_new(), stranger;
		struct fps_process process = {.pidfd = -1};
		int r;

		child_kill(&c);
		child_reap(&c);
		stranger = reuse(c.pid);
		r = fps_process_open(c.sock, peerpidfd_errno ? ago(3) : idle_ns, &process);
		if (peerpidfd_errno)
			assert_int_equal(r, -EAGAIN);
		else
			assert_int_equal(process.pid, 0);
		fps_process_close(&process);
		assert_int_equal(close(c.sock), 0);
		child_kill(&stranger);
		child_reap(&stranger);
	}
}

TEST(the_start_time_decides_without_the_help_of_the_kernel)
{
	static const struct {
		const char *what;
		int idle_s; /* seconds ago; the process started just now */
		int result;
	} rows[] = {
		{"older than the last idle time", -1, 0},
		{"younger, but there was no time to use the pid again", 1, 0},
		{"younger, and there was time", 3, -EAGAIN},
	};

	peerpidfd_errno = ENOPROTOOPT;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct child c = child_new();
		struct fps_process process = {.pidfd = -1};
		uint64_t idle_ns = ago(0) - (uint64_t)rows[i].idle_s * NS_PER_S;
		int r = fps_process_open(c.sock, idle_ns, &process);

		if (r != rows[i].result)
			fail_msg("%s: %d", rows[i].what, r);
		fps_process_close(&process);
		child_end(&c);
	}
}

TEST(the_start_time_is_read_behind_any_name)
{
	static const char *const names[] = {"x", "a b c", ") 1 2 3 4", "((", "S 1 2) R"};
	uint64_t named_ns, first_ns;

	assert_int_equal(read_start(getpid(), &first_ns), 0);
	assert_in_range(first_ns, 1, fps_process_clock_ns() + NS_PER_S / 100);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
		assert_int_equal(read_start(getpid(), &named_ns), 0);
		assert_true(named_ns == first_ns);
	}
	assert_int_equal(read_start(0, &named_ns), -ENOENT);
}

TEST(a_failed_call_leaves_no_fd_and_no_pid)
{
	static const struct {
		const char *what;
		int error, result;
	} rows[] = {
		{"the kernel has forgotten the process", ESRCH, 0},
		{"the same, Linux 6.5", EINVAL, 0},
		{"no fd is free", EMFILE, -EMFILE},
		{"no fd of the system is free", ENFILE, -ENFILE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct child c = child_new();
		struct fps_process process = {.pid = 1, .pidfd = -1};

		peerpidfd_errno = rows[i].error;
		if (fps_process_open(c.sock, ago(0), &process) != rows[i].result)
			fail_msg("%s", rows[i].what);
		assert_int_equal(process.pid, rows[i].result == 0 ? 0 : 1);
		assert_int_equal(process.pidfd, -1);
		child_end(&c);
	}
	assert_int_equal(fps_process_open(-1, 0, &(struct fps_process){.pid = 1}), -EBADF);
}
