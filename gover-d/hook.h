/* SPDX-License-Identifier: MIT */
/*
 * The operator's programs: on_migrate is run when a vGPU should be moved to another host. It is a
 * child of its own, never waited for; what it must know stands in its environment beside the
 * daemon's own (GOVER_EVENT, GOVER_GPU, GOVER_VGPU, GOVER_VM, GOVER_WHY).
 */
#ifndef GOVER_D_HOOK_H
#define GOVER_D_HOOK_H

#include <systemd/sd-event.h>

#define HOOKS_MAX 8 /* at the same time; further ones are not run, and logged */

struct hooks;

/* SIGCHLD must be blocked. */
int hooks_new(sd_event *event, struct hooks **ret_hooks);
struct hooks *hooks_free(struct hooks *hooks); /* leaves running programs alone; NULL is fine */

/* Starts @program; "" does nothing. 0, or a negative errno, logged. */
int hooks_run(struct hooks *hooks, const char *program, const char *happening, const char *gpu,
	      const char *vgpu, const char *vm, const char *why);

#endif
