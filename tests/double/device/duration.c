/* SPDX-License-Identifier: MIT */
/* Parsers of the times of kernels. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "tests/double/device/device.h"
#include "tests/double/device/duration.h"

#define ITEM_MAX 128

int duration_parse(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	size_t digits = strspn(text, "0123456789");
	char number[ITEM_MAX];
	int64_t value;
	int rc;

	if (digits >= sizeof(number))
		return -ERANGE;
	memcpy(number, text, digits);
	number[digits] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text + digits, units[i].name) != 0)
			continue;
		rc = parse_int(number, 0, (int64_t)DEVICE_LAUNCH_NS / units[i].ns, &value);
		if (rc < 0)
			return rc;
		*ret_ns = (uint64_t)(value * units[i].ns);
		return 0;
	}
	return -EINVAL;
}

/* Parses "TIME" or "TIME/group". */
static int parse_time(char *text, struct duration *ret_duration)
{
	char *slash = strchr(text, '/');
	uint64_t ns;

	if (slash) {
		if (strcmp(slash, "/group") != 0)
			return -EINVAL;
		*slash = '\0';
	}
	if (duration_parse(text, &ns) < 0)
		return -EINVAL;
	*ret_duration = slash ? (struct duration){0, ns} : (struct duration){ns, 0};
	return 0;
}

int duration_find(const char *list, const char *name, struct duration *ret_duration)
{
	bool is_found = false;

	for (list += strspn(list, " "); *list != '\0'; list += strspn(list, " ")) {
		size_t size = strcspn(list, " ");
		char item[ITEM_MAX], *equals;
		struct duration duration;

		if (size >= sizeof(item))
			return -EINVAL;
		memcpy(item, list, size);
		item[size] = '\0';
		list += size;
		equals = strchr(item, '=');
		if (!equals || equals == item || parse_time(equals + 1, &duration) < 0)
			return -EINVAL;
		*equals = '\0';
		if (strcmp(item, name) == 0) {
			*ret_duration = duration;
			return 1;
		}
		if (strcmp(item, "*") == 0) {
			*ret_duration = duration;
			is_found = true;
		}
	}
	return is_found;
}

/* Parses "NAME=N" if NAME is one of the two. Returns 1, 0 or -EINVAL. */
static int parse_define(const char *text, size_t size, struct duration *duration)
{
	char item[ITEM_MAX], *equals;
	int64_t value;
	bool per_group;

	if (size >= sizeof(item))
		return 0;
	memcpy(item, text, size);
	item[size] = '\0';
	equals = strchr(item, '=');
	if (!equals)
		return 0;
	*equals = '\0';
	per_group = strcmp(item, "NS_PER_GROUP") == 0;
	if (!per_group && strcmp(item, "NS") != 0)
		return 0;
	if (parse_int(equals + 1, 0, (int64_t)DEVICE_LAUNCH_NS, &value) < 0)
		return -EINVAL;
	*(per_group ? &duration->ns_per_group : &duration->ns) = (uint64_t)value;
	return 1;
}

int duration_of_options(const char *options, struct duration *ret_duration)
{
	struct duration duration = {0};
	bool is_found = false, is_name = false;

	for (options += strspn(options, " "); *options != '\0'; options += strspn(options, " ")) {
		size_t size = strcspn(options, " ");
		int rc = 0;

		if (is_name)
			rc = parse_define(options, size, &duration);
		else if (size > 2 && strncmp(options, "-D", 2) == 0)
			rc = parse_define(options + 2, size - 2, &duration);
		if (rc < 0)
			return rc;
		is_found = is_found || rc == 1;
		is_name = size == 2 && strncmp(options, "-D", 2) == 0;
		options += size;
	}
	if (is_found)
		*ret_duration = duration;
	return is_found;
}

uint64_t duration_of_launch(struct duration duration, uint64_t groups)
{
	uint64_t ns;

	if (__builtin_mul_overflow(duration.ns_per_group, groups, &ns) ||
	    __builtin_add_overflow(ns, duration.ns, &ns) || ns > DEVICE_LAUNCH_NS)
		return DEVICE_LAUNCH_NS;
	return ns;
}
