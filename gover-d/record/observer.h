/* SPDX-License-Identifier: MIT */
/*
 * The observers of the daemon. The log, the history, notifications and the API get each decision,
 * alert, silence, offer and tick through this table, so that what records an event depends on none
 * of them.
 */
#ifndef GOVER_D_RECORD_OBSERVER_H
#define GOVER_D_RECORD_OBSERVER_H

#include <errno.h>

#include "gover-d/alert/alerts.h"
#include "gover-d/model/decisions.h"
#include "gover-d/sale/offers.h"

#define OBSERVERS_MAX 8

/* A vGPU that should move to another host. */
struct migration {
	const char *event; /* "severe_overload" or "sale_failed" */
	const char *gpu, *vgpu, *vm, *why;
};

/*
 * One function for each kind of event; NULL: the observer ignores such events. The functions must
 * not block.
 */
struct observer {
	void (*decision)(void *userdata, const struct decision *decision);
	void (*alert)(void *userdata, const struct alert *alert, enum alert_event event);
	/* A silence was added, or, if its ended_ms is not 0, has ended. */
	void (*silence)(void *userdata, const struct db_silence *silence);
	/* @vm: virtual machine of the vGPU that claimed the offer; "": none. */
	void (*offer)(void *userdata, const struct offer *offer, const char *vm);
	void (*migrate)(void *userdata, const struct migration *migration);
	/* The object @id of type @what ("vgpu", "gpu", "policy", "fleet") has changed. */
	void (*change)(void *userdata, const char *what, const char *id);
	/*
	 * Called once per tick, before alerts are raised and cleared: reports the conditions that
	 * the tick does not know, with alerts_hold().
	 */
	void (*conditions)(void *userdata, struct alerts *alerts, struct instant now);
	/*
	 * Called at the end of a tick. @gap: the tick was late, so counts of consecutive periods
	 * begin again.
	 */
	void (*tick)(void *userdata, const struct host *host, bool gap, struct instant now);
};

struct observers {
	struct {
		const struct observer *observer;
		void *userdata;
	} list[OBSERVERS_MAX];
	int n;
	/* number of events; a cached reply is valid as long as this number does not change */
	uint64_t generation;
};

/* Adds an observer. -ENOSPC: the table is full. @observer must outlive @observers. */
static inline int observers_add(struct observers *observers, const struct observer *observer,
				void *userdata)
{
	if (observers->n == OBSERVERS_MAX)
		return -ENOSPC;
	observers->list[observers->n].observer = observer;
	observers->list[observers->n++].userdata = userdata;
	return 0;
}

/*
 * Passes an event to all observers in the order in which they were added. @event is a member of
 * struct observer; its arguments after the userdata follow.
 */
#define observers_pass(to, event, ...)                                                  \
	do {                                                                            \
		struct observers *all_ = (to);                                          \
                                                                                        \
		all_->generation++;                                                     \
		for (int i_ = 0; i_ < all_->n; i_++)                                    \
			if (all_->list[i_].observer->event)                             \
				all_->list[i_].observer->event(all_->list[i_].userdata, \
							       __VA_ARGS__);            \
	} while (0)

#endif
