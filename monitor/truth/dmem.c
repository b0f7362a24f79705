/* SPDX-License-Identifier: MIT */
/*
 * Device memory of a control group (Documentation/admin-guide/cgroup-v2.rst, DMEM). The format of a
 * line is "REGION BYTES"; the DRM core names a region "drm/DEVICE/NAME".
 */
#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "monitor/truth/truth.h"

#define LINE_MAX_LENGTH 256

/* Returns true if @region is "drm/DEVICE/..." */
static bool is_region_of(const char *region, const char *device)
{
	size_t n = strlen(device);

	return strncmp(region, "drm/", 4) == 0 && strncmp(region + 4, device, n) == 0 &&
	       region[4 + n] == '/';
}

/* Adds one line. Returns 1 if it has no limit. */
static int add_line(char *line, const char *device, bool *found, uint64_t *sum)
{
	char *space = strrchr(line, ' ');
	int64_t bytes;

	if (!space || space == line)
		return -EINVAL;
	*space = '\0';
	if (!is_region_of(line, device))
		return 0;
	*found = true;
	if (strcmp(space + 1, "max") == 0)
		return 1;
	if (parse_int(space + 1, 0, INT64_MAX, &bytes) < 0 ||
	    __builtin_add_overflow(*sum, (uint64_t)bytes, sum))
		return -EINVAL;
	return 0;
}

int truth_parse_dmem(const char *text, const char *device, uint64_t *ret_bytes)
{
	bool found = false, unlimited = false;
	uint64_t sum = 0;

	while (*text) {
		size_t n = strcspn(text, "\n");
		char line[LINE_MAX_LENGTH];
		int r;

		if (n >= sizeof(line))
			return -EINVAL;
		memcpy(line, text, n);
		line[n] = '\0';
		r = n ? add_line(line, device, &found, &sum) : 0;
		if (r < 0)
			return r;
		unlimited |= r > 0;
		text += n + (text[n] == '\n');
	}
	if (!found)
		return -ENODATA;
	if (unlimited)
		return -ERANGE;
	*ret_bytes = sum;
	return 0;
}
