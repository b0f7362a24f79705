/* SPDX-License-Identifier: MIT */
/* Helpers that the checks of the backends share. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gpu/diagnose.h"

#define STATUS_MAX 65536

bool diagnose_uses(const struct gpu_host *host, const char *backend)
{
	for (int i = 0; i < host->n_used; i++)
		if (strcmp(host->used[i], backend) == 0)
			return true;
	return false;
}

enum finding_state diagnose_missing(const struct gpu_host *host, const char *backend)
{
	return diagnose_uses(host, backend) ? FINDING_FAIL : FINDING_WARN;
}

void diagnose_path(const struct gpu_host *host, const char *path, char full[PATH_MAX])
{
	snprintf(full, PATH_MAX, "%s%s", host->root, path);
}

int diagnose_each(const struct gpu_host *host, const char *pattern, diagnose_fn found,
		  void *userdata)
{
	char path[PATH_MAX];

	diagnose_path(host, pattern, path);
	return file_each_match(path, found, userdata);
}

bool diagnose_capabilities(const struct gpu_host *host, unsigned long long *ret_bits)
{
	CLEANUP_FREE char *status = NULL;
	char name[64], path[PATH_MAX];
	const char *line;

	snprintf(name, sizeof(name), "/proc/%ld/status", (long)host->pid);
	diagnose_path(host, name, path);
	if (host->pid <= 0 || file_read(path, STATUS_MAX, &status, NULL) < 0)
		return false;
	line = strstr(status, "\nCapEff:");
	return line && sscanf(line, "\nCapEff: %llx", ret_bits) == 1;
}
