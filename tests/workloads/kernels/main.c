/* SPDX-License-Identifier: MIT */
/*
 * gover-kernels: an OpenCL program that runs one of ten workloads, after those of the FairGV
 * and VMCG papers, until a time or a number of launches is reached. It works without gover.
 *
 * The first round is not counted, because a device may compile a kernel at its first launch.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/workloads/kernels/options.h"

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

/*
 * Holds signals back until the kernels are compiled: LLVM removes its temporary files when a signal
 * arrives, and the compilation fails. Threads that the device starts meanwhile inherit the mask, so
 * that only the main thread handles signals.
 */
static void hold_signals(bool hold)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)pthread_sigmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static uint64_t now_ns(void)
{
	return clock_now().mono_ns;
}

/* --- start --- */

static void build(struct load *load)
{
	const char *source = load->kind->source;
	char options[64], log[4096];
	cl_int error;

	load->program = clCreateProgramWithSource(load->context, 1, &source, NULL, &error);
	load_expect(error, "clCreateProgramWithSource");
	(void)snprintf(options, sizeof(options), "-DLOCAL=%u -DSIDE=%u", load->local,
		       load_side(load));
	error = clBuildProgram(load->program, 1, &load->device, options, NULL, NULL);
	if (error == CL_BUILD_PROGRAM_FAILURE &&
	    clGetProgramBuildInfo(load->program, load->device, CL_PROGRAM_BUILD_LOG, sizeof(log),
				  log, NULL) == CL_SUCCESS)
		fprintf(stderr, "%s\n", log);
	load_expect(error, "clBuildProgram");
	for (unsigned int i = 0; i < LOAD_KERNELS && load->kind->kernels[i]; i++) {
		load->kernels[i] = clCreateKernel(load->program, load->kind->kernels[i], &error);
		load_expect(error, "clCreateKernel");
	}
}

static bool open_device(struct load *load, const struct options *options)
{
	cl_platform_id platform;
	char message[256];
	cl_int error;

	if (device_choose(options->device, &platform, &load->device, message, sizeof(message))) {
		fprintf(stderr, "gover-kernels: %s\n", message);
		return false;
	}
	load->context = clCreateContext(NULL, 1, &load->device, NULL, NULL, &error);
	load_expect(error, "clCreateContext");
	load->queue = clCreateCommandQueue(load->context, load->device,
					   load->profile ? CL_QUEUE_PROFILING_ENABLE : 0, &error);
	load_expect(error, "clCreateCommandQueue");
	return true;
}

static void close_device(struct load *load)
{
	for (unsigned int i = 0; i < LOAD_KERNELS && load->kernels[i]; i++)
		load_expect(clReleaseKernel(load->kernels[i]), "clReleaseKernel");
	for (unsigned int i = 0; i < load->n_buffers; i++)
		load_expect(clReleaseMemObject(load->buffers[i].mem), "clReleaseMemObject");
	load_expect(clReleaseProgram(load->program), "clReleaseProgram");
	load_expect(clReleaseCommandQueue(load->queue), "clReleaseCommandQueue");
	load_expect(clReleaseContext(load->context), "clReleaseContext");
}

/* --- run --- */

/* The run that is measured. Times of CLOCK_MONOTONIC, ns. */
struct run {
	const struct options *options;
	uint64_t start_ns;
	uint64_t progress_ns;	/* time of the last line of progress */
	uint64_t progress_done; /* launches finished at that time */
	uint64_t launched;
};

