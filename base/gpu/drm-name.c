/* SPDX-License-Identifier: MIT */
/* A name is a PCI address or a DRM driver. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gpu/drm-name.h"

/* The drivers whose GPUs are not on the PCI bus. DRM_NAME_ALLOWED lists them, too. */
static const char *const off_pci[] = {"etnaviv", "lima", "msm", "panfrost", "panthor", "v3d"};

static bool is_off_pci(const char *driver)
{
	for (size_t i = 0; i < ARRAY_SIZE(off_pci); i++)
		if (strcmp(off_pci[i], driver) == 0)
			return true;
	return false;
}

/* Parses @digits hexadecimal digits at most, at least @least, and the character after them. */
static int parse_part(const char **at, size_t least, size_t digits, char end,
		      unsigned int *ret_part)
{
	size_t n = strspn(*at, "0123456789abcdefABCDEF");

	if (n < least || n > digits || (*at)[n] != end || sscanf(*at, "%x", ret_part) != 1)
		return -EINVAL;
	*at += n + (end != '\0');
	return 0;
}

static int parse_address(const char *text, char ret_name[GPU_PARENT_MAX])
{
	unsigned int domain = 0, bus = 0, device = 0, function = 0;
	const char *at = text, *colon = strchr(text, ':');
	int r = 0;

	if (colon && strchr(colon + 1, ':'))
		r = parse_part(&at, 4, 8, ':', &domain);
	if (r == 0)
		r = parse_part(&at, 2, 2, ':', &bus);
	if (r == 0)
		r = parse_part(&at, 2, 2, '.', &device);
	if (r == 0)
		r = parse_part(&at, 1, 1, '\0', &function);
	if (r < 0 || device > 31 || function > 7)
		return -EINVAL;
	snprintf(ret_name, GPU_PARENT_MAX, "%04x:%02x:%02x.%u", domain, bus, device, function);
	return 0;
}

int drm_name_parse(const char *text, char ret_name[GPU_PARENT_MAX])
{
	if (!is_off_pci(text))
		return parse_address(text, ret_name);
	strcpy(ret_name, text);
	return 0;
}
