/* SPDX-License-Identifier: MIT */
/*
 * The daemon's log: one line a fact, on stderr; under systemd with the priority journald reads.
 * What has a kind goes to the journal itself then, with fields to search by: MESSAGE_ID, which
 * names an entry of dist/gover.catalog, GOVER_GPU, GOVER_VGPU, GOVER_VM, GOVER_ALERT and
 * GOVER_DECISION.
 */
#ifndef GOVER_D_UTIL_LOG_H
#define GOVER_D_UTIL_LOG_H

#include <systemd/sd-daemon.h>

/* @priority is one of SD_ERR, SD_WARNING, SD_NOTICE, SD_INFO, SD_DEBUG. errno is kept. Never waits:
 * what cannot be written now is counted, and the next line says so. From the loop's thread only. */
void log_line(const char *priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)	 log_line(SD_ERR, __VA_ARGS__)
#define log_warning(...) log_line(SD_WARNING, __VA_ARGS__)
#define log_notice(...)	 log_line(SD_NOTICE, __VA_ARGS__)
#define log_info(...)	 log_line(SD_INFO, __VA_ARGS__)

enum log_kind {
	LOG_READY,
	LOG_STOPPING,
	LOG_ALERT_RAISED,
	LOG_ALERT_UPDATED,
	LOG_ALERT_CLEARED,
	LOG_ALERT_ACKNOWLEDGED,
	LOG_SILENCE,
	LOG_OFFER,
	LOG_DECISION,
	LOG_HOOK_FAILED,
	LOG_WEBHOOK_FAILED,
	LOG_KINDS
};
/* Its MESSAGE_ID. */
const char *log_kind_id(enum log_kind kind);

/* What it is about; NULL or "": nothing. */
struct log_about {
	enum log_kind kind;
	const char *gpu, *vgpu, *vm;
	const char *alert;    /* its name */
	const char *decision; /* its kind */
};

/* The same as log_line() where there is no journal. */
void log_about(const char *priority, const struct log_about *about, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* For tests: where the journal's socket is instead. */
void log_use_journal(const char *path);

#endif
