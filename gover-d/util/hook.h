/* SPDX-License-Identifier: MIT */
/*
 * The operator's programs: on_migrate is run when a vGPU should be moved to another host, on_alert
 * and on_offer when one of those changes. Each is a child of its own, never waited for; what it
 * must know stands in its environment beside the daemon's own (GOVER_EVENT, GOVER_GPU, GOVER_VGPU,
 * GOVER_VM, GOVER_WHY) and as JSON on its standard input. It and its children are killed when their
 * time is over.
 */
#ifndef GOVER_D_UTIL_HOOK_H
#define GOVER_D_UTIL_HOOK_H

#include <stdint.h>
#include <systemd/sd-event.h>

#define HOOKS_MAX	  8  /* at the same time */
#define HOOKS_WAITING_MAX 64 /* until one of these ends; further ones are not run, and logged */

enum hook { HOOK_ALERT, HOOK_OFFER, HOOK_MIGRATE, HOOKS };
const char *hook_name(enum hook hook); /* "on_alert" */

/* What is run, and what it is told. */
struct hook_call {
	enum hook hook;
	const char *program; /* "": none, and nothing is done */
	const char *event, *gpu, *vgpu, *vm, *why;
	const char *json; /* NULL: its standard input is empty */
};

struct hook_stats {
	uint64_t run;	  /* were started */
	uint64_t failed;  /* could not be started, or ended with another status than 0 */
	uint64_t killed;  /* because their time was over; counted as failed too */
	uint64_t dropped; /* because too many waited */
};

struct hooks;

/* SIGCHLD must be blocked. */
int hooks_new(sd_event *event, int timeout_s, struct hooks **ret_hooks);
struct hooks *hooks_free(struct hooks *hooks); /* leaves running programs alone; NULL is fine */

/* Starts the program, or has it wait for its turn. 0, or a negative errno, logged. */
int hooks_run(struct hooks *hooks, const struct hook_call *call);

/* Indexed by enum hook; valid as long as @hooks. */
const struct hook_stats *hooks_stats(const struct hooks *hooks);

#endif
