/* SPDX-License-Identifier: MIT */
/*
 * The checks of the requirements of backends on this host. A missing requirement is a failure if
 * the daemon uses the backend, and a warning otherwise. Read-only: nothing is created, loaded or
 * written.
 */
#ifndef GPU_DIAGNOSE_H
#define GPU_DIAGNOSE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/finding.h"

struct gpu_config;

/* The host, the daemon on it, and its configuration. */
struct gpu_host {
	const char *root;	 /* prefix of all paths; "" except in tests */
	const char *search_path; /* value of PATH */
	const char *exe;	 /* path of this program; the examples are in its prefix */
	pid_t pid;		 /* of the running daemon; 0: unknown */
	bool unit;		 /* gover-d.service of this host is or would be the daemon */
	const char *user;	 /* User= of the unit; "": root */
	bool protects_cgroups;	 /* ProtectControlGroups= of the unit */
	bool steered;		 /* a running daemon has set the time slices of GPUs */
	const char *const *used; /* names of the backends that the daemon uses */
	int n_used;
	bool configured; /* false: the configuration cannot be read */
	const struct gpu_config *const *gpus;
	int n_gpus;
};

/* A check of a backend, in the table gpu_ops.checks. */
struct gpu_check {
	const char *name; /* NULL: the end of the table */
	void (*run)(const struct gpu_host *host, struct finding *finding);
};

bool diagnose_uses(const struct gpu_host *host, const char *backend);
/* Returns how serious it is that a requirement of @backend is missing. */
enum finding_state diagnose_missing(const struct gpu_host *host, const char *backend);
/* Writes host->root followed by @path to @full. */
void diagnose_path(const struct gpu_host *host, const char *path, char full[PATH_MAX]);

typedef void (*diagnose_fn)(void *userdata, const char *path);
/*
 * Calls @found for each path that matches @pattern, glob(7), below the root. @found may be NULL.
 * Returns the number of these paths.
 */
int diagnose_each(const struct gpu_host *host, const char *pattern, diagnose_fn found,
		  void *userdata);
/* Reads the effective capabilities of the running daemon. Returns false if they are not known. */
bool diagnose_capabilities(const struct gpu_host *host, unsigned long long *ret_bits);

#endif
