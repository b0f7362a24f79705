/* SPDX-License-Identifier: MIT */
/* Limits of connections. */
#include "monitor/fps/quota.h"

bool fps_quota_take(struct fps_quota *quota, int *held)
{
	int limit = *held < quota->few ? quota->all : quota->all - quota->reserved;

	if (*held >= quota->each || quota->used >= limit)
		return false;
	quota->used++;
	(*held)++;
	return true;
}

void fps_quota_give(struct fps_quota *quota, int *held)
{
	quota->used--;
	(*held)--;
}

void fps_refusals_add(struct fps_refusals *refusals, int held, uint64_t now_ns)
{
	refusals->n++;
	refusals->newest_ns = now_ns;
	refusals->held = held;
}
