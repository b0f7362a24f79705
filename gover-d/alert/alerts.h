/* SPDX-License-Identifier: MIT */
/*
 * Alerts: conditions with a begin and an end. In every tick the caller reports the conditions that
 * hold (alerts_hold). An alert is raised once when its condition begins and cleared once when the
 * condition has not been reported for a while. A tick without data (a gap, alerts_mark_unknown)
 * clears nothing.
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
	const char *name; /* "severe_overload": as in kinds.h */
	enum alert_severity severity;
	char gpu[ID_MAX], vgpu[ID_MAX], vm[VM_MAX]; /* "": none */
	int64_t raised_ms, cleared_ms, acked_ms;    /* 0: not yet */
	char text[ALERT_TEXT_MAX];		    /* the condition with its numbers */
	bool silenced;				    /* listed, but no notification is sent */
	bool notified;				    /* a notification was sent when it was raised */
	/* between ticks */
	int64_t updated_ms; /* last notification */
	uint64_t text_hash; /* of the text in the last notification */
	int held_ticks, quiet_ticks;
	bool holds;   /* reported in this tick */
	bool unknown; /* no data in this tick */
};

struct alerts; /* active alerts, and the newest cleared ones */

enum alert_event {
	ALERT_RAISED,
	ALERT_UPDATED, /* the numbers in its text changed */
	ALERT_CLEARED,
	ALERT_ACKNOWLEDGED,
	ALERT_UNSILENCED, /* its silence ended while it is active, and no notification was sent
			     before */
};
/* As sent to receivers; ALERT_UNSILENCED is "raised" for them. */
const char *alert_event_name(enum alert_event event);

typedef void (*alert_changed_fn)(void *userdata, const struct alert *alert, enum alert_event event);
typedef bool (*alert_silenced_fn)(void *userdata, const struct alert *alert);

struct alerts *alerts_new(int64_t last_id, alert_changed_fn changed, void *userdata);
struct alerts *alerts_free(struct alerts *alerts); /* NULL is fine; returns NULL */

/* @silenced decides which alerts are silenced, with the userdata of alerts_new(); NULL: none. */
void alerts_set_silenced(struct alerts *alerts, alert_silenced_fn silenced);
/* The shortest time between updates of an alert; 0: no updates. Acknowledged alerts have none. */
void alerts_set_update(struct alerts *alerts, int64_t update_ms);
/* Call it when silences have changed. alerts_end_tick() calls it too. */
void alerts_update_silenced(struct alerts *alerts, int64_t now_ms);

/* Reports a condition of a vGPU, of a GPU (@vgpu NULL) or of the host (@gpu NULL too). */
void alerts_hold(struct alerts *alerts, enum alert_kind kind, const char *gpu,
		 const struct vgpu *vgpu, int64_t now_ms, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* The @kinds (bits, 1u << kind) of @vgpu cannot be determined in this tick: active ones stay, and
 * the tick does not count for clearing. @vgpu NULL: of every vGPU of @gpu. */
void alerts_mark_unknown(struct alerts *alerts, unsigned int kinds, const char *gpu,
			 const char *vgpu);
/* The contract or hold of vGPU @id changed, or it was removed: its alerts are cleared in the first
 * tick that does not report them. */
void alerts_vgpu_changed(struct alerts *alerts, const char *id);
/* Clears alerts that were not reported for the number of ticks of their kind. A @gap does not
 * count.
 */
void alerts_end_tick(struct alerts *alerts, int64_t now_ms, bool gap);
/* -ENOENT: no such alert. Acknowledging twice changes nothing. */
int alerts_ack(struct alerts *alerts, int64_t id, int64_t now_ms);
/* Restores an alert that was active when the last daemon stopped. */
void alerts_adopt(struct alerts *alerts, const struct alert *alert);

int64_t alerts_last_id(const struct alerts *alerts);
/* The raised and the cleared alerts, oldest first. */
size_t alerts_count(const struct alerts *alerts);
const struct alert *alerts_at(const struct alerts *alerts, size_t index);
/* All names with severity and meaning; NULL past the end. */
const char *alerts_name_at(size_t index, enum alert_severity *ret_severity,
			   const char **ret_meaning);
/* The meaning of an alert, and the command that prints more about it. */
const char *alert_meaning(const struct alert *alert);
void alert_next_command(const struct alert *alert, char *ret_text, size_t size);
/* -ENOENT: unknown name. */
int alerts_kind_parse(const char *name, enum alert_kind *ret_kind);

#endif
