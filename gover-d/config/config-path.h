/* SPDX-License-Identifier: MIT */
/* The configuration file that gover-d reads without --config. gover-ctl names it. */
#ifndef GOVER_D_CONFIG_CONFIG_PATH_H
#define GOVER_D_CONFIG_CONFIG_PATH_H

#define CONFIG_PATH_DEFAULT "/etc/gover/gover.conf"

#endif
