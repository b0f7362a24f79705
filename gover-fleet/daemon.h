/* SPDX-License-Identifier: MIT */
/* The whole daemon: creates the threads, connects them, and runs the main loop. */
#ifndef GOVER_FLEET_DAEMON_H
#define GOVER_FLEET_DAEMON_H

#include "gover-fleet/config/fleet-config.h"

/*
 * Runs until SIGTERM or SIGINT. Returns 0, or a negative errno with a message. Does not return if a
 * thread cannot be ended, because libvirt does not return: the process then ends, with status 1 and
 * the message in the log after an error.
 */
int fleet_daemon_run(const struct fleet_config *config, struct err *reterr);

/*
 * Withdraws all offers of this host from the cloud, and reports this to gover-d. For the time in
 * which no gover-fleet runs; the contracts stay.
 */
int fleet_daemon_withdraw(const struct fleet_config *config, struct err *reterr);

#endif
