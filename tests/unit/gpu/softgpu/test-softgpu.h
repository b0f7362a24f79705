/* SPDX-License-Identifier: MIT */
/*
 * Processes and caps of softgpu, for tests with real control groups. The header owns the processes:
 * end_children() ends them all, and the kernel ends them if the test dies.
 */
#ifndef TESTS_UNIT_GPU_TEST_SOFTGPU_H
#define TESTS_UNIT_GPU_TEST_SOFTGPU_H
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gpu/gpu.h"
#include "tests/unit/gpu/test-gpu.h"
#include "tests/unit/unit.h"

static const struct gpu_ops *const ops = &gpu_softgpu_ops;
static pid_t children[8];
static size_t n_children;

static void join(void *userdata, const char *path)
{
	FILE *procs = fopen(path, "w");

	if (!procs || fprintf(procs, "%d", (int)getpid()) < 0 || fclose(procs) != 0)
		*(int *)userdata = -1;
}

/* Starts a process in vGPU @id that sleeps or is always busy. Returns when it is in the vGPU. */
static pid_t start_child(struct gpu *gpu, const char *id, bool busy)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	assert_true(n_children < ARRAY_SIZE(children));
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int joined = 0;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ops->processes.places(gpu, id, join, &joined) < 0 || joined < 0 ||
		    write(ready[1], "y", 1) != 1)
			_exit(1);
		while (busy)
			;
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	children[n_children++] = pid;
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end_children(void)
{
	while (n_children > 0) {
		pid_t pid = children[--n_children];

		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
}

/* Writes caps of 1 to 100 upwards, downwards, and with large changes in both directions. */
static void write_all_caps(struct gpu_vgpu *vgpu)
{
	for (int i = 0; i < 400; i++) {
		int want = i < 100   ? i + 1
			   : i < 200 ? 200 - i
			   : i % 2   ? (i - 200) / 2 + 1
				     : 100 - (i - 200) / 2;

		assert_int_equal(ops->write_cap(vgpu, 0, want), 0);
		expect_cap(ops, vgpu, want);
	}
}

#endif
