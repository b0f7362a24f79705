/* SPDX-License-Identifier: MIT */
/*
 * A migration by libvirt is one call, which returns when the machine has left. libvirt's daemon
 * goes on with it if this process is killed.
 */
#include <stdio.h>

#include "gover-fleet/migrate/mover-state.h"

bool mover_run_libvirt(struct mover *mover, const struct advice *advice, struct mover_result *ret)
{
	struct err err = {0};
	int r;

	/* libvirt checks the machine before it begins, so its refusal comes after this report. */
	mover_begin(mover, advice->vgpu, mover->config.to_uri);
	r = libvirt_move_run(mover->libvirt, advice->vm, mover->config.run_timeout_s, &err);
	ret->end = r == 0 ? ADVICE_MOVED : ADVICE_FAILED;
	snprintf(ret->to, sizeof(ret->to), "%s", mover->config.to_uri);
	snprintf(ret->why, sizeof(ret->why), "%.*s", (int)sizeof(ret->why) - 1, err.msg);
	return true;
}

bool mover_resume_libvirt(struct mover *mover, const struct migration_open *open, const char *vm,
			  struct mover_result *ret)
{
	uint64_t until_ns = clock_now().mono_ns + (uint64_t)mover->config.run_timeout_s * NS_PER_S;
	enum libvirt_place place = LIBVIRT_LEAVING;
	struct err err = {"libvirt still moves the machine"};

	(void)open;
	while (libvirt_move_look(mover->libvirt, vm, &place, &err) != 0 ||
	       place == LIBVIRT_LEAVING) {
		if (clock_now().mono_ns >= until_ns)
			break;
		if (!mover_wait(mover, mover->config.poll_ms))
			return false;
	}
	ret->end = place == LIBVIRT_GONE ? ADVICE_MOVED : ADVICE_FAILED;
	snprintf(ret->to, sizeof(ret->to), "%s", mover->config.to_uri);
	snprintf(ret->why, sizeof(ret->why), "%.*s", (int)sizeof(ret->why) - 1,
		 place == LIBVIRT_HERE ? "the machine is still on this host" : err.msg);
	return true;
}
