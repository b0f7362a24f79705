/* SPDX-License-Identifier: MIT */
/*
 * What is sold under which name, and for how much: the flavour of [offer] and those of
 * [flavor NAME]. Looks into a configuration only.
 */
#ifndef GOVER_D_CONFIG_FLAVOR_H
#define GOVER_D_CONFIG_FLAVOR_H

#include "gover-d/config/config.h"

/* The flavour of this name, "" that of [offer]. False: there is none of this name. */
bool flavor_find(const struct config *config, const char *name, struct flavor *ret_flavor);

/* As which a contract of this flavour is priced: a name that is in the configuration no more counts
 * as that of [offer]. */
struct flavor flavor_of(const struct config *config, const char *name);

/* The flavour of [offer] at 0, then the others. False: past the end. */
bool flavor_at(const struct config *config, int index, struct flavor *ret_flavor);

/* Fails with a sentence that names those there are. -EINVAL. */
int flavor_refuse(const struct config *config, const char *name, struct err *reterr);

/* No two have one name. For config_check(). */
int flavor_check(const struct config *config, struct err *reterr);

#endif
