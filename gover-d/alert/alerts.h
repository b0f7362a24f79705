/* SPDX-License-Identifier: MIT */
/*
 * Alerts: conditions with a start and an end. Silences mute the alerts that match all selectors. In
 * every tick the caller reports the conditions that hold (alerts_hold). An alert is raised when its
 * condition was reported in enough ticks, and cleared when its condition was absent for enough
 * ticks. kinds.h defines both numbers for each kind of alert. A late tick, or a tick in which the
 * condition is unknown (alerts_mark_unknown), does not count as a tick without the condition.
 */
#ifndef GOVER_D_ALERT_ALERTS_H
#define GOVER_D_ALERT_ALERTS_H

#include "db/db.h"
#include "gover-d/alert/kinds.h"
#include "gover-d/model/host.h"

#define ALERT_TEXT_MAX	512
#define ALERT_CAUSE_MAX 24
#define ALERT_NEXT_MAX	128
#define ALERT_BY_MAX	80
#define ALERT_URL_MAX	256

#define ALERTS_CLEARED_KEPT 256 /* number of cleared alerts in memory */

enum alert_severity { ALERT_INFO, ALERT_WARNING, ALERT_CRITICAL };
const char *alert_severity_name(enum alert_severity severity);

struct alert {
	int64_t id;
	enum alert_kind kind;
	const char *name;	      /* name of the kind, such as "severe_overload" */
	enum alert_severity severity; /* never falls while the alert is active */
	char cause[ALERT_CAUSE_MAX];  /* name of the cause; "": the kind has no causes */
	char next[ALERT_NEXT_MAX];    /* next command; "": that of the kind */
	char gpu[ID_MAX], vgpu[ID_MAX], vm[VM_MAX]; /* "": none */
	/*
	 * Labels of the contract, see contract.h; "": none. The history does not contain them: an
	 * alert of a previous run has them again when its condition is reported.
	 */
	char instance[CONTRACT_LABEL_MAX], project[CONTRACT_LABEL_MAX];
	int64_t raised_ms, cleared_ms, acked_ms; /* 0: not yet */
	char acked_by[ALERT_BY_MAX]; /* principal that acknowledged the alert; "": none */
	/* text for the operator: the condition with its numbers */
	char text[ALERT_TEXT_MAX];
	bool silenced; /* the alert is listed, but no notification is sent */
	bool notified; /* the notification "raised" was sent */
	/* State between ticks, used in alerts.c only. */
	int64_t updated_ms; /* time of the last notification */
	uint64_t text_hash; /* hash of the text in the last notification */
	int held_ticks, quiet_ticks;
	bool holds;   /* the condition was reported in this tick */
	bool unknown; /* the condition cannot be determined in this tick */
	bool removed; /* the vGPU was removed */
};

struct alerts; /* the active alerts and the newest cleared alerts */

enum alert_event {
	ALERT_RAISED,
	ALERT_UPDATED, /* the text of the alert changed */
	ALERT_CLEARED,
	ALERT_ACKNOWLEDGED,
	/* the silence ended, and "raised" must be sent now, because it was not sent before */
	ALERT_UNSILENCED,
	ALERT_ESCALATED, /* the severity of an active alert has risen */
};
/*
 * Returns the name of the event for hooks and the webhook; the name of ALERT_UNSILENCED and of
 * ALERT_ESCALATED is "raised".
 */
const char *alert_event_name(enum alert_event event);

typedef void (*alert_changed_fn)(void *userdata, const struct alert *alert, enum alert_event event);
typedef bool (*alert_silenced_fn)(void *userdata, const struct alert *alert);

struct alerts *alerts_new(int64_t last_id, alert_changed_fn changed, void *userdata);
struct alerts *alerts_free(struct alerts *alerts); /* @alerts may be NULL; returns NULL */

/*
 * @silenced decides whether an alert is silenced; it is called with the userdata of alerts_new().
 * NULL: no alert is silenced.
 */
void alerts_set_silenced(struct alerts *alerts, alert_silenced_fn silenced);
/*
 * Sets the shortest time between two notifications "updated" of an alert; 0: none are sent. None
 * are sent for an acknowledged alert.
 */
void alerts_set_update(struct alerts *alerts, int64_t update_ms);
/*
 * Determines again which active alerts are silenced. Call this function when a silence changed.
 * alerts_end_tick() calls it too.
 */
void alerts_update_silenced(struct alerts *alerts, int64_t now_ms);

