/* SPDX-License-Identifier: MIT */
/*
 * Which library files that present are in use: those the host's loader knows, and those that the
 * programs of a control group have mapped, which in a container are its own. Reads /proc and may
 * take long: not for the tick. Must never trust a name it reads there with more than being opened.
 */
#ifndef MONITOR_BPF_SCAN_H
#define MONITOR_BPF_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* @path opens the very file that is meant, also where it has no name any more or one that only a
 * container knows. */
typedef void (*fps_bpf_found_fn)(void *userdata, const char *path);

/* True for libGL, libGLX, libEGL and libvulkan; @name has no folder. */
bool fps_bpf_scan_is_library(const char *name);

/* Calls @found for what an ld.so.cache lists. 0, or a negative errno: there is none, or it is of a
 * kind not known. */
int fps_bpf_scan_cache(const char *cache, fps_bpf_found_fn found, void *userdata);

/* Remembers which programs it has looked at how often: old ones are looked at now and then. */
struct fps_bpf_scan;
int fps_bpf_scan_new(const char *proc, struct fps_bpf_scan **ret_scan);
struct fps_bpf_scan *fps_bpf_scan_free(struct fps_bpf_scan *scan); /* NULL is fine; returns NULL */

/* Looks at the programs in the control group whose folder is @folder, and in those below. At most
 * 256 programs between begin and end; who had no turn is first the next time. */
void fps_bpf_scan_begin(struct fps_bpf_scan *scan);
void fps_bpf_scan_group(struct fps_bpf_scan *scan, const char *folder, fps_bpf_found_fn found,
			void *userdata);
void fps_bpf_scan_end(struct fps_bpf_scan *scan);

/* Every program is looked at at least once in so many scans, when no more run than have turns. */
#define FPS_BPF_SCAN_ROUND 10

#endif
