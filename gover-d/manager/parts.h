/* SPDX-License-Identifier: MIT */
/*
 * The parts of the daemon. Each struct belongs to the layer of its part. Only manager.c and tests
 * include this.
 */
#ifndef GOVER_D_MANAGER_PARTS_H
#define GOVER_D_MANAGER_PARTS_H

#include <systemd/sd-event.h>

#include "gover-d/change/change.h"
#include "gover-d/manager/view.h"
#include "gover-d/store/load.h"
#include "gover-d/tick/round.h"
#include "gover-d/util/memory.h"
#include "gover-d/util/worker.h"

struct manager {
	struct host host;
	struct fleet fleet;
	struct recorder recorder;
	struct notifier notifier;
	struct sales sales;
	struct store store;
	struct caps caps;
	struct tick tick;
	struct changes changes;
	struct view view; /* read access for the API and metrics */
	struct memory memory;

	int lock_fd; /* file descriptor of the locked file in the state directory */
	sd_event *event;
	sd_event_source *timer;
	struct worker *queries; /* reads the database and other files, and opens the database */
	struct loaded_contracts *loaded; /* by manager_new(); manager_start() adopts them */
};

/* Sets the pointers between the parts. load_state() sets those to the alerts. */
static inline void manager_wire(struct manager *m)
{
	const struct settings *settings = &m->store.settings;

	m->sales.settings = m->notifier.settings = settings;
	m->caps.actuator.settings = m->caps.settings = m->tick.settings = m->changes.settings =
		settings;
	m->sales.host = m->store.host = &m->host;
	m->caps.host = m->tick.host = m->changes.host = &m->host;
	m->tick.fleet = m->changes.fleet = &m->fleet;
	m->store.recorder = m->caps.recorder = m->tick.recorder = m->changes.recorder =
		&m->recorder;
	m->store.sales = m->caps.sales = m->tick.sales = m->changes.sales = &m->sales;
	m->caps.store = m->tick.store = m->changes.store = &m->store;
	m->tick.caps = m->changes.caps = &m->caps;
	m->tick.notifier = &m->notifier;
	m->changes.tick = &m->tick;
	m->caps.actuator.history = &m->recorder.history;
}

#endif
