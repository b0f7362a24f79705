/* SPDX-License-Identifier: MIT */
/* The hook that libvirt runs before a domain starts: gover-fleet --hook. */
#ifndef GOVER_FLEET_CLAIM_HOOK_H
#define GOVER_FLEET_CLAIM_HOOK_H

#include "gover-fleet/config/fleet-config.h"

/*
 * Reads the XML of the domain from stdin and asks gover-fleet. Returns the exit status for libvirt:
 * 0 starts the domain, 1 refuses it after one line on stderr. Ends the process after
 * hook_timeout_s, whatever blocks. Calls no function of libvirt.
 */
int hook_run(const struct fleet_config *config, const char *domain, const char *operation);

#endif
