/* SPDX-License-Identifier: MIT */
/*
 * The flavours of a configuration: the flavour of [offer], and one flavour for each [flavor NAME].
 */
#ifndef GOVER_D_CONFIG_FLAVOR_H
#define GOVER_D_CONFIG_FLAVOR_H

#include "gover-d/config/config.h"

/* Finds a flavour by name; "" is the flavour of [offer]. Returns false for an unknown name. */
bool flavor_find(const struct config *config, const char *name, struct flavor *ret_flavor);

/*
 * Returns the flavour whose prices apply to a contract of flavour @name. If @name is no longer
 * configured, this is the flavour of [offer].
 */
struct flavor flavor_of(const struct config *config, const char *name);

/*
 * Sets *ret_flavor to the flavour at @index; returns false past the end. The flavour of [offer] is
 * at index 0.
 */
bool flavor_at(const struct config *config, int index, struct flavor *ret_flavor);

/*
 * Writes the flavours that an offer may list, the largest cap first, then in the order of the
 * configuration. Returns their number, at least 1.
 */
int flavor_list_offered(const struct config *config, struct flavor ret_flavors[OFFERED_MAX]);

/*
 * Returns -EINVAL with a message that rejects the flavour @name and lists the configured flavours.
 */
int flavor_refuse(const struct config *config, const char *name, struct err *reterr);

/*
 * Checks that names of flavours are valid and unique, and that the offered flavours can be funded.
 * For config_check().
 */
int flavor_check(const struct config *config, struct err *reterr);

#endif
