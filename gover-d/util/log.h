/* SPDX-License-Identifier: MIT */
/*
 * The log of the daemon: one line per message on stderr, with a journald priority under systemd.
 * log_event() sends a message to the journal with the fields MESSAGE_ID (see dist/gover.catalog),
 * GOVER_SUBJECT, GOVER_NEXT, GOVER_GPU, GOVER_VGPU, GOVER_VM, GOVER_ALERT and GOVER_DECISION. Call
 * these functions only in the thread of the event loop.
 *
 * The catalog may use only fields that each message of a kind has: GOVER_SUBJECT and GOVER_NEXT are
 * always set.
 */
#ifndef GOVER_D_UTIL_LOG_H
#define GOVER_D_UTIL_LOG_H

#include <stddef.h>
#include <systemd/sd-daemon.h>

#define log_error(...)	 log_event(SD_ERR, NULL, __VA_ARGS__)
#define log_warning(...) log_event(SD_WARNING, NULL, __VA_ARGS__)
#define log_notice(...)	 log_event(SD_NOTICE, NULL, __VA_ARGS__)
#define log_info(...)	 log_event(SD_INFO, NULL, __VA_ARGS__)

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
/* Returns the MESSAGE_ID of @kind. */
const char *log_kind_id(enum log_kind kind);

/* The fields of a message; NULL or "": the field is not set. */
struct log_fields {
	enum log_kind kind;
	const char *gpu, *vgpu, *vm;
	const char *alert;    /* name of the alert */
	const char *decision; /* kind of the decision */
	const char *next;     /* command for the operator; default: "gover-ctl status" */
};

/*
 * Logs a line. @priority: SD_ERR, SD_WARNING, SD_NOTICE, SD_INFO or SD_DEBUG. @fields: NULL: none;
 * without a journal they are not written. Does not change errno and never blocks: a line that
 * cannot be written now is lost, and the next written line reports the number of lost lines.
 * Control characters are replaced by '?', see text_mask_controls().
 */
void log_event(const char *priority, const struct log_fields *fields, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* For tests: sets the path of the journal socket. */
void log_use_journal(const char *path);

#endif
