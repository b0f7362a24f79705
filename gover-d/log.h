/* SPDX-License-Identifier: MIT */
/* The daemon's log: one line a fact, on stderr; under systemd with the priority journald reads. */
#ifndef GOVER_D_LOG_H
#define GOVER_D_LOG_H

#include <systemd/sd-daemon.h>

/* @priority is one of SD_ERR, SD_WARNING, SD_NOTICE, SD_INFO, SD_DEBUG. errno is kept. Never waits:
 * what cannot be written now is counted, and the next line says so. From the loop's thread only. */
void log_line(const char *priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)	 log_line(SD_ERR, __VA_ARGS__)
#define log_warning(...) log_line(SD_WARNING, __VA_ARGS__)
#define log_notice(...)	 log_line(SD_NOTICE, __VA_ARGS__)
#define log_info(...)	 log_line(SD_INFO, __VA_ARGS__)

#endif
