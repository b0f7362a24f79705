/* SPDX-License-Identifier: MIT */
/*
 * Measures what libgover-cl.so adds to a kernel launch on a target that does nothing: switched off,
 * without an arbiter, and with a turn. Counts the system calls of the launching thread with a
 * seccomp filter that traps each one. Each figure is the median of the rounds, in CPU time of the
 * thread; a round is one block of launches on the target and one through the layer.
 * With the socket of an arbiter as argument, it only counts the system calls of a program that has
 * the turn of that arbiter.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/figures.h"
#include "tests/unit/compute/fake-arbiter.h"
#include "tests/unit/compute/stub-cl.h"

#define ROUNDS		 201
#define LAUNCHES	 2000 /* per block; fewer than STUB_EVENTS, because they are in flight together */
#define KERNEL		 ((cl_kernel)(uintptr_t)0x1000)
#define TRAPPED_LAUNCHES 1000000
#define ARBITER_LAUNCHES 10000
#define SETTLE_NS	 (5 * NS_PER_S)

static const cl_icd_dispatch *cl;
static char path[108];

static uint64_t thread_ns(void)
{
	struct timespec now;

	must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), "clock");
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Returns the time of a launch in ns. */
static double time_launches(const cl_icd_dispatch *table, cl_command_queue queue)
{
	const size_t global = 64;
	uint64_t begin_ns = thread_ns();

	for (int i = 0; i < LAUNCHES; i++)
		(void)table->clEnqueueNDRangeKernel(queue, KERNEL, 1, NULL, &global, NULL, 0, NULL,
						    NULL);
	return (double)(thread_ns() - begin_ns) / LAUNCHES;
}

static double time_finish(void)
{
	uint64_t begin_ns = thread_ns();

	stub_finish(UINT32_MAX);
	return (double)(thread_ns() - begin_ns) / LAUNCHES;
}

static void measure(const char *name, double limit_ns)
{
	/* volatile: the compiler must not call the functions of the table directly */
	const cl_icd_dispatch *volatile below = &stub_table;
	static double target[ROUNDS], added[ROUNDS], finish[ROUNDS], finish_added[ROUNDS];
	cl_command_queue queue = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);
	double cost;

	for (int i = 0; i < ROUNDS; i++) {
		target[i] = time_launches(below, queue);
		finish[i] = time_finish();
		added[i] = time_launches(cl, queue) - target[i];
		finish_added[i] = time_finish() - finish[i];
	}
	cost = median(added, ROUNDS);
	printf("%-24s %10.1f %10.1f %10.1f   <= %4.1f  %s\n", name, median(target, ROUNDS), cost,
	       median(finish_added, ROUNDS), limit_ns, cost <= limit_ns ? "yes" : "NO");
	(void)fflush(stdout);
}

static volatile sig_atomic_t trapped;

static void on_trap(int signal)
{
	(void)signal;
	trapped++;
}

/*
 * From now on each system call of this thread fails and is counted, except the return from the
 * handler and the end of the process.
 */
static void trap_system_calls(void)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = 5, .filter = instructions};
	struct sigaction action = {.sa_handler = on_trap};

	(void)sigaction(SIGSYS, &action, NULL);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), "seccomp");
}

/* Returns the system calls of @launches launches that complete at once, in a process of its own. */
static long count_system_calls(cl_command_queue queue, int launches)
{
	const size_t global = 64;

	stub.hold = false;
	trap_system_calls();
	for (int i = 0; i < launches; i++)
		(void)cl->clEnqueueNDRangeKernel(queue, KERNEL, 1, NULL, &global, NULL, 0, NULL,
						 NULL);
	return trapped;
}

/* What a mode reports to the parent, which alone can print after the system calls are trapped. */
static struct report {
	long system_calls;
	bool controlled;
} * report;

