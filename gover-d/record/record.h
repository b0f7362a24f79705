/* SPDX-License-Identifier: MIT */
/* Records events: stores them in memory and passes them to the observers. */
#ifndef GOVER_D_RECORD_RECORD_H
#define GOVER_D_RECORD_RECORD_H

#include "gover-d/alert/alerts.h"
#include "gover-d/model/decisions.h"
#include "gover-d/record/history.h"
#include "gover-d/record/observer.h"

/* Decisions, alerts, silences and the history. Each event goes to all observers. */
struct recorder {
	struct observers observers;
	struct decisions *decisions; /* the newest decisions */
	struct alerts *alerts;
	struct silences silences;
	struct history history;
};

/*
 * Records @decision, which becomes the last decision about each of the @n vGPUs @about. Takes
 * ownership of its JSON.
 */
void record_add(struct recorder *recorder, struct decision *decision, struct vgpu *const *about,
		int n);

/* Records a decision that the policy did not make. @vgpu may be NULL. @format: the reason. */
void record_decision(struct recorder *recorder, const struct host_gpu *gpu, struct vgpu *vgpu,
		     enum decision_kind kind, enum decision_result result, struct instant now,
		     const char *format, ...) __attribute__((format(printf, 7, 8)));

/* Passes a silence that was added or has ended to the observers and the alerts. */
void record_silence(struct recorder *recorder, const struct db_silence *silence,
		    struct instant now);

#endif
