/* SPDX-License-Identifier: MIT */
/*
 * Hooks: programs of the operator. on_migrate is run when a vGPU should move to another host,
 * on_alert and on_offer when an alert or an offer changes. A program gets the event in the
 * environment (GOVER_EVENT, GOVER_GPU, GOVER_VGPU, GOVER_VM, GOVER_WHY) and as JSON on its standard
 * input. It runs in the background; its process group is killed after the timeout.
 */
#ifndef GOVER_D_UTIL_HOOK_H
#define GOVER_D_UTIL_HOOK_H

#include <stdint.h>
#include <systemd/sd-event.h>

#define HOOKS_MAX 8 /* at the same time */
#define HOOKS_WAITING_MAX \
	64 /* waiting for one of these to end; further ones are dropped and logged */

enum hook { HOOK_ALERT, HOOK_OFFER, HOOK_MIGRATE, HOOKS };
const char *hook_name(enum hook hook); /* "on_alert" */

/* A program and its input. */
struct hook_call {
	enum hook hook;
	const char *program; /* "": none; nothing is run */
	const char *event, *gpu, *vgpu, *vm, *why;
	const char *json; /* NULL: its standard input is empty */
};

struct hook_stats {
	uint64_t run;	  /* started */
	uint64_t failed;  /* not started, or ended with a status other than 0 */
	uint64_t killed;  /* after the timeout; counted as failed too */
	uint64_t dropped; /* because too many were waiting */
};

struct hooks;

/* SIGCHLD must be blocked. */
int hooks_new(sd_event *event, int timeout_s, struct hooks **ret_hooks);
struct hooks *hooks_free(struct hooks *hooks); /* running programs continue; NULL is fine */

/* Starts the program or queues it. 0, or a negative errno, which is logged. */
int hooks_run(struct hooks *hooks, const struct hook_call *call);

/* Indexed by enum hook; valid as long as @hooks. */
const struct hook_stats *hooks_stats(const struct hooks *hooks);

#endif
