/* SPDX-License-Identifier: MIT */
/*
 * The log of gover-fleet: one line per message on stderr, with a journald priority under systemd.
 * All threads may log. A message that cannot be written at once is lost, so that a slow reader of
 * the log blocks no thread.
 */
#ifndef GOVER_FLEET_MODEL_FLEET_LOG_H
#define GOVER_FLEET_MODEL_FLEET_LOG_H

#include <systemd/sd-daemon.h>

/* @priority: SD_ERR, SD_WARNING, SD_NOTICE or SD_INFO. */
void fleet_log_line(const char *priority, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define fleet_log_error(...)   fleet_log_line(SD_ERR, __VA_ARGS__)
#define fleet_log_warning(...) fleet_log_line(SD_WARNING, __VA_ARGS__)
#define fleet_log_notice(...)  fleet_log_line(SD_NOTICE, __VA_ARGS__)
#define fleet_log_info(...)    fleet_log_line(SD_INFO, __VA_ARGS__)

#endif
