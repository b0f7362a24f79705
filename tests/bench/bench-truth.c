/* SPDX-License-Identifier: MIT */
/*
 * Measures the CPU time of a sample of gpu/drm/ beside that of a program that reads the
 * fdinfo file of every descriptor of every process, as nvtop does. The first row reads the /proc of
 * this host with 64 more processes, none of which has a DRM file. The second row reads a folder in
 * memory instead of /proc, with 64 processes that have one DRM file each: this host may have no
 * GPU, and the time in which a driver writes the text is not measured. Each figure is the median of
 * nine rounds. A round is 32 samples, of which the mean counts, and one walk. The last line is a
 * sample of NVML, if this host has its library and one GPU, with the programs that use the GPU at
 * that time.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "tests/bench/figures.h"
#include "gpu/drm/fdinfo.h"
#include "gpu/drm/truth.h"

#define ROUNDS	  9
#define SAMPLES	  32
#define PROCESSES 64
#define FILES	  32 /* descriptors of each process */

static uint64_t clock_ns = NS_PER_S;
static int n_found; /* DRM files in the last walk */

static int tenant_of(void *userdata, pid_t pid)
{
	(void)userdata;
	return (int)pid % 8;
}

/* --- the reference --- */

static void read_info(int folder, const char *name)
{
	CLEANUP_CLOSE int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	char text[FDINFO_TEXT_MAX];
	struct fdinfo info;
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	n_found += n > 0 && fdinfo_parse(text, (size_t)n, &info) == 0;
}

static void walk_process(int proc, const char *pid)
{
	char path[288];
	const struct dirent *entry;
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "%s/fdinfo", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			read_info(fd, entry->d_name);
	if (dir)
		closedir(dir);
}

static void walk(const char *proc)
{
	DIR *dir = opendir(proc);
	const struct dirent *entry;

	n_found = 0;
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			walk_process(dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
}

/* --- rows --- */

static void sample(struct truth *truth)
{
	clock_ns += NS_PER_S;
	must(truth_sample(truth, clock_ns), "sample");
}

static void bench_row(const char *what, const char *proc)
{
	const struct truth_config config = {
		.source = "fdinfo", .proc = proc, .device = "0000:00:02.0", .tenant = tenant_of};
	double ours[ROUNDS], theirs[ROUNDS];
	struct truth *truth;
	struct err err;
	size_t users;

	must(truth_open(&config, &truth, &err), err.msg);
	for (int i = 0; i < SAMPLES; i++) /* the first samples of a process cost more */
		sample(truth);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = figures_cpu_ns();

		for (int i = 0; i < SAMPLES; i++)
			sample(truth);
		ours[round] = (double)(figures_cpu_ns() - start_ns) / SAMPLES;
		start_ns = figures_cpu_ns();
		walk(proc);
		theirs[round] = (double)(figures_cpu_ns() - start_ns);
	}
	(void)truth_users(truth, &users);
	printf("%-34s %8zu %8d %10.0f %12.0f %8.1f\n", what, users, n_found,
	       median(ours, ROUNDS) / 1000, median(theirs, ROUNDS) / 1000,
	       median(theirs, ROUNDS) / median(ours, ROUNDS));
	truth_close(truth);
}

static void start_process(pid_t *ret_pid)
{
	pid_t pid = fork();

	must(pid, "fork");
	if (pid == 0) {
		for (int i = 0; i < FILES; i++)
			(void)eventfd(0, 0);
		for (;;)
			(void)pause();
	}
	*ret_pid = pid;
}

static void write_text(const char *path, const char *text)
{
	must(file_make_parents(path), path);
	must(file_replace(path, text, strlen(text)), path);
}

static void make_folder(const char *top)
{
	char path[160], text[256];

	for (int pid = 1000; pid < 1000 + PROCESSES; pid++)
		for (int fd = 0; fd < FILES; fd++) {
			snprintf(text, sizeof(text),
				 "pos:\t0\nflags:\t02\ndrm-driver:\ti915\ndrm-client-id:\t%d\n"
				 "drm-pdev:\t0000:00:02.0\ndrm-engine-render:\t%d ns\n"
				 "drm-engine-copy:\t0 ns\ndrm-engine-video:\t0 ns\n",
				 pid, pid);
			snprintf(path, sizeof(path), "%s/%d/fdinfo/%d", top, pid, fd);
			write_text(path,
				   fd == 3 ? text : "pos:\t0\nflags:\t02\neventfd-count:\t0\n");
			snprintf(path, sizeof(path), "%s/%d/fd/%d", top, pid, fd);
			must(file_make_parents(path), path);
			must(symlink(fd == 3 ? "/dev/dri/renderD128" : "anon_inode:[eventfd]",
				     path),
			     path);
		}
}

static void bench_nvml(void)
{
	const struct truth_config config = {
		.source = "nvml", .proc = "/proc", .device = "", .tenant = tenant_of};
	double cpu[ROUNDS], wall[ROUNDS];
	struct truth *truth;
	struct err err;
	size_t users;

	if (truth_open(&config, &truth, &err) < 0) {
		printf("no sample of NVML: %s\n", err.msg);
		return;
	}
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t cpu_ns = figures_cpu_ns(), wall_ns = clock_now().mono_ns;

		for (int i = 0; i < SAMPLES; i++)
			sample(truth);
		cpu[round] = (double)(figures_cpu_ns() - cpu_ns) / SAMPLES;
		wall[round] = (double)(clock_now().mono_ns - wall_ns) / SAMPLES;
	}
	(void)truth_users(truth, &users);
	printf("NVML, %zu programs: %.0f us of CPU time, %.0f us in all\n", users,
	       median(cpu, ROUNDS) / 1000, median(wall, ROUNDS) / 1000);
	truth_close(truth);
}

int main(void)
{
	char top[] = "/dev/shm/gover-bench.XXXXXX", command[64];
	pid_t pids[PROCESSES];

	printf("%-34s %8s %8s %10s %12s %8s\n", "CPU time of a sample, us", "clients", "(walk)",
	       "ours", "walk of all", "ratio");
	for (int i = 0; i < PROCESSES; i++)
		start_process(&pids[i]);
	bench_row("the /proc of this host", "/proc");
	for (int i = 0; i < PROCESSES; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
	must(mkdtemp(top) ? 0 : -1, top);
	make_folder(top);
	bench_row("a folder, 64 clients", top);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	must(system(command) == 0 ? 0 : -1, command);
	bench_nvml();
	return 0;
}
