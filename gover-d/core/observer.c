/* SPDX-License-Identifier: MIT */
/* Registers observers and passes each event to the observers that have a function for it. */
#include <errno.h>

#include "gover-d/core/observer.h"

int observers_add(struct observers *observers, const struct observer *observer, void *userdata)
{
	if (observers->n == OBSERVERS_MAX)
		return -ENOSPC;
	observers->list[observers->n].observer = observer;
	observers->list[observers->n++].userdata = userdata;
	return 0;
}

#define FOR_EACH(observers, event, ...)                                              \
	do {                                                                         \
		(observers)->generation++;                                           \
		for (int i = 0; i < (observers)->n; i++)                             \
			if ((observers)->list[i].observer->event)                    \
				(observers)->list[i].observer->event(                \
					(observers)->list[i].userdata, __VA_ARGS__); \
	} while (0)

void observers_decision(struct observers *observers, const struct decision *decision)
{
	FOR_EACH(observers, decision, decision);
}

void observers_alert(struct observers *observers, const struct alert *alert, enum alert_event event)
{
	FOR_EACH(observers, alert, alert, event);
}

void observers_silence(struct observers *observers, const struct silence *silence, int64_t ended_ms)
{
	FOR_EACH(observers, silence, silence, ended_ms);
}

void observers_offer(struct observers *observers, const struct offer *offer, const char *vm)
{
	FOR_EACH(observers, offer, offer, vm);
}

void observers_migrate(struct observers *observers, const struct migration *migration)
{
	FOR_EACH(observers, migrate, migration);
}

void observers_change(struct observers *observers, const char *what, const char *id)
{
	FOR_EACH(observers, change, what, id);
}

void observers_conditions(struct observers *observers, struct alerts *alerts, struct instant now)
{
	FOR_EACH(observers, conditions, alerts, now);
}

void observers_tick(struct observers *observers, const struct host *host, bool gap,
		    struct instant now)
{
	FOR_EACH(observers, tick, host, gap, now);
}
