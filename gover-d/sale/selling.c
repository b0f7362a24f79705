/* SPDX-License-Identifier: MIT */
/* A table of states in which nothing is sold, the end of open offers, and those of the last run. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/sale/selling.h"

/* Each function returns true if its state prevents a sale, and then writes the reason. */
typedef bool blocks_fn(const struct sales *sales, const struct host_gpu *gpu, struct err *ret_why);

static bool is_off(const struct sales *sales, const struct host_gpu *gpu, struct err *ret_why)
{
	(void)sales;
	(void)err_fail(ret_why, EPERM, "selling on GPU %s is off", gpu->config.name);
	return !gpu->selling;
}

/* An offer of a GPU that is only observed is recorded as advice, and not opened. */
static bool is_not_acting(const struct sales *sales, const struct host_gpu *gpu,
			  struct err *ret_why)
{
	bool acts = gpu->mode == GPU_MODE_ACT || gpu->traits.observes;

	if (sales->settings->dry_run)
		(void)err_fail(ret_why, EPERM, "gover-d runs with --dry-run");
	else if (!acts)
		(void)err_fail(ret_why, EPERM, "GPU %s is in mode %s", gpu->config.name,
			       gpu_mode_name(gpu->mode));
	return sales->settings->dry_run || !acts;
}

static bool is_unread(const struct sales *sales, const struct host_gpu *gpu, struct err *ret_why)
{
	(void)sales;
	(void)err_fail(ret_why, EPERM, "busy time of GPU %s cannot be read", gpu->config.name);
	return !gpu->telemetry_valid;
}

static bool is_unserved(const struct sales *sales, const struct host_gpu *gpu, struct err *ret_why)
{
	const struct vgpu *v = gpu->vgpus;

	(void)sales;
	while (v && v->promise.service.state != SERVICE_STALLED &&
	       v->promise.service.state != SERVICE_DOUBT)
		v = v->next;
	if (v)
		(void)err_fail(ret_why, EPERM,
			       "vGPU %s gets nothing from GPU %s, and its program lives",
			       v->contract.id, gpu->config.name);
	return v;
}

static bool has_critical_alert(const struct sales *sales, const struct host_gpu *gpu,
			       struct err *ret_why)
{
	const struct alert *alert = alerts_critical(sales->alerts, gpu->config.name);

	if (alert)
		(void)err_fail(ret_why, EPERM, "the critical alert %s (%lld) is active on GPU %s",
			       alert->name, (long long)alert->id, gpu->config.name);
	return alert;
}

static bool is_full(const struct sales *sales, const struct host_gpu *gpu, struct err *ret_why)
{
	(void)err_fail(ret_why, EPERM, "GPU %s has %d vGPUs (max_vgpus %d)", gpu->config.name,
		       gpu->n_vgpus, sales->settings->config.offer.max_vgpus);
	return gpu->n_vgpus >= sales->settings->config.offer.max_vgpus;
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

static bool is_blocked(const struct sales *sales, const struct host_gpu *gpu, bool closing,
		       struct err *ret_why)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if ((states[i].closes || !closing) && states[i].blocks(sales, gpu, ret_why))
			return true;
	return false;
}

bool selling_allowed(const struct sales *sales, const struct host_gpu *gpu, struct err *ret_why)
{
	return !is_blocked(sales, gpu, /* closing= */ false, ret_why);
}

bool selling_is_stopped(const struct sales *sales, const struct host_gpu *gpu, struct err *ret_why)
{
	if (is_blocked(sales, gpu, /* closing= */ false, ret_why))
		return true;
	if (gpu->traits.observes)
		(void)err_fail(ret_why, EPERM, "GPU %s is only observed", gpu->config.name);
	return gpu->traits.observes;
}

struct offer *selling_tick(struct sales *sales, struct host_gpu *gpu, struct instant now)
{
	struct offer *offer = offers_live(sales->offers, gpu->config.name);
	struct err why = {""};

	if (!offer || offer->life.state != OFFER_OPEN || !selling_may_close(sales, offer, now))
		return NULL;
	if (!is_blocked(sales, gpu, /* closing= */ true, &why))
		return offer;
	offers_end(sales->offers, offer, OFFER_CLOSED, now, "%.*s", OFFER_REASON_MAX - 1, why.msg);
	return NULL;
}

void selling_close(struct sales *sales, const struct host_gpu *gpu, struct instant now,
		   const char *format, ...)
{
	struct offer *offer = offers_live(sales->offers, gpu->config.name);
	char reason[OFFER_REASON_MAX];
	va_list ap;

	if (!offer || offer->life.state != OFFER_OPEN)
		return;
	va_start(ap, format);
	vsnprintf(reason, sizeof(reason), format, ap);
	va_end(ap);
	offers_end(sales->offers, offer, OFFER_CLOSED, now, "%s", reason);
}

/* --- offers of the last run --- */

#define RESULT_MISSING "the result of the probation is missing in the history"

/* An offer opens only after the older offers of its GPU have ended. */
static bool has_newer(const struct offers *offers, int64_t id, const char *gpu)
{
	for (size_t i = offers_count(offers); i-- > 0 && offers_at(offers, i)->id > id;)
		if (strcmp(offers_at(offers, i)->gpu, gpu) == 0)
			return true;
	return false;
}