/* Launches until the layer adds an event, as it does under control. */
static bool wait_for_control(cl_command_queue queue)
{
	const size_t global = 64;
	uint64_t end_ns = fake_now_ns() + SETTLE_NS;
	unsigned int bare;

	do {
		bare = stub.bare;
		(void)cl->clEnqueueNDRangeKernel(queue, KERNEL, 1, NULL, &global, NULL, 0, NULL,
						 NULL);
	} while (stub.bare > bare && fake_now_ns() < end_ns);
	return stub.bare == bare;
}

static void run_mode(const char *name, const char *where, double limit_ns)
{
	struct fake_arbiter arbiter;
	bool controlled = strcmp(where, "controlled") == 0;
	cl_command_queue queue;
	char value[128];

	(void)snprintf(value, sizeof(value), "unix:%s", path);
	(void)setenv("GOVER_CL", controlled ? value : where, 1);
	if (controlled)
		fake_arbiter_start(&arbiter, path, COMPUTE_GRANT_TURN);
	cl = stub_load_layer();
	must(cl ? 0 : -ENOENT, "libgover-cl.so");
	queue = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);
	report->controlled = wait_for_control(queue);
	if (controlled && !report->controlled)
		must(-ETIMEDOUT, "control by the arbiter");
	if (controlled) { /* on a busy machine its thread may run too late */
		__atomic_store_n(&arbiter.stopped, true, __ATOMIC_SEQ_CST);
		(void)usleep(20000);
		arbiter.beacon->stamp_ns = UINT64_MAX;
	}
	stub.hold = true;
	measure(name, limit_ns);
	if (strcmp(where, "off") != 0)
		report->system_calls = count_system_calls(queue, TRAPPED_LAUNCHES);
	_exit(0);
}

static int count_with_arbiter(const char *socket_path)
{
	cl_command_queue queue;
	char value[128];

	(void)snprintf(value, sizeof(value), "unix:%s", socket_path);
	(void)setenv("GOVER_CL", value, 1);
	cl = stub_load_layer();
	must(cl ? 0 : -ENOENT, "libgover-cl.so");
	queue = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);
	stub.hold = false;
	if (!wait_for_control(queue))
		must(-ETIMEDOUT, "control by the arbiter");
	report->system_calls = count_system_calls(queue, ARBITER_LAUNCHES);
	return 0;
}

/* Runs in a process of its own, which alone can still print afterwards. */
static int print_with_arbiter(const char *socket_path)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(count_with_arbiter(socket_path));
	if (waitpid(child, &status, 0) != child || status != 0) {
		printf("%s: failed (status %d)\n", socket_path, status);
		return 1;
	}
	printf("%ld system calls in %d launches\n", report->system_calls, ARBITER_LAUNCHES);
	return 0;
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name, *where;
		double limit_ns;
	} modes[] = {
		{"off", "off", 0.5},
		{"pass-through", "unix:/nonexistent/socket", 5},
		{"granted", "controlled", 60},
	};
	char folder[] = "/tmp/gover-bench.XXXXXX";
	int failed = 0, status;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(report == MAP_FAILED ? -errno : 0, "mmap");
	if (argc == 2)
		return print_with_arbiter(argv[1]);
	must(mkdtemp(folder) ? 0 : -errno, folder);
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	printf("%-24s %10s %10s %10s   required\n", "ns per launch", "target", "added",
	       "completion");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		pid_t child;

		*report = (struct report){.system_calls = -1};
		(void)fflush(stdout);
		child = fork();
		if (child == 0)
			run_mode(modes[i].name, modes[i].where, modes[i].limit_ns);
		if (waitpid(child, &status, 0) != child || status != 0) {
			printf("%s: failed (status %d)\n", modes[i].name, status);
			failed = 1;
		} else if (report->system_calls >= 0) {
			printf("%-24s %10ld system calls in %d launches\n", "",
			       report->system_calls, TRAPPED_LAUNCHES);
		}
	}
	(void)unlink(path);
	(void)rmdir(folder);
	return failed;
}
