/* SPDX-License-Identifier: MIT */
/*
 * Host truth from the library of NVIDIA's driver, which is loaded if it exists. The declarations
 * follow nvml.h of CUDA 12 (NVML API reference, "Device Queries"). NVML reports the mean use of
 * each process since the last call, in percent of the GPU; a process without work has no sample. It
 * does not attribute use to the parts of a GPU in MIG mode.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "monitor/truth/source.h"

#define LIBRARY "libnvidia-ml.so.1"

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
	enum nvml_result (*compute)(nvml_device device, unsigned int *n,
				    struct nvml_process *processes);
	enum nvml_result (*graphics)(nvml_device device, unsigned int *n,
				     struct nvml_process *processes);
};

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
	{"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(struct nvml_calls, compute)},
	{"nvmlDeviceGetGraphicsRunningProcesses_v3", offsetof(struct nvml_calls, graphics)},
};

enum { CLASS_SM, CLASS_ENCODER, CLASS_DECODER };

struct entry {
	pid_t pid;
	int tenant;
	unsigned samples; /* since the tenant was asked */
	bool listed;	  /* in this sample */
	int n_uses;	  /* samples of NVML that are added up in the members below */
	double sm_pct, encoder_pct, decoder_pct;
	bool memory_valid;
	uint64_t memory_bytes;
};

struct truth_state {
	void *library;
	bool initialised;
	struct nvml_calls calls;
	nvml_device device;
	truth_tenant_fn tenant;
	void *userdata;
	unsigned long long since_us;
	struct entry entries[TRUTH_USERS_MAX];
	int n_entries;
	struct nvml_use uses[TRUTH_USERS_MAX];
	struct nvml_process processes[TRUTH_USERS_MAX];
};

/* --- opening --- */

static void nvml_close(struct truth_state *state)
{
	if (!state)
		return;
	if (state->initialised)
		(void)state->calls.shutdown();
	if (state->library)
		dlclose(state->library);
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

		if (!symbol)
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

/* Some GPUs and drivers have no use by process; find this out at the start. */
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

static int nvml_open(const struct truth_config *config, struct truth_state **ret_state,
		     struct err *reterr)
{
	struct truth_state *state = calloc(1, sizeof(*state));
	enum nvml_result result;
	int r;

	if (!state)
		return err_fail(reterr, ENOMEM, "out of memory");
	state->tenant = config->tenant;
	state->userdata = config->userdata;
	r = load(config->nvml_library ? config->nvml_library : LIBRARY, state, reterr);
	if (r == 0) {
		result = state->calls.init();
		state->initialised = result == NVML_SUCCESS;
		if (!state->initialised)
			r = err_fail(reterr, EOPNOTSUPP, "NVML: %s", state->calls.error(result));
	}
	if (r == 0)
		r = find_device(state, config->device, reterr);
	if (r == 0)
		r = check_uses(state, reterr);
	if (r < 0) {
		nvml_close(state);
		return r;
	}
	*ret_state = state;
	return 0;
}

/* --- sampling --- */

static struct entry *find_entry(struct truth_state *state, pid_t pid, struct truth_counts *counts)
{
	struct entry *entry = state->entries;

	for (int i = 0; i < state->n_entries; i++, entry++)
		if (entry->pid == pid)
			return entry;
	if (state->n_entries == TRUTH_USERS_MAX) {
		counts->ignored++;
		return NULL;
	}
	state->n_entries++;
	*entry = (struct entry){.pid = pid, .tenant = state->tenant(state->userdata, pid)};
	return entry;
}

static double percent(unsigned int value)
{
	return value < 100 ? value : 100;
}

static int take_uses(struct truth_state *state, struct truth_counts *counts)
{
	unsigned long long since_us = state->since_us;
	unsigned int n = TRUTH_USERS_MAX;
	enum nvml_result r = state->calls.uses(state->device, state->uses, &n, since_us);

	if (r == NVML_NOT_FOUND)
		n = 0;
	else if (r != NVML_SUCCESS)
		return r == NVML_INSUFFICIENT_SIZE ? -ENOBUFS : -EIO;
	for (unsigned int i = 0; i < n && i < TRUTH_USERS_MAX; i++) {
		const struct nvml_use *use = &state->uses[i];
		struct entry *entry;

		/* The buffer can contain entries without a process, and old ones. */
		if (use->pid == 0 || use->pid > INT32_MAX || use->at_us <= since_us)
			continue;
		if (use->at_us > state->since_us)
			state->since_us = use->at_us;
		entry = find_entry(state, (pid_t)use->pid, counts);
		if (!entry)
			continue;
		entry->listed = true;
		entry->n_uses++;
		entry->sm_pct += percent(use->sm_pct);
		entry->encoder_pct += percent(use->encoder_pct);
		entry->decoder_pct += percent(use->decoder_pct);
	}
	return 0;
}

/* A GPU without one of the two kinds of programs has only the other. */
static void take_processes(struct truth_state *state, struct truth_counts *counts,
			   enum nvml_result (*list)(nvml_device device, unsigned int *n,
						    struct nvml_process *processes))
{
	unsigned int n = TRUTH_USERS_MAX;

	if (list(state->device, &n, state->processes) != NVML_SUCCESS)
		return;
	for (unsigned int i = 0; i < n && i < TRUTH_USERS_MAX; i++) {
		const struct nvml_process *process = &state->processes[i];
		struct entry *entry;

		if (process->pid == 0 || process->pid > INT32_MAX)
			continue;
		entry = find_entry(state, (pid_t)process->pid, counts);
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
}

static void begin_sample(struct truth_state *state)
{
	for (int i = 0; i < state->n_entries; i++) {
		struct entry *entry = &state->entries[i];

		entry->listed = entry->memory_valid = false;
		entry->memory_bytes = 0;
		entry->n_uses = 0;
		entry->sm_pct = entry->encoder_pct = entry->decoder_pct = 0;
	}
}

static void write_user(const struct entry *entry, uint64_t passed_ns, struct truth_user *user)
{
	double mean = entry->n_uses ? 1.0 / entry->n_uses : 0, ns = (double)passed_ns / 100 * mean;

	*user = (struct truth_user){
		.pid = entry->pid,
		.tenant = entry->tenant,
		.memory_valid = entry->memory_valid,
		.memory_bytes = entry->memory_bytes,
	};
	user->grown_ns[CLASS_SM] = entry->sm_pct * ns;
	user->grown_ns[CLASS_ENCODER] = entry->encoder_pct * ns;
	user->grown_ns[CLASS_DECODER] = entry->decoder_pct * ns;
}

static int nvml_sample(struct truth_state *state, uint64_t passed_ns, struct truth_sheet *sheet)
{
	int r, n = 0;

	begin_sample(state);
	r = take_uses(state, &sheet->counts);
	if (r < 0)
		return r;
	take_processes(state, &sheet->counts, state->calls.compute);
	take_processes(state, &sheet->counts, state->calls.graphics);
	for (int i = 0; i < state->n_entries; i++) {
		struct entry *entry = &state->entries[i];

		if (!entry->listed)
			continue;
		if (++entry->samples % TRUTH_TENANT_SAMPLES == 0)
			entry->tenant = state->tenant(state->userdata, entry->pid);
		write_user(entry, passed_ns, &sheet->users[n]);
		state->entries[n++] = *entry;
	}
	state->n_entries = n;
	sheet->n_users = (size_t)n;
	sheet->times = true;
	return 0;
}

const struct truth_source truth_nvml = {
	.name = "nvml",
	.open = nvml_open,
	.close = nvml_close,
	.sample = nvml_sample,
};
