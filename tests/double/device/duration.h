/* SPDX-License-Identifier: MIT */
/*
 * The time that a launch of a kernel takes on the device double: a constant part, and a part for
 * each work-group. In order of precedence, the time is given by
 *	arguments of the kernel named `ns` and `ns_per_group`, of type ulong;
 *	build options -D NS=N and -D NS_PER_GROUP=N;
 *	the environment GOVER_DOUBLE_KERNELS: "NAME=TIME NAME=TIME/group *=TIME".
 * The name * is any kernel. TIME is an integer with the unit ns, us, ms or s.
 */
#ifndef TESTS_DOUBLE_DEVICE_DURATION_H
#define TESTS_DOUBLE_DEVICE_DURATION_H

#include <stdint.h>

#define DURATION_DEFAULT_NS 10000

struct duration {
	uint64_t ns, ns_per_group;
};

/* Parses TIME. Returns 0, -EINVAL or -ERANGE (more than 1000 s). */
int duration_parse(const char *text, uint64_t *ret_ns);

/*
 * Finds the time of the kernel @name in a list as in GOVER_DOUBLE_KERNELS. Returns 1, 0 if the list
 * does not contain the kernel, or -EINVAL if an item before it is malformed.
 */
int duration_find(const char *list, const char *name, struct duration *ret_duration);

/* Finds NS and NS_PER_GROUP in build options. Returns 1, 0 if there is none, or -EINVAL. */
int duration_of_options(const char *options, struct duration *ret_duration);

/* The time of a launch of @groups work-groups, at most 1000 s. */
uint64_t duration_of_launch(struct duration duration, uint64_t groups);

#endif