struct offer selling_past_offer(const struct host_gpu *gpu, const struct contract *c)
{
	struct offer sold = {
		.id = c->offer,
		.life.state = OFFER_KEPT,
		.created_ms = c->created_ms,
		.changed_ms = c->created_ms,
		.flavors = {{.terms = host_terms(gpu, c)}},
		.n_flavors = 1,
	};

	memcpy(sold.gpu, gpu->config.name, sizeof(sold.gpu));
	memcpy(sold.flavors[0].name, c->flavor, sizeof(sold.flavors[0].name));
	memcpy(sold.vgpu, c->id, sizeof(sold.vgpu));
	snprintf(sold.reason, sizeof(sold.reason), RESULT_MISSING);
	return sold;
}

/*
 * Restores an offer that is missing in the history. Contract @c was sold through this offer. If its
 * probation may still run, the restored offer is open, and the caller must claim it. Otherwise the
 * state of the restored offer is "kept".
 */
static struct offer *restore_offer(struct sales *sales, const struct host_gpu *gpu,
				   const struct contract *c, struct instant now)
{
	int64_t probation_ms = (int64_t)sales->settings->config.offer.probation_s * 1000;
	struct offer sold = selling_past_offer(gpu, c);

	if (now.wall_ms < c->created_ms + probation_ms &&
	    !has_newer(sales->offers, c->offer, gpu->config.name)) {
		sold.life.state = OFFER_OPEN;
		sold.vgpu[0] = sold.reason[0] = '\0';
	}
	return offers_adopt(sales->offers, &sold);
}

/*
 * Claims the offer through which contract @c was sold, if the claim is missing. After a crash, the
 * offer may be open in the history or missing there.
 */
static void adopt_sale(struct sales *sales, const struct host_gpu *gpu, const struct contract *c,
		       struct instant now)
{
	struct offer *offer = offers_find(sales->offers, c->offer);

	if (c->offer == 0 || (offer && offer->vgpu[0]))
		return;
	if (!offer)
		offer = restore_offer(sales, gpu, c, now);
	if (!offer || offer->life.state != OFFER_OPEN)
		return;
	/* The history contains only the flavour that led the open offer. */
	if (!offers_flavor(offer, c->flavor)) {
		offer->flavors[0].terms = host_terms(gpu, c);
		memcpy(offer->flavors[0].name, c->flavor, sizeof(c->flavor));
	}
	offers_claim(sales->offers, offer, c->flavor, c->id,
		     sales->settings->config.offer.probation_s, now);
}

/* True if the vGPU that claimed the offer was removed, even if a newer vGPU has the same name. */
static bool newcomer_gone(struct sales *sales, const struct offer *offer)
{
	const struct vgpu *vgpu = host_view_vgpu(sales->host, offer->vgpu, NULL);

	return !vgpu ||
	       (offer->life.state == OFFER_FAILED && vgpu->contract.created_ms > offer->changed_ms);
}

/* A newer offer shows that a sale has ended, even if its end is missing in the history. */
static void end_older_sales(struct sales *sales, struct instant now)
{
	for (size_t i = 0; i < offers_count(sales->offers); i++) {
		struct offer *offer = offers_find(sales->offers, offers_at(sales->offers, i)->id);

		if (!has_newer(sales->offers, offer->id, offer->gpu))
			continue;
		if (offer->life.state == OFFER_OPEN)
			offers_end(sales->offers, offer, OFFER_CLOSED, now, "a newer offer exists");
		else if (offer->life.state == OFFER_PROBATION)
			offers_end(sales->offers, offer, OFFER_KEPT, now, RESULT_MISSING);
		else if (offer->life.state == OFFER_FAILED)
			offer->life.newcomer_gone = true;
	}
}

/* An offer that is held for a claim stays open, so that a restart does not fail a sale. */
static bool stays_open(struct sales *sales, const struct offer *offer, struct instant now)
{
	const struct host_gpu *gpu = host_view_gpu(sales->host, offer->gpu);

	return offers_is_held(offer, now) && gpu && gpu->selling && gpu->mode == GPU_MODE_ACT;
}

void selling_set_units(struct sales *sales)
{
	for (size_t i = 0; i < offers_count(sales->offers); i++) {
		struct offer *offer = offers_find(sales->offers, offers_at(sales->offers, i)->id);
		const struct host_gpu *gpu = host_view_gpu(sales->host, offer->gpu);

		for (int k = 0; k < offer->n_flavors; k++)
			offer->flavors[k].terms.counts_work =
				gpu && host_gpu_unit(gpu, NULL) == GPU_WORK;
	}
}

void selling_resume(struct sales *sales, struct instant now)
{
	selling_set_units(sales);
	for (int i = 0; i < sales->host->n_gpus; i++)
		for (const struct vgpu *v = sales->host->gpus[i].vgpus; v; v = v->next)
			adopt_sale(sales, &sales->host->gpus[i], &v->contract, now);
	end_older_sales(sales, now);
	for (size_t i = 0; i < offers_count(sales->offers); i++) {
		struct offer *offer = offers_find(sales->offers, offers_at(sales->offers, i)->id);

		if (offer->life.state == OFFER_OPEN && !stays_open(sales, offer, now))
			offers_end(sales->offers, offer, OFFER_CLOSED, now,
				   "the daemon was restarted; a new offer opens after some calm "
				   "periods");
		if (offer->vgpu[0] == '\0' || !newcomer_gone(sales, offer))
			continue;
		if (offer->life.state == OFFER_FAILED)
			offer->life.newcomer_gone = true;
		else
			offers_vgpu_removed(sales->offers, offer->vgpu, now);
	}
}
