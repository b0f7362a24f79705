/* SPDX-License-Identifier: MIT */
/*
 * Alerts: conditions with an edge. Each tick says which conditions hold (alerts_hold), and what was
 * not said for a while is over (alerts_end_tick): raised once when one begins, cleared once when it
 * ends. A tick that could not see (a gap, alerts_doubt) is no sign that anything ended.
 */
#ifndef GOVER_D_ALERT_ALERTS_H
#define GOVER_D_ALERT_ALERTS_H

#include "gover-d/model/host.h"

#define ALERT_TEXT_MAX 512

enum alert_severity { ALERT_INFO, ALERT_WARNING, ALERT_CRITICAL };
const char *alert_severity_name(enum alert_severity severity);

enum alert_kind {
	ALERT_SEVERE_OVERLOAD,
	ALERT_CONTRACT_LIMIT,
	ALERT_HELD_OVERLOADED,
	ALERT_QOS_NOT_GPU_BOUND,
	ALERT_FPS_MISSING,
	ALERT_SUM_OVER_100,
	ALERT_FOREIGN_WRITE,
	ALERT_VGPU_MISSING,
	ALERT_TELEMETRY_STALE,
	ALERT_WRITE_FAILED,
	ALERT_HISTORY_FAILING,
	ALERT_CONTRACTS_UNSAVED,
	ALERT_SALE_FAILED,
	ALERT_WEBHOOK_FAILING,
	ALERT_KINDS
};

struct alert {
	int64_t id;
	enum alert_kind kind;
	const char *name; /* "severe_overload": from the table in alerts.c */
	enum alert_severity severity;
	char gpu[ID_MAX], vgpu[ID_MAX], vm[VM_MAX]; /* "": none */
	int64_t raised_ms, cleared_ms, acked_ms;    /* 0: not yet */
	char text[ALERT_TEXT_MAX];		    /* what it means here, with numbers */
	bool silenced;				    /* it is shown, and nobody is woken */
	bool told;				    /* somebody was, of its being raised */
	/* between ticks */
	int64_t updated_ms; /* when its text was told last */
	uint64_t text_hash; /* of that text */
	int held_ticks, quiet_ticks;
	bool holds;    /* said in this tick */
	bool in_doubt; /* nothing can be said of it in this tick */
};

struct alerts; /* those that hold, and the newest cleared ones */

enum alert_event {
	ALERT_RAISED,
	ALERT_UPDATED, /* its text has newer numbers */
	ALERT_CLEARED,
	ALERT_ACKNOWLEDGED,
	ALERT_UNSILENCED, /* a silence is over, it holds, and nobody was told when it was raised */
};
const char *alert_event_name(enum alert_event event); /* the last is "raised" for who hears it */

typedef void (*alert_changed_fn)(void *userdata, const struct alert *alert, enum alert_event event);
typedef bool (*alert_silenced_fn)(void *userdata, const struct alert *alert);

struct alerts *alerts_new(int64_t last_id, alert_changed_fn changed, void *userdata);
struct alerts *alerts_free(struct alerts *alerts); /* NULL is fine; returns NULL */

/* Who says which are silenced (NULL: none are), and how often at most one is updated (0: never; nor
 * is one that was acknowledged). With the userdata of alerts_new(). */
void alerts_set_silenced(struct alerts *alerts, alert_silenced_fn silenced);
void alerts_set_update(struct alerts *alerts, int64_t update_ms);
/* Silences have changed: each is asked about again. So it is in every tick. */
void alerts_ask_silenced(struct alerts *alerts, int64_t now_ms);

/* The condition holds now. @vgpu NULL: of the GPU; @gpu NULL too: of the host. */
void alerts_hold(struct alerts *alerts, enum alert_kind kind, const char *gpu,
		 const struct vgpu *vgpu, int64_t now_ms, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* The @kinds (bits, 1u << kind) of @vgpu cannot be judged in this tick: what of them is raised and
 * not said stands, and the tick counts for nothing. @vgpu NULL: whomever on @gpu they name. */
void alerts_doubt(struct alerts *alerts, unsigned int kinds, const char *gpu, const char *vgpu);
/* Somebody changed what an alert of vGPU @id is about, or the vGPU went: the first tick that does
 * not say it ends it. */
void alerts_vgpu_changed(struct alerts *alerts, const char *id);
/* Clears what was not said for as many ticks as its kind asks for. A @gap is no such tick. */
void alerts_end_tick(struct alerts *alerts, int64_t now_ms, bool gap);
/* -ENOENT: no such alert. Acknowledging twice changes nothing. */
int alerts_ack(struct alerts *alerts, int64_t id, int64_t now_ms);
/* Takes up one that had not cleared when the last daemon ended. */
void alerts_adopt(struct alerts *alerts, const struct alert *alert);

int64_t alerts_last_id(const struct alerts *alerts);
/* Number of kept raised or cleared alerts, oldest first, and one of them. */
size_t alerts_count(const struct alerts *alerts);
const struct alert *alerts_at(const struct alerts *alerts, size_t index);
/* The table of all names with severity and meaning, for the man page and /metrics. NULL past the
 * end. */
const char *alerts_name_at(size_t index, enum alert_severity *ret_severity,
			   const char **ret_meaning);
/* What it means, and the command that tells more of it: its vGPU stands for %s, where there is one.
 */
const char *alert_meaning(const struct alert *alert);
void alert_next_command(const struct alert *alert, char *ret_text, size_t size);
/* -ENOENT: no kind of that name. */
int alerts_kind_parse(const char *name, enum alert_kind *ret_kind);

#endif
