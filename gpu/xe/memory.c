/* SPDX-License-Identifier: MIT */
/* The file of caps and quanta: a line for the device, and a line for each function. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "gpu/xe/layout.h"
#include "gpu/xe/memory.h"

#define FILE_BYTES_MAX 32768
#define HEADER	       "gover-xe 1 %31s own %" SCNu32 " found %" SCNu32 "%n"

static bool parse_header(const char *line, const char *pci, struct xe_memory *memory)
{
	char of[XE_PCI_MAX];
	int length = -1;

	return sscanf(line, HEADER, of, &memory->own_ms, &memory->found_ms, &length) == 3 &&
	       length >= 0 && line[length] == '\0' && strcmp(of, pci) == 0 && memory->own_ms >= 1 &&
	       memory->own_ms <= XE_QUANTUM_MAX_MS && memory->found_ms <= XE_QUANTUM_MAX_MS;
}

static bool parse_function(const char *line, struct xe_memory *memory)
{
	struct xe_remembered is;
	int vf, length = -1;

	if (sscanf(line, "%d cap %d %" SCNu32 " before %d %" SCNu32 "%n", &vf, &is.cap_pct[1],
		   &is.quantum_ms[1], &is.cap_pct[0], &is.quantum_ms[0], &length) != 5 ||
	    length < 0 || line[length] != '\0' || vf < 0 || vf > XE_VFS_MAX)
		return false;
	for (int i = 0; i < 2; i++)
		if (is.cap_pct[i] < 0 || is.cap_pct[i] > 100)
			return false;
	memory->of[vf] = is;
	return true;
}

void xe_memory_load(const char *path, const char *pci, struct xe_memory *ret_memory)
{
	CLEANUP_FREE char *text = NULL;
	char *rest = NULL, *line;

	*ret_memory = (struct xe_memory){.valid = false};
	if (path[0] == '\0' || file_read(path, FILE_BYTES_MAX, &text, NULL) < 0)
		return;
	line = strtok_r(text, "\n", &rest);
	ret_memory->valid = line && parse_header(line, pci, ret_memory);
	while (ret_memory->valid && (line = strtok_r(NULL, "\n", &rest)))
		ret_memory->valid = parse_function(line, ret_memory);
}

/* Prints the file into a text of FILE_BYTES_MAX, which is enough for all functions. */
static size_t print(char *text, const char *pci, const struct xe_memory *memory)
{
	int at = snprintf(text, FILE_BYTES_MAX, "gover-xe 1 %s own %" PRIu32 " found %" PRIu32 "\n",
			  pci, memory->own_ms, memory->found_ms);

	for (int vf = 0; vf <= XE_VFS_MAX; vf++) {
		const struct xe_remembered *is = &memory->of[vf];

		if (is->quantum_ms[0] || is->quantum_ms[1])
			at += snprintf(text + at, FILE_BYTES_MAX - (size_t)at,
				       "%d cap %d %" PRIu32 " before %d %" PRIu32 "\n", vf,
				       is->cap_pct[1], is->quantum_ms[1], is->cap_pct[0],
				       is->quantum_ms[0]);
	}
	return (size_t)at;
}

static int write_text(const char *path, const char *text, size_t length)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, length);
	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -ENOSPC;
}

int xe_memory_save(const char *path, const char *pci, const struct xe_memory *memory)
{
	CLEANUP_FREE char *text = NULL;
	char fresh[PATH_MAX + sizeof(".new")];
	int r;

	if (path[0] == '\0')
		return 0;
	text = xmalloc(FILE_BYTES_MAX);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	r = write_text(fresh, text, print(text, pci, memory));
	if (r == 0 && rename(fresh, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(fresh);
	return r;
}
