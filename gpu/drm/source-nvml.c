/* SPDX-License-Identifier: MIT */
/*
 * Host truth from the library of NVIDIA's driver, which is loaded if it exists. The declarations
 * follow nvml.h of CUDA 12 and 13 (NVML API reference, "Device Queries"). NVML does not attribute
 * use to the parts of a GPU in MIG mode.
 *
 * The driver takes a sample several times per second (every 200 ms on an H100 with driver 580): the
 * part of this time in which a kernel ran, and one process, which gets the whole sample.
 * nvmlDeviceGetSamples() returns these parts. nvmlDeviceGetProcessUtilization() returns for each
 * process the sum of its samples divided by the number of samples that have a process: a program
 * that computes for 100 ms every 2 s has 50 % and not 5 %, and a second program can be missing. So
 * the busy time of the GPU comes from the samples, and the percentages only divide it among the
 * processes. They cover several seconds, because a second has only five samples.
 *
 * After an error, the library is closed and opened again: an initialised library does not survive a
 * reload of its driver or the loss of the GPU, and a new driver needs its own library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "gpu/drm/source.h"

#define LIBRARY	   "libnvidia-ml.so.1"
#define US_PER_S   1000000ULL
#define DIVIDED_US (5 * US_PER_S) /* time that the percentages of the processes cover */
/* After this time without a sample, the GPU is idle if it also says so in another way. */
#define SILENT_NS	(2 * NS_PER_S)
#define UNNAMED_NS	(6 * NS_PER_S) /* after this time, a busy GPU must have named a process */
#define UNKNOWN_SAMPLES 5    /* after so many samples, a process must have a control group */
#define UNNAMED_PCT	5    /* less is work of the driver itself */
#define SAMPLES_MAX	4096 /* samples of a driver; a library with more is refused */
#define SAMPLES_BUSY	1    /* NVML_GPU_UTILIZATION_SAMPLES */
#define VALUE_UINT	1    /* NVML_VALUE_TYPE_UNSIGNED_INT */

enum nvml_result {
	NVML_SUCCESS = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
};

struct nvml_use {
	unsigned int pid;
	unsigned long long at_us; /* wall clock */
	unsigned int sm_pct, memory_pct, encoder_pct, decoder_pct;
};
_Static_assert(sizeof(struct nvml_use) == 32, "nvmlProcessUtilizationSample_t");

struct nvml_process {
	unsigned int pid;
	unsigned long long memory_bytes; /* all bits set: unknown */
	unsigned int gpu_instance, compute_instance;
};
_Static_assert(sizeof(struct nvml_process) == 24, "nvmlProcessInfo_v2_t");

struct nvml_sample {
	unsigned long long at_us; /* wall clock */
	union {
		unsigned int pct;
		double unused; /* has the size of the largest type */
	} value;
};
_Static_assert(sizeof(struct nvml_sample) == 16, "nvmlSample_t");

struct nvml_rates {
	unsigned int gpu_pct, memory_pct;
};

typedef void *nvml_device;

struct nvml_calls {
	enum nvml_result (*init)(void);
	enum nvml_result (*shutdown)(void);
	const char *(*error)(enum nvml_result result);
	enum nvml_result (*count)(unsigned int *n);
	enum nvml_result (*by_index)(unsigned int index, nvml_device *device);
	enum nvml_result (*by_address)(const char *address, nvml_device *device);
	enum nvml_result (*uses)(nvml_device device, struct nvml_use *uses, unsigned int *n,
				 unsigned long long since_us);
	enum nvml_result (*samples)(nvml_device device, int kind, unsigned long long since_us,
				    int *value_type, unsigned int *n, struct nvml_sample *samples);
	enum nvml_result (*compute)(nvml_device device, unsigned int *n,
				    struct nvml_process *processes);
	enum nvml_result (*graphics)(nvml_device device, unsigned int *n,
				     struct nvml_process *processes);
	enum nvml_result (*rates)(nvml_device device, struct nvml_rates *rates); /* or NULL */
};

#define OPTIONAL "nvmlDeviceGetUtilizationRates"

