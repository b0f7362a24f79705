/* SPDX-License-Identifier: MIT */
/*
 * Finds library files with functions that present: library files in the loader cache of the host,
 * and library files that programs of a control group have mapped, for example from a container.
 * Reading /proc may take long, so the event loop must not call these functions.
 */
#ifndef MONITOR_BPF_SCAN_H
#define MONITOR_BPF_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Called for each library file. Opening @path gives the mapped file, even if the file was deleted
 * or is visible in a container only.
 */
typedef void (*fps_bpf_found_fn)(void *userdata, const char *path);

/* Returns true for the names of libGL, libGLX, libEGL and libvulkan. @name has no folder. */
bool fps_bpf_scan_is_library(const char *name);

/* Calls @found for each matching library in the ld.so.cache file @cache. Returns 0 or a negative
 * errno (-EINVAL: unknown format). */
int fps_bpf_scan_cache(const char *cache, fps_bpf_found_fn found, void *userdata);

/* State between scans. A program that has run for long is not examined in every scan. */
struct fps_bpf_scan;
struct fps_bpf_scan *fps_bpf_scan_new(const char *proc);
struct fps_bpf_scan *fps_bpf_scan_free(struct fps_bpf_scan *scan); /* NULL is fine; returns NULL */

/*
 * A scan: begin, one call of fps_bpf_scan_group() for each control group, end. A scan examines at
 * most 256 programs in the groups and their subgroups. The next scan examines the remaining
 * programs.
 */
void fps_bpf_scan_begin(struct fps_bpf_scan *scan);
void fps_bpf_scan_group(struct fps_bpf_scan *scan, const char *folder, fps_bpf_found_fn found,
			void *userdata);
void fps_bpf_scan_end(struct fps_bpf_scan *scan);

/*
 * Number of scans in which every program is examined at least once, unless the number of programs
 * exceeds the limits.
 */
#define FPS_BPF_SCAN_ROUND 10

#endif
