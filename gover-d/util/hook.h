/* SPDX-License-Identifier: MIT */
/*
 * Hooks: programs of the operator. on_migrate is run when a vGPU should move to another host,
 * on_alert when an alert changes, and on_offer when an offer changes. A program gets the event in
 * the environment (GOVER_EVENT, GOVER_GPU, GOVER_VGPU, GOVER_VM, GOVER_WHY) and as JSON on its
 * standard input. Programs run in the background. The process group of a program is killed after
 * the timeout.
 */
#ifndef GOVER_D_UTIL_HOOK_H
#define GOVER_D_UTIL_HOOK_H

#include <stdint.h>
#include <systemd/sd-event.h>

#define HOOKS_MAX 8 /* limit of programs that run at the same time */
/* Limit of calls that wait until a program ends. Further calls are dropped and logged. */
#define HOOKS_WAITING_MAX 64

enum hook { HOOK_ALERT, HOOK_OFFER, HOOK_MIGRATE, HOOKS };
const char *hook_name(enum hook hook); /* "on_alert" */

/* A hook program and its input. */
struct hook_call {
	enum hook hook;
	const char *program; /* path of the program; "": no program is run */
	const char *event, *gpu, *vgpu, *vm, *why;
	const char *json; /* text for standard input; NULL: empty */
};

struct hook_stats {
	uint64_t run; /* programs started */
	/* programs that did not start, exited with a status other than 0, or were killed */
	uint64_t failed;
	uint64_t killed;  /* programs killed after the timeout; also counted in @failed */
	uint64_t dropped; /* calls dropped because too many calls were waiting */
};

struct hooks;

/* SIGCHLD must be blocked when this function is called. */
struct hooks *hooks_new(sd_event *event, int timeout_s);
/* Running programs continue; waiting calls are dropped. @hooks may be NULL. Returns NULL. */
struct hooks *hooks_free(struct hooks *hooks);

/* Starts the program or queues the call. Returns 0, or a negative errno, which is also logged. */
int hooks_run(struct hooks *hooks, const struct hook_call *call);

/* Returns an array indexed by enum hook. It is valid until hooks_free(). */
const struct hook_stats *hooks_stats(const struct hooks *hooks);

#endif
