/* SPDX-License-Identifier: MIT */
/*
 * Keeps the list of library files to which the BPF program is attached, and runs the thread that
 * finds new files. Internal to monitor/bpf. A file system of a tenant may block the thread forever,
 * so the event loop never waits for the thread.
 */
#ifndef MONITOR_BPF_FILES_H
#define MONITOR_BPF_FILES_H

#include <bpf/libbpf.h>
#include <stdbool.h>

struct fps_bpf_files;

/*
 * Attaches @present to the libraries of the host and starts the thread. Returns 0, or a negative
 * errno if no library could be attached. @present must stay valid until fps_bpf_files_free()
 * succeeds.
 */
int fps_bpf_files_new(struct bpf_program *present, struct fps_bpf_files **ret_files);
/*
 * Detaches from all files. @files may be NULL. Returns false if the thread is blocked. In this case
 * nothing is freed, and the caller must not free @present.
 */
bool fps_bpf_files_free(struct fps_bpf_files *files);

/*
 * Start and stop scanning the programs of a control group. fps_bpf_files_add() returns 0 or a
 * negative errno.
 */
int fps_bpf_files_add(struct fps_bpf_files *files, const char *id, const char *folder);
void fps_bpf_files_drop(struct fps_bpf_files *files, const char *id);

/* See fps_bpf_request_scan() and struct fps_bpf_stats. */
bool fps_bpf_files_request_scan(struct fps_bpf_files *files);
void fps_bpf_files_stats(const struct fps_bpf_files *files, int *ret_files, int *ret_refused);

#endif
