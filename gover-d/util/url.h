/* SPDX-License-Identifier: MIT */
/* Checks the URLs of the configuration. */
#ifndef GOVER_D_UTIL_URL_H
#define GOVER_D_UTIL_URL_H

#include <stdbool.h>

/* Returns true if @url has the scheme http or https and a host. */
bool url_is_http(const char *url);

#endif
