/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes contracts files. An accepted file that is written again must contain the same contracts.
 */
#include "gover-d/store/contracts.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int parse_contracts(const void *data, size_t size, struct contracts *contracts)
{
	struct err err = {""};
	int r = contracts_parse(data, size, "file", contracts, &err);

	FUZZ_CHECK(r == 0 || strncmp(err.msg, "file", strlen("file")) == 0);
	return r;
}

static struct host_gpu *take_gpu(struct host *host, const char *name)
{
	struct host_gpu *gpu = host_find_gpu(host, name);

	if (gpu || host->n_gpus == GPUS_MAX)
		return gpu;
	gpu = &host->gpus[host->n_gpus++];
	memset(gpu, 0, sizeof(*gpu));
	FUZZ_CHECK(id_copy(gpu->config.name, name) == 0);
	return gpu;
}

/* Fills an empty host with the contracts. */
static void fill_host(struct host *host, struct contracts *contracts)
{
	for (int i = 0; i < contracts->n_gpus; i++) {
		struct host_gpu *gpu = take_gpu(host, contracts->gpus[i].name);

		FUZZ_CHECK(gpu);
		gpu->mode = contracts->gpus[i].mode;
		gpu->selling = contracts->gpus[i].selling;
	}
	for (size_t i = 0; i < contracts->n_vgpus; i++) {
		struct contract_entry *entry = &contracts->vgpus[i];
		struct host_gpu *gpu = take_gpu(host, entry->contract.gpu);
		struct vgpu *vgpu;

		/* The daemon also skips contracts of an unknown GPU, and a second contract of a
		 * vGPU. */
		if (!gpu || host_find_vgpu(host, entry->contract.id, NULL))
			continue;
		vgpu = calloc(1, sizeof(*vgpu));
		FUZZ_CHECK(vgpu);
		vgpu->contract = entry->contract;
		vgpu->found = entry->found;
		entry->contract.labels = NULL;
		host_gpu_insert(gpu, vgpu);
	}
}

static int empty_host(struct host *host)
{
	int n = 0;

	for (int i = 0; i < host->n_gpus; i++)
		while (host->gpus[i].vgpus) {
			struct vgpu *vgpu = host->gpus[i].vgpus;

			host_gpu_remove(&host->gpus[i], vgpu);
			vgpu_free(&host->gpus[i], vgpu);
			n++;
		}
	host->n_gpus = 0;
	return n;
}

/* Reads a contracts file and returns its contracts as a new file. NULL: the file is rejected. */
static char *read_and_write(const void *data, size_t size, int *ret_n)
{
	static struct host host;
	struct contracts contracts = {0};
	struct contracts_head head;
	char *text;

	if (parse_contracts(data, size, &contracts) < 0)
		return NULL;
	head = contracts.head;
	fill_host(&host, &contracts);
	contracts_fini(&contracts);
	text = contracts_encode(&host, &head);
	FUZZ_CHECK(text);
	*ret_n = empty_host(&host);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int n, n_again;
	CLEANUP_FREE char *text = read_and_write(data, size, &n);
	CLEANUP_FREE char *again = text ? read_and_write(text, strlen(text), &n_again) : NULL;

	if (!text)
		return 0;
	FUZZ_CHECK(again);
	FUZZ_CHECK(strcmp(text, again) == 0);
	FUZZ_CHECK(n == n_again);
	return 0;
}
