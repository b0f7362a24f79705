/* SPDX-License-Identifier: MIT */
/* The environment of the device double. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "tests/double/setup.h"
#include "tests/double/store.h"

/* Writes the end of the path of this process's control group, which fits in a label. */
static void read_group(char label[DEVICE_LABEL])
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096];

	strcpy(label, "?");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		const char *path = strrchr(line, ':');
		size_t size;

		if (!path)
			continue;
		line[strcspn(line, "\n")] = '\0';
		path++;
		size = strlen(path);
		if (size >= DEVICE_LABEL)
			path += size - (DEVICE_LABEL - 1);
		memcpy(label, path, strlen(path) + 1);
		/* Version 2 has the hierarchy 0 and comes last. */
		if (strncmp(line, "0::", 3) == 0)
			break;
	}
	fclose(file);
}

int setup_read(struct setup *ret_setup)
{
	const char *path = getenv("GOVER_DOUBLE"), *memory = getenv("GOVER_DOUBLE_MEMORY");
	const char *label = getenv("GOVER_DOUBLE_LABEL");
	int64_t bytes = STORE_MEMORY;

	if (!path || path[0] == '\0') {
		fputs("gover-double: GOVER_DOUBLE: required (path of the state file)\n", stderr);
		return -ENOENT;
	}
	if (memory && parse_int(memory, 1, INT64_MAX, &bytes) < 0) {
		fprintf(stderr,
			"gover-double: GOVER_DOUBLE_MEMORY: invalid value '%s' (allowed: bytes)\n",
			memory);
		return -EINVAL;
	}
	ret_setup->path = path;
	ret_setup->memory_bytes = (uint64_t)bytes;
	if (label && label[0] != '\0')
		snprintf(ret_setup->label, DEVICE_LABEL, "%s", label);
	else
		read_group(ret_setup->label);
	return 0;
}

const char *setup_kernels(void)
{
	const char *kernels = getenv("GOVER_DOUBLE_KERNELS");

	return kernels ? kernels : "";
}
