/* SPDX-License-Identifier: MIT */
/*
 * Which library files that present are in use: those the host's loader knows, and those that the
 * programs of a control group have mapped, which in a container are its own. Reads /proc and may
 * take long: not for the tick. Must never trust a name it reads there with more than being opened.
 */
#ifndef MONITOR_BPF_SCAN_H
#define MONITOR_BPF_SCAN_H

#include <stddef.h>

/* @path opens the very file that is meant, also where it has no name any more or one that only a
 * container knows. */
typedef void (*present_found_fn)(void *userdata, const char *path);

/* Calls @found for what an ld.so.cache lists. 0, or a negative errno: there is none, or it is of a
 * kind not known. */
int present_scan_cache(const char *cache, present_found_fn found, void *userdata);

/* Remembers which programs it has looked at how often: old ones are looked at now and then. */
struct present_scan;
int present_scan_new(const char *proc, struct present_scan **ret_scan);
struct present_scan *present_scan_free(struct present_scan *scan); /* NULL is fine; returns NULL */

/* Looks at the programs in the control group whose folder is @folder, and in those below. At most
 * 256 programs between begin and end; who had no turn is first the next time. */
void present_scan_begin(struct present_scan *scan);
void present_scan_group(struct present_scan *scan, const char *folder, present_found_fn found,
			void *userdata);
void present_scan_end(struct present_scan *scan);

/* Every program is looked at at least once in so many scans, when no more run than have turns. */
#define PRESENT_SCAN_ROUND 10

#endif