static const struct {
	const char *name;
	size_t offset;
} symbols[] = {
	{"nvmlInit_v2", offsetof(struct nvml_calls, init)},
	{"nvmlShutdown", offsetof(struct nvml_calls, shutdown)},
	{"nvmlErrorString", offsetof(struct nvml_calls, error)},
	{"nvmlDeviceGetCount_v2", offsetof(struct nvml_calls, count)},
	{"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml_calls, by_index)},
	{"nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct nvml_calls, by_address)},
	{"nvmlDeviceGetProcessUtilization", offsetof(struct nvml_calls, uses)},
	{"nvmlDeviceGetSamples", offsetof(struct nvml_calls, samples)},
	{"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(struct nvml_calls, compute)},
	{"nvmlDeviceGetGraphicsRunningProcesses_v3", offsetof(struct nvml_calls, graphics)},
	{OPTIONAL, offsetof(struct nvml_calls, rates)},
};

enum { CLASS_SM, CLASS_ENCODER, CLASS_DECODER };

struct entry {
	pid_t pid;
	int tenant;
	unsigned samples; /* since truth_tenant_fn was called */
	bool listed;	  /* it runs, or it ended after the last sample */
	/* in the last DIVIDED_US */
	double sm_pct, encoder_pct, decoder_pct;
	bool memory_valid;
	uint64_t memory_bytes;
};

struct truth_state {
	const struct truth_config *config; /* of the caller, which outlives this state */
	void *library;			   /* NULL: closed after an error */
	bool initialised;
	struct err problem; /* why it is closed */
	struct backoff backoff;
	bool begins; /* the last sample opened it again, so that the use since is unknown */
	struct nvml_calls calls;
	nvml_device device;
	unsigned long long busy_us; /* time of the last sample of the GPU */
	unsigned long long uses_us; /* time of the last sample that has a process */
	double busy_pct;	    /* mean of the last samples of the GPU */
	uint64_t silent_ns;	    /* time without a sample of the GPU */
	uint64_t unnamed_ns;	    /* time in which the GPU was busy, but no process was named */
	struct nvml_sample *samples;
	unsigned int n_samples; /* that @samples can hold */
	struct entry entries[TRUTH_USERS_MAX];
	int n_entries;
	struct nvml_use uses[TRUTH_USERS_MAX];
	struct nvml_process processes[TRUTH_USERS_MAX];
};

/* --- opening --- */

static void close_library(struct truth_state *state)
{
	if (state->initialised)
		(void)state->calls.shutdown();
	if (state->library)
		dlclose(state->library);
	free(state->samples);
	state->initialised = false;
	state->library = NULL;
	state->samples = NULL;
}

static void nvml_close(struct truth_state *state)
{
	if (!state)
		return;
	close_library(state);
	free(state);
}

static int load(const char *path, struct truth_state *state, struct err *reterr)
{
	state->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!state->library)
		return err_fail(reterr, EOPNOTSUPP, "NVML: %.300s (it belongs to NVIDIA's driver)",
				dlerror());
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *symbol = dlsym(state->library, symbols[i].name);

		if (!symbol && strcmp(symbols[i].name, OPTIONAL) != 0)
			return err_fail(reterr, EOPNOTSUPP,
					"NVML: %s has no function %s: the driver is too old (510 "
					"or later is needed)",
					path, symbols[i].name);
		memcpy((char *)&state->calls + symbols[i].offset, &symbol, sizeof(symbol));
	}
	return 0;
}

static int find_device(struct truth_state *state, const char *address, struct err *reterr)
{
	unsigned int n = 0;
	enum nvml_result r;

	if (address[0]) {
		r = state->calls.by_address(address, &state->device);
		return r == NVML_SUCCESS ? 0
					 : err_fail(reterr, EOPNOTSUPP, "NVML: GPU %s: %s", address,
						    state->calls.error(r));
	}
	r = state->calls.count(&n);
	if (r == NVML_SUCCESS && n != 1)
		return err_fail(
			reterr, n ? EINVAL : EOPNOTSUPP,
			"NVML: this host has %u GPUs (set parent to the PCI address of one)", n);
	if (r == NVML_SUCCESS)
		r = state->calls.by_index(0, &state->device);
	return r == NVML_SUCCESS ? 0
				 : err_fail(reterr, EOPNOTSUPP, "NVML: %s", state->calls.error(r));
}

/* Some GPUs and drivers do not report the use by each process. */
static int check_uses(struct truth_state *state, struct err *reterr)
{
	unsigned int n = TRUTH_USERS_MAX;
	enum nvml_result r = state->calls.uses(state->device, state->uses, &n, 0);

	if (r == NVML_SUCCESS || r == NVML_NOT_FOUND || r == NVML_INSUFFICIENT_SIZE)
		return 0;
	return err_fail(reterr, EOPNOTSUPP,
			"NVML: this GPU does not report its use by each process: %s",
			state->calls.error(r));
}

/* Allocates the buffer for the samples of the GPU. */
static int prepare_samples(struct truth_state *state, struct err *reterr)
{
	int type = VALUE_UINT;
	enum nvml_result r = state->calls.samples(state->device, SAMPLES_BUSY, 0, &type,
						  &state->n_samples, NULL);

	if (r != NVML_SUCCESS && r != NVML_NOT_FOUND)
		return err_fail(reterr, EOPNOTSUPP, "NVML: this GPU does not report its use: %s",
				state->calls.error(r));
	if (state->n_samples == 0 || state->n_samples > SAMPLES_MAX)
		return err_fail(reterr, EOPNOTSUPP,
				"NVML: the library reports %u samples of a GPU (allowed: 1..%d)",
				state->n_samples, SAMPLES_MAX);
	state->samples = xcalloc(state->n_samples, sizeof(*state->samples));
	return 0;
}

/* Opens the library and finds the GPU. The library is closed after an error. */
static int open_library(struct truth_state *state, struct err *reterr)
{
	const char *path = state->config->nvml_library;
	enum nvml_result result;
	int r = load(path ? path : LIBRARY, state, reterr);

	if (r == 0) {
		result = state->calls.init();
		state->initialised = result == NVML_SUCCESS;
		if (!state->initialised)
			r = err_fail(reterr, EOPNOTSUPP, "NVML: %s", state->calls.error(result));
	}
	if (r == 0)
		r = find_device(state, state->config->device, reterr);
	if (r == 0)
		r = check_uses(state, reterr);
	if (r == 0)
		r = prepare_samples(state, reterr);
	if (r < 0)
		close_library(state);
	return r;
}

static int nvml_open(const struct truth_config *config, struct truth_state **ret_state,
		     struct err *reterr)
{
	struct truth_state *state = xcalloc(1, sizeof(*state));
	int r;

	state->config = config;
	r = open_library(state, reterr);
	if (r < 0) {
		nvml_close(state);
		return r;
	}
	*ret_state = state;
	return 0;
}

/* Returns 0 if the library is open, and otherwise an error with a problem. */
static int reopen(struct truth_state *state, uint64_t now_ns, struct err *reterr)
{
	bool due = backoff_is_due(&state->backoff, now_ns);

	if (state->library)
		return 0;
	if (due)
		backoff_fail(&state->backoff, now_ns);
	if (!due || open_library(state, &state->problem) < 0)
		return err_fail(reterr, EIO, "%s", state->problem.msg);
	state->n_entries = 0;
	state->busy_us = state->uses_us = 0;
	state->silent_ns = state->unnamed_ns = 0;
	state->begins = true;
	return 0;
}

/* Stores the text of @result for the report. */
static int fail(const struct truth_state *state, const char *what, enum nvml_result result,
		struct err *reterr)
{
	return err_fail(reterr, EIO, "NVML: %s: %s", what, state->calls.error(result));
}

/* --- sampling --- */

static struct entry *find_entry(struct truth_state *state, pid_t pid)
{
	for (int i = 0; i < state->n_entries; i++)
		if (state->entries[i].pid == pid)
			return &state->entries[i];
	return NULL;
}

static struct entry *get_entry(struct truth_state *state, pid_t pid, struct truth_counts *counts)
{
	struct entry *entry = find_entry(state, pid);

	if (entry)
		return entry;
	if (state->n_entries == TRUTH_USERS_MAX) {
		counts->ignored++;
		return NULL;
	}
	entry = &state->entries[state->n_entries++];
	*entry = (struct entry){.pid = pid,
				.tenant = state->config->tenant(state->config->userdata, pid)};
	return entry;
}

static double percent(unsigned int value)
{
	return value < 100 ? value : 100;
}

/* Finds the busy time of the GPU since the last sample. */
static int take_busy(struct truth_state *state, unsigned long long now_us, uint64_t passed_ns,
		     struct err *reterr)
{
	/* If the wall clock was set back, the last sample is in the future. */
	unsigned long long since_us = state->busy_us > now_us + US_PER_S ? now_us : state->busy_us;
	unsigned int n = state->n_samples, n_new = 0;
	int type = VALUE_UINT;
	double sum_pct = 0;
	enum nvml_result r = state->calls.samples(state->device, SAMPLES_BUSY, since_us, &type, &n,
						  state->samples);

	if (r == NVML_NOT_FOUND)
		n = 0;
	else if (r != NVML_SUCCESS)
		return fail(state, "use of the GPU", r, reterr);
	else if (type != VALUE_UINT)
		return err_fail(reterr, EIO, "NVML: use of the GPU: unknown type %d", type);
	state->busy_us = since_us;
	for (unsigned int i = 0; i < n && i < state->n_samples; i++) {
		const struct nvml_sample *sample = &state->samples[i];

		if (sample->at_us <= since_us)
			continue;
		if (sample->at_us > state->busy_us)
			state->busy_us = sample->at_us;
		sum_pct += percent(sample->value.pct);
		n_new++;
	}
	state->silent_ns = n_new ? 0 : state->silent_ns + passed_ns;
	if (n_new)
		state->busy_pct = sum_pct / n_new;
	else if (state->silent_ns >= SILENT_NS)
		state->busy_pct = 0;
	return 0;
}

static int take_uses(struct truth_state *state, unsigned long long now_us,
		     struct truth_counts *counts, struct err *reterr)
{
	unsigned long long since_us = now_us > DIVIDED_US ? now_us - DIVIDED_US : 0;
	unsigned long long last_us = state->uses_us > now_us + US_PER_S ? 0 : state->uses_us;
	unsigned int n = TRUTH_USERS_MAX;
	enum nvml_result r = state->calls.uses(state->device, state->uses, &n, since_us);

	if (r == NVML_NOT_FOUND)
		n = 0;
	else if (r == NVML_INSUFFICIENT_SIZE)
		return err_fail(reterr, ENOBUFS, "NVML: more than %d processes use the GPU",
				TRUTH_USERS_MAX);
	else if (r != NVML_SUCCESS)
		return fail(state, "use by each process", r, reterr);
	state->uses_us = last_us;
	for (unsigned int i = 0; i < n && i < TRUTH_USERS_MAX; i++) {
		const struct nvml_use *use = &state->uses[i];
		struct entry *entry;

		/* The buffer can contain entries without a process, and old ones. */
		if (use->pid == 0 || use->pid > INT32_MAX || use->at_us <= since_us)
			continue;
		/* A process without a new sample is idle, or has ended. */
		entry = use->at_us > last_us ? get_entry(state, (pid_t)use->pid, counts)
					     : find_entry(state, (pid_t)use->pid);
		if (!entry)
			continue;
		entry->listed |= use->at_us > last_us;
		if (use->at_us > state->uses_us)
			state->uses_us = use->at_us;
		entry->sm_pct = percent(use->sm_pct);
		entry->encoder_pct = percent(use->encoder_pct);
		entry->decoder_pct = percent(use->decoder_pct);
	}
	return 0;
}

/* Returns false if the list cannot be read. */
static bool take_processes(struct truth_state *state, struct truth_counts *counts,
			   enum nvml_result (*list)(nvml_device device, unsigned int *n,
						    struct nvml_process *processes))
{
	unsigned int n = TRUTH_USERS_MAX;

	if (list(state->device, &n, state->processes) != NVML_SUCCESS)
		return false;
	for (unsigned int i = 0; i < n && i < TRUTH_USERS_MAX; i++) {
		const struct nvml_process *process = &state->processes[i];
		struct entry *entry;

		if (process->pid == 0 || process->pid > INT32_MAX)
			continue;
		entry = get_entry(state, (pid_t)process->pid, counts);
		if (!entry)
			continue;
		entry->listed = true;
		/* A program with compute and graphics is in both lists, with the same memory. */
		if (process->memory_bytes == ~0ULL)
			continue;
		entry->memory_valid = true;
		if (process->memory_bytes > entry->memory_bytes)
			entry->memory_bytes = process->memory_bytes;
	}
	return true;
}

static void begin_sample(struct truth_state *state)
{
	for (int i = 0; i < state->n_entries; i++) {
		struct entry *entry = &state->entries[i];

		entry->listed = entry->memory_valid = false;
		entry->memory_bytes = 0;
		entry->sm_pct = entry->encoder_pct = entry->decoder_pct = 0;
	}
}

static void write_user(const struct entry *entry, double busy_ns, uint64_t passed_ns,
		       struct truth_user *user)
{
	*user = (struct truth_user){
		.pid = entry->pid,
		/* NVML lists a process that has ended for a while. */
		.tenant = entry->tenant == TRUTH_TENANT_UNKNOWN && entry->samples < UNKNOWN_SAMPLES
				  ? TRUTH_TENANT_NONE
				  : entry->tenant,
		.memory_valid = entry->memory_valid,
		.memory_bytes = entry->memory_bytes,
	};
	user->grown_ns[CLASS_SM] = busy_ns;
	user->grown_ns[CLASS_ENCODER] = entry->encoder_pct * (double)passed_ns / 100;
	user->grown_ns[CLASS_DECODER] = entry->decoder_pct * (double)passed_ns / 100;
}

/* Divides the busy time of the GPU among the listed processes. */
static void divide(struct truth_state *state, uint64_t passed_ns, struct truth_sheet *sheet)
{
	double busy_ns = state->busy_pct / 100 * (double)passed_ns, all_pct = 0;
	int n = 0;

	for (int i = 0; i < state->n_entries; i++)
		all_pct += state->entries[i].listed ? state->entries[i].sm_pct : 0;
	for (int i = 0; i < state->n_entries; i++) {
		struct entry *entry = &state->entries[i];

		if (!entry->listed)
			continue;
		if (++entry->samples % TRUTH_TENANT_SAMPLES == 0 ||
		    entry->tenant == TRUTH_TENANT_UNKNOWN)
			entry->tenant = state->config->tenant(state->config->userdata, entry->pid);
		write_user(entry, all_pct > 0 ? busy_ns * entry->sm_pct / all_pct : 0, passed_ns,
			   &sheet->users[n]);
		state->entries[n++] = *entry;
	}
	state->n_entries = n;
	/* No sample has a process that still runs. The GPU was busy all the same. */
	state->unnamed_ns =
		all_pct == 0 && state->busy_pct >= UNNAMED_PCT ? state->unnamed_ns + passed_ns : 0;
	if (all_pct == 0 && busy_ns > 0 && n < TRUTH_USERS_MAX)
		sheet->users[n++] = (struct truth_user){.tenant = TRUTH_TENANT_NONE,
							.grown_ns = {[CLASS_SM] = busy_ns}};
	sheet->n_users = (size_t)n;
}

/* Returns true if the GPU itself reports that it is idle, or that no process uses it. */
static bool is_idle(const struct truth_state *state, bool lists)
{
	struct nvml_rates rates = {.gpu_pct = 100}; /* busy until NVML says otherwise */

	if (state->calls.rates && state->calls.rates(state->device, &rates) == NVML_SUCCESS)
		return rates.gpu_pct == 0;
	return lists && state->n_entries == 0;
}

/* @lists: at least one list of processes can be read. */
static void check(const struct truth_state *state, bool lists, struct truth_sheet *sheet)
{
	struct err *problem = &sheet->problem;

	if (state->begins)
		(void)err_fail(problem, ENODATA, "%.300s (NVML was opened again just now)",
			       state->problem.msg);
	else if (sheet->counts.ignored > 0)
		(void)err_fail(problem, ENODATA, "NVML: more than %d processes use the GPU",
			       TRUTH_USERS_MAX);
	else if (state->silent_ns >= SILENT_NS && !is_idle(state, lists))
		(void)err_fail(problem, ENODATA,
			       "NVML has no sample of the GPU, which is not shown to be idle");
	else if (state->unnamed_ns >= UNNAMED_NS)
		(void)err_fail(problem, ENODATA,
			       "NVML: the GPU is busy (%.0f %%), but no process is named (run "
			       "gover-d in the PID namespace of the host)",
			       state->busy_pct);
}

static int take_sample(struct truth_state *state, uint64_t passed_ns, struct truth_sheet *sheet)
{
	unsigned long long now_us = (unsigned long long)clock_now().wall_ms * 1000;
	bool compute, graphics;
	int r;

	begin_sample(state);
	r = take_busy(state, now_us, passed_ns, &sheet->problem);
	if (r == 0)
		r = take_uses(state, now_us, &sheet->counts, &sheet->problem);
	if (r < 0)
		return r;
	compute = take_processes(state, &sheet->counts, state->calls.compute);
	graphics = take_processes(state, &sheet->counts, state->calls.graphics);
	sheet->counts.denied = !compute && !graphics;
	divide(state, passed_ns, sheet);
	check(state, compute || graphics, sheet);
	return 0;
}

static int nvml_sample(struct truth_state *state, uint64_t now_ns, uint64_t passed_ns,
		       struct truth_sheet *sheet)
{
	int r = reopen(state, now_ns, &sheet->problem);

	if (r < 0)
		return r;
	sheet->counts = (struct truth_counts){.clients = 0};
	r = take_sample(state, state->begins ? 0 : passed_ns, sheet);
	state->begins = false;
	if (r == -EIO) {
		state->problem = sheet->problem;
		backoff_reset(&state->backoff);
		backoff_fail(&state->backoff, now_ns);
		close_library(state);
	}
	return r;
}

const struct truth_source truth_nvml = {
	.name = "nvml",
	.open = nvml_open,
	.close = nvml_close,
	.sample = nvml_sample,
};
