/* SPDX-License-Identifier: MIT */
/*
 * A library with the functions of libnvidia-ml.so.1 that gover calls. Its GPUs and programs are in
 * the text file FAKE_NVML, which it reads at each call: "gpus N", "error NAME CODE", "busy PCT" for
 * each new sample of the GPU, "use PID SM ENCODER DECODER" for a process that has new samples, "was
 * PID SM" for one that has only older samples, and "memory PID BYTES" for one that runs. "rate PCT"
 * is the present use of the GPU. The time of a sample is the wall clock, or that in "clock US".
 * Each nvmlInit_v2() adds a line to the file FAKE_NVML_INITS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct use {
	unsigned int pid;
	unsigned long long at_us;
	unsigned int sm, memory, encoder, decoder;
};

struct process {
	unsigned int pid;
	unsigned long long bytes;
	unsigned int gpu_instance, compute_instance;
};

struct sample {
	unsigned long long at_us;
	union {
		unsigned int value;
		double size;
	} u;
};

struct rates {
	unsigned int gpu, memory;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlDeviceGetCount_v2(unsigned int *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device);
int nvmlDeviceGetProcessUtilization(void *device, struct use *uses, unsigned int *n,
				    unsigned long long since_us);
int nvmlDeviceGetSamples(void *device, int kind, unsigned long long since_us, int *type,
			 unsigned int *n, struct sample *samples);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *n,
					    struct process *processes);
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned int *n,
					     struct process *processes);
int nvmlDeviceGetUtilizationRates(void *device, struct rates *rates);

#define SAMPLES 100

static int the_gpu;

static FILE *open_script(void)
{
	const char *path = getenv("FAKE_NVML");

	return path ? fopen(path, "re") : NULL;
}

/* Returns the error that the script has for @name; 0: none. */
static int error_of(const char *name)
{
	FILE *script = open_script();
	char line[128], word[64];
	int code, found = 0;

	while (script && fgets(line, sizeof(line), script))
		if (sscanf(line, "error %63s %d", word, &code) == 2 && strcmp(word, name) == 0)
			found = code;
	if (script)
		(void)fclose(script);
	return found;
}

int nvmlInit_v2(void)
{
	const char *path = getenv("FAKE_NVML_INITS");
	FILE *file = path ? fopen(path, "ae") : NULL;

	if (file) {
		(void)fputs("init\n", file);
		(void)fclose(file);
	}
	return error_of("init");
}

int nvmlShutdown(void)
{
	return 0;
}

const char *nvmlErrorString(int result)
{
	return result == 3    ? "Not Supported"
	       : result == 9  ? "Driver Not Loaded"
	       : result == 15 ? "GPU is lost"
			      : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned int *n)
{
	FILE *script = open_script();
	char line[128];

	*n = 1;
	while (script && fgets(line, sizeof(line), script))
		(void)sscanf(line, "gpus %u", n);
	if (script)
		(void)fclose(script);
	return error_of("count");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
	*device = &the_gpu;
	return index == 0 ? 0 : 2;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device)
{
	*device = &the_gpu;
	return strcmp(address, "0000:65:00.0") == 0 ? 0 : 6;
}

/* Returns the time of a new sample. */
static unsigned long long clock_us(void)
{
	FILE *script = open_script();
	unsigned long long us = 0;
	struct timespec now;
	char line[128];

	while (script && fgets(line, sizeof(line), script))
		(void)sscanf(line, "clock %llu", &us);
	if (script)
		(void)fclose(script);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return us ? us
		  : (unsigned long long)now.tv_sec * 1000000 +
			       (unsigned long long)now.tv_nsec / 1000;
}

int nvmlDeviceGetProcessUtilization(void *device, struct use *uses, unsigned int *n,
				    unsigned long long since_us)
{
	FILE *script = open_script();
	unsigned int found = 0;
	char line[128];
	struct use use = {.pid = 0};

	(void)device;
	while (script && fgets(line, sizeof(line), script) && found < *n) {
		use.encoder = use.decoder = 0;
		use.at_us = clock_us();
		if (sscanf(line, "use %u %u %u %u", &use.pid, &use.sm, &use.encoder,
			   &use.decoder) != 4) {
			if (sscanf(line, "was %u %u", &use.pid, &use.sm) != 2)
				continue;
			use.at_us = since_us + 1;
		}
		if (use.at_us > since_us)
			uses[found++] = use;
	}
	if (script)
		(void)fclose(script);
	*n = found;
	if (error_of("uses"))
		return error_of("uses");
	return found ? 0 : 6;
}

int nvmlDeviceGetSamples(void *device, int kind, unsigned long long since_us, int *type,
			 unsigned int *n, struct sample *samples)
{
	FILE *script = open_script();
	unsigned int found = 0;
	char line[128];
	struct sample sample = {.at_us = clock_us()};

	(void)device;
	*type = kind;
	if (!samples)
		*n = SAMPLES;
	while (samples && script && fgets(line, sizeof(line), script) && found < *n)
		if (sscanf(line, "busy %u", &sample.u.value) == 1 && sample.at_us > since_us)
			samples[found++] = sample;
	if (script)
		(void)fclose(script);
	if (samples)
		*n = found;
	if (error_of("samples"))
		return error_of("samples");
	return samples && !found ? 6 : 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *n,
					    struct process *processes)
{
	FILE *script = open_script();
	unsigned int found = 0;
	char line[128];
	struct process process = {.pid = 0};

	(void)device;
	while (script && fgets(line, sizeof(line), script) && found < *n)
		if (sscanf(line, "memory %u %llu", &process.pid, &process.bytes) == 2)
			processes[found++] = process;
	if (script)
		(void)fclose(script);
	*n = found;
	return error_of("lists");
}

int nvmlDeviceGetUtilizationRates(void *device, struct rates *rates)
{
	FILE *script = open_script();
	char line[128];

	(void)device;
	*rates = (struct rates){.gpu = 0};
	while (script && fgets(line, sizeof(line), script))
		(void)sscanf(line, "rate %u", &rates->gpu);
	if (script)
		(void)fclose(script);
	return error_of("rates");
}

/* The same programs: one that computes and draws is in both lists. */
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned int *n,
					     struct process *processes)
{
	return nvmlDeviceGetComputeRunningProcesses_v3(device, n, processes);
}
