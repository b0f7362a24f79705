/* SPDX-License-Identifier: MIT */
/* A migration by libvirt is one call, which returns when the machine has left. */
#include <stdio.h>

#include "gover-fleet/migrate/mover-state.h"

bool mover_run_libvirt(struct mover *mover, const struct advice *advice, struct mover_result *ret)
{
	struct err err = {0};
	int r;

	/* libvirt checks the machine before it begins, so its refusal comes after this report. */
	mover_begin(mover, advice->vgpu);
	r = libvirt_move_run(mover->libvirt, advice->vm, mover->config.run_timeout_s, &err);
	ret->end = r == 0 ? ADVICE_MOVED : ADVICE_FAILED;
	snprintf(ret->to, sizeof(ret->to), "%s", mover->config.to_uri);
	snprintf(ret->why, sizeof(ret->why), "%.*s", (int)sizeof(ret->why) - 1, err.msg);
	return true;
}
