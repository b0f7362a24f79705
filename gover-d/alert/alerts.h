/* SPDX-License-Identifier: MIT */
/*
 * Alerts: conditions with a begin and an end. In every tick the caller reports the conditions that
 * hold (alerts_hold). An alert is raised once, after its condition was reported for the number of
 * ticks of its kind, and cleared once, after the condition was not reported for such a number. A
 * tick without data (a gap, alerts_mark_unknown) does not count.
 */
#ifndef GOVER_D_ALERT_ALERTS_H
#define GOVER_D_ALERT_ALERTS_H

#include "gover-d/alert/kinds.h"
#include "gover-d/model/host.h"

#define ALERT_TEXT_MAX 512

enum alert_severity { ALERT_INFO, ALERT_WARNING, ALERT_CRITICAL };
const char *alert_severity_name(enum alert_severity severity);

struct alert {
	int64_t id;
	enum alert_kind kind;
	const char *name; /* name in kinds.h, such as "severe_overload" */
	enum alert_severity severity;
	char gpu[ID_MAX], vgpu[ID_MAX], vm[VM_MAX]; /* "": none */
	int64_t raised_ms, cleared_ms, acked_ms;    /* 0: not yet */
	char text[ALERT_TEXT_MAX];		    /* the condition with its numbers */
	bool silenced;				    /* listed, but no notification is sent */
	bool notified;				    /* a notification was sent when it was raised */
	/* State from tick to tick. */
	int64_t updated_ms; /* time of the last notification */
	uint64_t text_hash; /* hash of the text in the last notification */
	int held_ticks, quiet_ticks;
	bool holds;   /* the condition was reported in this tick */
	bool unknown; /* the condition cannot be determined in this tick */
};

struct alerts; /* active alerts, and the newest cleared alerts */

enum alert_event {
	ALERT_RAISED,
	ALERT_UPDATED, /* the text of the alert changed */
	ALERT_CLEARED,
	ALERT_ACKNOWLEDGED,
	/* the silence of an active alert ended, and no notification was sent before */
	ALERT_UNSILENCED,
};
/*
 * Returns the name of the event for hooks and the webhook; the name of ALERT_UNSILENCED is
 * "raised".
 */
const char *alert_event_name(enum alert_event event);

typedef void (*alert_changed_fn)(void *userdata, const struct alert *alert, enum alert_event event);
typedef bool (*alert_silenced_fn)(void *userdata, const struct alert *alert);

struct alerts *alerts_new(int64_t last_id, alert_changed_fn changed, void *userdata);
struct alerts *alerts_free(struct alerts *alerts); /* NULL is fine; returns NULL */

/*
 * @silenced decides whether an alert is silenced; it is called with the userdata of alerts_new().
 * NULL: no alert is silenced.
 */
void alerts_set_silenced(struct alerts *alerts, alert_silenced_fn silenced);
/*
 * Sets the shortest time between two updates of an alert; 0: no updates. An acknowledged alert is
 * not updated.
 */
void alerts_set_update(struct alerts *alerts, int64_t update_ms);
/* Applies changed silences to the alerts. alerts_end_tick() calls this function as well. */
void alerts_update_silenced(struct alerts *alerts, int64_t now_ms);

/*
 * Reports a condition of a vGPU, of a GPU (@vgpu is NULL) or of the host (@gpu and @vgpu are NULL).
 */
void alerts_hold(struct alerts *alerts, enum alert_kind kind, const char *gpu,
		 const struct vgpu *vgpu, int64_t now_ms, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/*
 * The conditions @kinds (bits, 1u << kind) of @vgpu cannot be determined in this tick: active
 * alerts stay active, and the tick does not count for clearing. @vgpu: NULL for every vGPU of @gpu.
 */
void alerts_mark_unknown(struct alerts *alerts, unsigned int kinds, const char *gpu,
			 const char *vgpu);
/*
 * Call it when the contract or the operator hold of vGPU @id changed, or when the vGPU was removed:
 * its alerts are cleared in the first tick that does not report them.
 */
void alerts_vgpu_changed(struct alerts *alerts, const char *id);
/*
 * Clears alerts that were not reported for the number of ticks of their kind. A tick with @gap does
 * not count.
 */
void alerts_end_tick(struct alerts *alerts, int64_t now_ms, bool gap);
/* -ENOENT: no such alert. Acknowledging twice changes nothing. */
int alerts_ack(struct alerts *alerts, int64_t id, int64_t now_ms);
/* Restores an alert that was active when the previous run of the daemon stopped. */
void alerts_adopt(struct alerts *alerts, const struct alert *alert);

int64_t alerts_last_id(const struct alerts *alerts);
/* Counts and returns raised and cleared alerts, oldest first. */
size_t alerts_count(const struct alerts *alerts);
const struct alert *alerts_at(const struct alerts *alerts, size_t index);
/* Returns the name of the kind at @index, with its severity and meaning; NULL past the end. */
const char *alerts_name_at(size_t index, enum alert_severity *ret_severity,
			   const char **ret_meaning);
/* Return the meaning of an alert, and the command that prints details. */
const char *alert_meaning(const struct alert *alert);
void alert_next_command(const struct alert *alert, char *ret_text, size_t size);
/* -ENOENT: unknown name. */
int alerts_kind_parse(const char *name, enum alert_kind *ret_kind);

#endif
