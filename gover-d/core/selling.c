/* SPDX-License-Identifier: MIT */
/* A table of states in which nothing is sold, and the end of open offers. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "gover-d/core/selling.h"
#include "gover-d/core/state.h"

/* Each function returns true if its state prevents a sale, and then writes the reason. */
typedef bool blocks_fn(const struct manager *m, const struct host_gpu *gpu, struct err *ret_why);

static bool is_off(const struct manager *m, const struct host_gpu *gpu, struct err *ret_why)
{
	(void)m;
	(void)err_fail(ret_why, EPERM, "selling on GPU %s is off", gpu->config.name);
	return !gpu->selling;
}

/* An offer of a GPU that is only observed is recorded as advice, and not opened. */
static bool is_not_acting(const struct manager *m, const struct host_gpu *gpu, struct err *ret_why)
{
	(void)err_fail(ret_why, EPERM, "gover-d does not act on GPU %s", gpu->config.name);
	return m->actuator.dry_run || (gpu->mode != GPU_MODE_ACT && !gpu->traits.observes);
}

static bool is_unread(const struct manager *m, const struct host_gpu *gpu, struct err *ret_why)
{
	(void)m;
	(void)err_fail(ret_why, EPERM, "busy time of GPU %s cannot be read", gpu->config.name);
	return !gpu->telemetry_valid;
}

static bool is_unserved(const struct manager *m, const struct host_gpu *gpu, struct err *ret_why)
{
	const struct vgpu *v = gpu->vgpus;

	(void)m;
	while (v && v->promise.service.state != SERVICE_STALLED &&
	       v->promise.service.state != SERVICE_DOUBT)
		v = v->next;
	if (v)
		(void)err_fail(ret_why, EPERM,
			       "vGPU %s gets nothing from GPU %s, and its program lives",
			       v->contract.id, gpu->config.name);
	return v;
}

static bool has_critical_alert(const struct manager *m, const struct host_gpu *gpu,
			       struct err *ret_why)
{
	const struct alert *alert = alerts_critical(m->alerts, gpu->config.name);

	if (alert)
		(void)err_fail(ret_why, EPERM, "the critical alert %s (%lld) is active on GPU %s",
			       alert->name, (long long)alert->id, gpu->config.name);
	return alert;
}

static bool is_full(const struct manager *m, const struct host_gpu *gpu, struct err *ret_why)
{
	(void)err_fail(ret_why, EPERM, "GPU %s has %d vGPUs (max_vgpus %d)", gpu->config.name,
		       gpu->n_vgpus, m->config.offer.max_vgpus);
	return gpu->n_vgpus >= m->config.offer.max_vgpus;
}

static const struct {
	blocks_fn *blocks;
	/* It closes an open offer. A full GPU does not: its newest vGPU may be the one of the
	 * offer, which another program has created already. */
	bool closes;
} states[] = {
	{is_off, true},	     {is_not_acting, true},	 {is_unread, true},
	{is_unserved, true}, {has_critical_alert, true}, {is_full, false},
};

static bool is_blocked(const struct manager *m, const struct host_gpu *gpu, bool closing,
		       struct err *ret_why)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if ((states[i].closes || !closing) && states[i].blocks(m, gpu, ret_why))
			return true;
	return false;
}

bool selling_allowed(const struct manager *m, const struct host_gpu *gpu, struct err *ret_why)
{
	return !is_blocked(m, gpu, /* closing= */ false, ret_why);
}

bool selling_may_close(const struct manager *m, const struct offer *offer, struct instant now)
{
	return m->host.ticks >= OFFERS_SETTLED_TICKS || !offers_is_held(offer, now);
}

void selling_tick(struct manager *m, struct host_gpu *gpu, struct instant now)
{
	struct offer *offer = offers_live(m->offers, gpu->config.name);
	struct err why = {""};

	if (offer && offer->life.state == OFFER_OPEN && selling_may_close(m, offer, now) &&
	    is_blocked(m, gpu, /* closing= */ true, &why))
		offers_end(m->offers, offer, OFFER_CLOSED, now, "%.*s", OFFER_REASON_MAX - 1,
			   why.msg);
}

void selling_close(struct manager *m, const struct host_gpu *gpu, struct instant now,
		   const char *format, ...)
{
	struct offer *offer = offers_live(m->offers, gpu->config.name);
	char reason[OFFER_REASON_MAX];
	va_list ap;

	if (!offer || offer->life.state != OFFER_OPEN)
		return;
	va_start(ap, format);
	vsnprintf(reason, sizeof(reason), format, ap);
	va_end(ap);
	offers_end(m->offers, offer, OFFER_CLOSED, now, "%s", reason);
}