static void print_rate(struct run *run, const struct load *load, uint64_t now)
{
	double since_s = (double)(now - run->progress_ns) / NS_PER_S;

	if (since_s < 1)
		return;
	printf("second %.3f units %llu rate %.1f\n", (double)(now - run->start_ns) / NS_PER_S,
	       (unsigned long long)load->done, (double)(load->done - run->progress_done) / since_s);
	(void)fflush(stdout);
	run->progress_ns = now;
	run->progress_done = load->done;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = {.tv_sec = (time_t)(at_ns / NS_PER_S),
			      .tv_nsec = (long)(at_ns % NS_PER_S)};

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Delays the next launch with --rate. A late launch delays all later launches by the same time. */
static void keep_rate(struct run *run, uint64_t *next_ns)
{
	uint64_t now = now_ns();

	if (run->options->rate <= 0)
		return;
	if (*next_ns > now)
		sleep_until(*next_ns);
	else
		*next_ns = now;
	*next_ns += (uint64_t)((double)NS_PER_S / run->options->rate);
}

static bool goes_on(const struct run *run)
{
	const struct options *options = run->options;

	if (stopped || (options->launches > 0 && run->launched >= options->launches))
		return false;
	return options->seconds <= 0 ||
	       (double)(now_ns() - run->start_ns) < options->seconds * (double)NS_PER_S;
}

static void round_of_launches(struct load *load, struct run *run, uint64_t *next_ns)
{
	bool more = true;

	load->salt++;
	for (unsigned int step = 0; more; step++) {
		keep_rate(run, next_ns);
		more = load->kind->step(load, step);
		run->launched++;
		if (run->options->progress)
			print_rate(run, load, now_ns());
	}
}

/* Returns also at a signal, which interrupts poll(), and at the end of stdin. */
static void wait_for_line(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char c = 0;

	printf("ready\n");
	(void)fflush(stdout);
	while (c != '\n' && poll(&input, 1, -1) > 0)
		if (read(STDIN_FILENO, &c, 1) <= 0)
			return;
}

static void run_load(struct load *load, const struct options *options)
{
	struct run run = {.options = options};
	uint64_t next_ns = 0, end;

	for (unsigned int step = 0; load->kind->step(load, step);)
		step++;
	load_drain(load);
	load->done = load->busy_ns = 0;
	hold_signals(false);
	if (options->wait)
		wait_for_line();
	run.start_ns = run.progress_ns = now_ns();
	do
		round_of_launches(load, &run, &next_ns);
	while (goes_on(&run));
	load_drain(load);
	end = now_ns();
	printf("units %llu seconds %.6f rate %.3f", (unsigned long long)load->done,
	       (double)(end - run.start_ns) / NS_PER_S,
	       (double)load->done * NS_PER_S / (double)(end - run.start_ns));
	if (options->profile)
		printf(" busy %.6f", (double)load->busy_ns / NS_PER_S);
	printf("\n");
}

/* Prints the FNV-1a hash of all buffers. It depends on workload, sizes and number of rounds. */
static void print_digest(struct load *load)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (unsigned int b = 0; b < load->n_buffers; b++) {
		unsigned char *content = load_read(load, b);

		for (size_t i = 0; i < load->buffers[b].bytes; i++)
			hash = (hash ^ content[i]) * 0x100000001b3ULL;
		free(content);
	}
	printf("digest %016llx\n", (unsigned long long)hash);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct options options;
	struct load load = {.salt = 0};
	int status;

	if (!options_parse(argc, argv, &options, &status))
		return status;
	if (sigaction(SIGTERM, &action, NULL) < 0 || sigaction(SIGINT, &action, NULL) < 0)
		return 1;
	hold_signals(true);
	load.kind = options.workload;
	load.size = options.size;
	load.local = options.local;
	load.profile = options.profile;
	load.flight.max = options.in_flight;
	if (!open_device(&load, &options))
		return 1;
	build(&load);
	load.kind->setup(&load);
	run_load(&load, &options);
	status = 0;
	if (options.digest)
		print_digest(&load);
	if (options.check) {
		status = load.kind->check(&load) ? 0 : 1;
		printf("check %s\n", status == 0 ? "ok" : "failed");
	}
	close_device(&load);
	return fflush(stdout) == 0 ? status : 1;
}
