/* SPDX-License-Identifier: MIT */
/* The flavours of a configuration: that of [offer] and those of [flavor NAME]. */
#ifndef GOVER_D_CONFIG_FLAVOR_H
#define GOVER_D_CONFIG_FLAVOR_H

#include "gover-d/config/config.h"

/* Finds a flavour by name; "" is that of [offer]. False if there is none. */
bool flavor_find(const struct config *config, const char *name, struct flavor *ret_flavor);

/* The flavour that sets a contract's price. A name that the configuration no longer contains means
 * the flavour of [offer]. */
struct flavor flavor_of(const struct config *config, const char *name);

/* The flavour of [offer] is at index 0. False past the end. */
bool flavor_at(const struct config *config, int index, struct flavor *ret_flavor);

/* Returns -EINVAL with a message that lists the flavours. */
int flavor_refuse(const struct config *config, const char *name, struct err *reterr);

/* Checks that names are valid and unique. For config_check(). */
int flavor_check(const struct config *config, struct err *reterr);

#endif