/* A condition whose severity, cause and next command differ from case to case. */
struct alert_condition {
	enum alert_kind kind;
	const char *gpu;	 /* NULL: a condition of the host */
	const struct vgpu *vgpu; /* NULL: a condition of the GPU or the host */
	enum alert_severity severity;
	const char *cause, *next; /* NULL: none */
};
void alerts_hold_condition(struct alerts *alerts, const struct alert_condition *condition,
			   int64_t now_ms, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * Reports a condition of a vGPU, of a GPU (@vgpu is NULL) or of the host (@gpu and @vgpu are NULL).
 */
void alerts_hold(struct alerts *alerts, enum alert_kind kind, const char *gpu,
		 const struct vgpu *vgpu, int64_t now_ms, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/*
 * Marks the conditions @kinds (bits 1u << kind) of @vgpu as unknown in this tick: active alerts
 * stay active, and the tick does not count as a tick without the condition. If @vgpu is NULL, this
 * applies to all alerts of @gpu.
 */
void alerts_mark_unknown(struct alerts *alerts, unsigned int kinds, const char *gpu,
			 const char *vgpu);
/*
 * Call this function when the contract or the operator hold of vGPU @id changed. The alerts of the
 * vGPU are then cleared in the first tick that does not report their conditions.
 */
void alerts_vgpu_changed(struct alerts *alerts, const char *id);
/*
 * Call this function when vGPU @id was removed. The end of the next tick clears its alerts, also if
 * the tick is late, unless the tick reports their conditions for a new vGPU with this id.
 */
void alerts_vgpu_removed(struct alerts *alerts, const char *id);
/*
 * Ends the tick. Clears each alert whose condition was absent for the number of ticks that kinds.h
 * defines. @gap: the tick was late, so it does not count as a tick without the condition.
 */
void alerts_end_tick(struct alerts *alerts, int64_t now_ms, bool gap);
/*
 * Acknowledges alert @id for principal @by. A second call changes nothing. -ENOENT: no such alert.
 */
int alerts_ack(struct alerts *alerts, int64_t id, const char *by, int64_t now_ms);
/* Restores an alert of a previous run of the daemon. Call this in the order of ids. */
void alerts_adopt(struct alerts *alerts, const struct alert *alert);

/* Returns alert @id, active or cleared; NULL: no such alert. */
const struct alert *alerts_find(const struct alerts *alerts, int64_t id);
/*
 * Returns the oldest active critical alert of @gpu or of one of its vGPUs, also if it is silenced
 * or acknowledged. NULL: none.
 */
const struct alert *alerts_critical(const struct alerts *alerts, const char *gpu);

int64_t alerts_last_id(const struct alerts *alerts);
/*
 * alerts_count() counts the raised and the cleared alerts; alerts_at() returns one of them. @index
 * 0 is the oldest alert.
 */
size_t alerts_count(const struct alerts *alerts);
const struct alert *alerts_at(const struct alerts *alerts, size_t index);
/*
 * Lists the kinds of alerts: returns the name of the kind at @index, and sets its severity and its
 * meaning. Returns NULL if @index is past the last kind.
 */
const char *alerts_name_at(size_t index, enum alert_severity *ret_severity,
			   const char **ret_meaning);
/* Return the meaning of an alert, and the command that prints details. */
const char *alert_meaning(const struct alert *alert);
void alert_next_command(const struct alert *alert, char *ret_text, size_t size);
/* Writes the address of the runbook. @prefix: the key runbook_url of section [alerts]. */
void alert_runbook_url(const struct alert *alert, const char *prefix, char ret_url[ALERT_URL_MAX]);
/* Returns the severity with this name; -EINVAL: unknown name. */
int alert_severity_parse(const char *name, enum alert_severity *ret_severity);
/* Finds the kind of alert with this name. -ENOENT: unknown name. */
int alerts_kind_parse(const char *name, enum alert_kind *ret_kind);

/*
 * Silences. A silence mutes the alerts that match all its selectors, until a given time. A silenced
 * alert is raised, listed and recorded as usual, but neither hooks nor the webhook are called for
 * it. The module reads no clock: the caller passes the time.
 */

#define SILENCES_MAX	   256
#define SILENCE_ALERT_MAX  sizeof(((struct db_silence *)NULL)->alert)
#define SILENCE_REASON_MAX sizeof(((struct db_silence *)NULL)->reason)

struct silences {
	/*
	 * Sorted by ascending id. The alert, the GPU and the vGPU of a silence are selectors: an
	 * alert matches if it has the value of each selector that is not empty. At least one
	 * selector is not empty.
	 */
	struct db_silence list[SILENCES_MAX];
	int n;
	int64_t last_id;
};

/* Assigns the next id to @silence and stores a copy of it. -ENOSPC: SILENCES_MAX reached. */
int silences_add(struct silences *silences, struct db_silence *silence);
/*
 * Restores a silence of an earlier run of the daemon. Silences must be restored in ascending order
 * of their ids. -ENOSPC: SILENCES_MAX reached.
 */
int silences_adopt(struct silences *silences, const struct db_silence *silence);
/* Returns the silence; NULL: no such silence. */
const struct db_silence *silences_find(const struct silences *silences, int64_t id);
/* Removes a silence. -ENOENT: no such silence. */
int silences_remove(struct silences *silences, int64_t id, struct db_silence *ret_silence);
/* Removes one expired silence. Returns false if no silence has expired. */
bool silences_expire(struct silences *silences, int64_t now_ms, struct db_silence *ret_silence);
bool silences_match(const struct silences *silences, const struct alert *alert);

#endif
