/* SPDX-License-Identifier: MIT */
/*
 * Alerts from conditions. A condition must hold for a few ticks before it is told and be gone for a
 * few before it is over, so that one that flickers rings once. Must never grow without bound.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "gover-d/alert/alerts.h"

#define CLEARED_KEPT 256

/*
 * How long a condition must be gone to be over, in periods. What is by use swings with what tenants
 * draw, and programs change their scenes every ten seconds or so: a minute, so that one tenant at
 * its limit is one alert. Readings and reports that fail come and go: ten. A state that somebody
 * ends stays ended: three. Of severe overload the policy itself says when it is over (rule 7).
 */
#define CLEAR_BY_USE	60
#define CLEAR_BY_SIGHT	10
#define CLEAR_STATE	3
#define CLEAR_BY_POLICY 1

static const struct alert_info {
	const char *name;
	enum alert_severity severity;
	int raise_ticks, clear_ticks;
	const char *meaning;
	const char *next; /* %s: its vGPU */
} table[ALERT_KINDS] = {
	[ALERT_SEVERE_OVERLOAD] =
		{"severe_overload", ALERT_CRITICAL, 1, CLEAR_BY_POLICY,
		 "two vGPUs or more are overloaded and nothing is left to give: migrate one",
		 "gover-ctl why %s"},
	[ALERT_CONTRACT_LIMIT] =
		{"contract_limit", ALERT_WARNING, 3, CLEAR_BY_USE,
		 "overloaded, but at the cap that was sold: the customer needs a larger one",
		 "gover-ctl why %s"},
	[ALERT_HELD_OVERLOADED] = {"held_overloaded", ALERT_WARNING, 3, CLEAR_BY_USE,
				   "overloaded, but an operator holds its cap", "gover-ctl why %s"},
	[ALERT_QOS_NOT_GPU_BOUND] =
		{"qos_not_gpu_bound", ALERT_INFO, 3, CLEAR_BY_USE,
		 "below its FPS target without using its cap: the guest's own doing",
		 "gover-ctl why %s"},
	[ALERT_FPS_MISSING] = {"fps_missing", ALERT_WARNING, 5, CLEAR_BY_SIGHT,
			       "has an FPS target and reports no frames", "gover-ctl vgpu show %s"},
	[ALERT_SUM_OVER_100] =
		{"sum_over_100", ALERT_WARNING, 2, CLEAR_STATE,
		 "the caps add up to more than the GPU: a cap is not real time any more",
		 "gover-ctl vgpu list"},
	[ALERT_FOREIGN_WRITE] = {"foreign_write", ALERT_WARNING, 1, CLEAR_STATE,
				 "somebody else changed the cap: it is on hold until released",
				 "gover-ctl why %s"},
	[ALERT_VGPU_MISSING] = {"vgpu_missing", ALERT_CRITICAL, 2, CLEAR_STATE,
				"has a contract and does not exist on the GPU",
				"gover-ctl vgpu show %s"},
	[ALERT_TELEMETRY_STALE] =
		{"telemetry_stale", ALERT_CRITICAL, 2, CLEAR_BY_SIGHT,
		 "busy time cannot be read: stealing stands still, nothing is sold",
		 "gover-ctl doctor"},
	[ALERT_WRITE_FAILED] = {"write_failed", ALERT_CRITICAL, 1, CLEAR_STATE,
				"a cap could not be put in force", "gover-ctl why %s"},
	[ALERT_HISTORY_FAILING] =
		{"history_failing", ALERT_WARNING, 1, CLEAR_STATE,
		 "the database cannot be written; the loop goes on without history",
		 "gover-ctl doctor"},
	[ALERT_CONTRACTS_UNSAVED] = {"contracts_unsaved", ALERT_CRITICAL, 1, CLEAR_STATE,
				     "the contracts file cannot be written: the newest changes are "
				     "in the database alone",
				     "gover-ctl doctor"},
	[ALERT_SALE_FAILED] = {"sale_failed", ALERT_WARNING, 1, CLEAR_STATE,
			       "a newcomer broke promises during its probation: migrate it",
			       "gover-ctl offers --all"},
	[ALERT_WEBHOOK_FAILING] = {"webhook_failing", ALERT_WARNING, 2, CLEAR_STATE,
				   "the receiver of alerts does not take them: others see none",
				   "gover-ctl alerts"},
};

struct alerts {
	struct alert **list; /* ascending id, then those not raised yet */
	size_t n, size;
	size_t n_raised;
	size_t next; /* in list: behind the one that was said last */
	int64_t last_id;
	int64_t update_ms; /* 0: never */
	alert_changed_fn changed;
	alert_silenced_fn silenced; /* NULL: none is */
	void *userdata;
};

const char *alert_severity_name(enum alert_severity severity)
{
	static const char *const names[] = {"info", "warning", "critical"};

	return names[severity];
}

const char *alerts_name_at(size_t index, enum alert_severity *ret_severity,
			   const char **ret_meaning)
{
	if (index >= ARRAY_SIZE(table))
		return NULL;
	*ret_severity = table[index].severity;
	*ret_meaning = table[index].meaning;
	return table[index].name;
}

const char *alert_event_name(enum alert_event event)
{
	static const char *const names[] = {"raised", "updated", "cleared", "acknowledged",
					    "raised"};

	return names[event];
}

const char *alert_meaning(const struct alert *alert)
{
	return table[alert->kind].meaning;
}

/* Of one that is about no vGPU the host as a whole tells more. */
void alert_next_command(const struct alert *alert, char *ret_text, size_t size)
{
	const char *next = table[alert->kind].next, *place = strstr(next, "%s");

	if (!place)
		snprintf(ret_text, size, "%s", next);
	else if (alert->vgpu[0])
		snprintf(ret_text, size, "%.*s%s", (int)(place - next), next, alert->vgpu);
	else
		snprintf(ret_text, size, "gover-ctl status");
}

int alerts_kind_parse(const char *name, enum alert_kind *ret_kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (strcmp(table[i].name, name) == 0) {
			*ret_kind = (enum alert_kind)i;
			return 0;
		}
	}
	return -ENOENT;
}

struct alerts *alerts_new(int64_t last_id, alert_changed_fn changed, void *userdata)
{
	struct alerts *alerts = calloc(1, sizeof(*alerts));

	if (!alerts)
		return NULL;
	alerts->last_id = last_id;
	alerts->changed = changed;
	alerts->userdata = userdata;
	return alerts;
}

struct alerts *alerts_free(struct alerts *alerts)
{
	if (!alerts)
		return NULL;
	for (size_t i = 0; i < alerts->n; i++)
		free(alerts->list[i]);
	free(alerts->list);
	free(alerts);
	return NULL;
}

static struct alert *insert(struct alerts *alerts, size_t at)
{
	struct alert *alert;

	if (alerts->n == alerts->size) {
		size_t size = alerts->size ? 2 * alerts->size : 16;
		struct alert **list = realloc(alerts->list, size * sizeof(struct alert *));

		if (!list)
			return NULL;
		alerts->list = list;
		alerts->size = size;
	}
	alert = calloc(1, sizeof(*alert));
	if (!alert)
		return NULL;
	memmove(&alerts->list[at + 1], &alerts->list[at],
		(alerts->n - at) * sizeof(struct alert *));
	alerts->list[at] = alert;
	alerts->n++;
	return alert;
}

static void drop(struct alerts *alerts, size_t at)
{
	if (at < alerts->n_raised)
		alerts->n_raised--;
	free(alerts->list[at]);
	alerts->n--;
	memmove(&alerts->list[at], &alerts->list[at + 1],
		(alerts->n - at) * sizeof(struct alert *));
}

/* Every tick says what holds in the same order: the one looked for is nearly always the next. */
static struct alert *find_live(struct alerts *alerts, enum alert_kind kind, const char *gpu,
			       const char *vgpu)
{
	for (size_t i = 0; i < alerts->n; i++) {
		size_t at = (alerts->next + i) % alerts->n;
		struct alert *a = alerts->list[at];

		if (a->cleared_ms || a->kind != kind || strcmp(a->vgpu, vgpu) != 0 ||
		    strcmp(a->gpu, gpu) != 0)
			continue;
		alerts->next = at + 1;
		return a;
	}
	return NULL;
}

void alerts_set_silenced(struct alerts *alerts, alert_silenced_fn silenced)
{
	alerts->silenced = silenced;
}

void alerts_set_update(struct alerts *alerts, int64_t update_ms)
{
	alerts->update_ms = update_ms;
}

static bool is_silenced(const struct alerts *alerts, const struct alert *alert)
{
	return alerts->silenced && alerts->silenced(alerts->userdata, alert);
}

static void tell(struct alerts *alerts, struct alert *alert, enum alert_event event, int64_t now_ms)
{
	alert->updated_ms = now_ms;
	alert->text_hash = hash_text(alert->text);
	if ((event == ALERT_RAISED || event == ALERT_UNSILENCED) && !alert->silenced)
		alert->told = true;
	alerts->changed(alerts->userdata, alert, event);
}

void alerts_ask_silenced(struct alerts *alerts, int64_t now_ms)
{
	for (size_t i = 0; i < alerts->n_raised; i++) {
		struct alert *a = alerts->list[i];

		if (a->cleared_ms)
			continue;
		a->silenced = is_silenced(alerts, a);
		if (!a->silenced && !a->told)
			tell(alerts, a, ALERT_UNSILENCED, now_ms);
	}
}

/* It holds, its numbers have changed, and it was not told lately. A clock that was set back is no
 * reason to be silent. */
static bool is_update_due(const struct alerts *alerts, const struct alert *alert, int64_t now_ms)
{
	int64_t age_ms = now_ms - alert->updated_ms;

	return alerts->update_ms > 0 && alert->raised_ms && !alert->acked_ms &&
	       (age_ms < 0 || age_ms >= alerts->update_ms) &&
	       hash_text(alert->text) != alert->text_hash;
}

/* Gives it its number and its place among the raised ones. */
static void raise_alert(struct alerts *alerts, struct alert *alert, int64_t now_ms)
{
	size_t at = 0;

	while (alerts->list[at] != alert)
		at++;
	memmove(&alerts->list[alerts->n_raised + 1], &alerts->list[alerts->n_raised],
		(at - alerts->n_raised) * sizeof(struct alert *));
	alerts->list[alerts->n_raised++] = alert;
	alert->id = ++alerts->last_id;
	alert->raised_ms = now_ms;
	alert->silenced = is_silenced(alerts, alert);
	tell(alerts, alert, ALERT_RAISED, now_ms);
}

void alerts_hold(struct alerts *alerts, enum alert_kind kind, const char *gpu,
		 const struct vgpu *vgpu, int64_t now_ms, const char *format, ...)
{
	const char *gpu_name = gpu ? gpu : "", *id = vgpu ? vgpu->contract.id : "";
	struct alert *alert = find_live(alerts, kind, gpu_name, id);
	va_list ap;

	if (!alert) {
		alert = insert(alerts, alerts->n);
		if (!alert)
			return; /* it will be said again in the next tick */
		alert->kind = kind;
		alert->name = table[kind].name;
		alert->severity = table[kind].severity;
		snprintf(alert->gpu, sizeof(alert->gpu), "%s", gpu_name);
		snprintf(alert->vgpu, sizeof(alert->vgpu), "%s", id);
	}
	snprintf(alert->vm, sizeof(alert->vm), "%s", vgpu ? vgpu->contract.vm : "");
	va_start(ap, format);
	vsnprintf(alert->text, sizeof(alert->text), format, ap);
	va_end(ap);
	if (!alert->holds)
		alert->held_ticks++;
	alert->holds = true;
	alert->quiet_ticks = 0;
	if (!alert->raised_ms && alert->held_ticks >= table[kind].raise_ticks)
		raise_alert(alerts, alert, now_ms);
}

void alerts_doubt(struct alerts *alerts, unsigned int kinds, const char *gpu, const char *vgpu)
{
	for (size_t i = 0; i < alerts->n; i++) {
		struct alert *a = alerts->list[i];

		if (!a->cleared_ms && (kinds & (1u << a->kind)) && strcmp(a->gpu, gpu) == 0 &&
		    (!vgpu || strcmp(a->vgpu, vgpu) == 0))
			a->in_doubt = true;
	}
}

void alerts_vgpu_changed(struct alerts *alerts, const char *id)
{
	for (size_t i = 0; i < alerts->n; i++)
		if (strcmp(alerts->list[i]->vgpu, id) == 0)
			alerts->list[i]->quiet_ticks = table[alerts->list[i]->kind].clear_ticks;
}

static void forget_old_cleared(struct alerts *alerts)
{
	size_t cleared = 0;

	for (size_t i = 0; i < alerts->n_raised; i++)
		cleared += alerts->list[i]->cleared_ms != 0;
	for (size_t i = 0; i < alerts->n_raised && cleared > CLEARED_KEPT;) {
		if (alerts->list[i]->cleared_ms) {
			drop(alerts, i);
			cleared--;
		} else {
			i++;
		}
	}
}

void alerts_end_tick(struct alerts *alerts, int64_t now_ms, bool gap)
{
	bool cleared = false;

	alerts_ask_silenced(alerts, now_ms);
	for (size_t i = 0; i < alerts->n;) {
		struct alert *a = alerts->list[i];
		bool held = a->holds, in_doubt = gap || a->in_doubt;

		a->holds = a->in_doubt = false;
		if (!held && !a->raised_ms) {
			drop(alerts, i);
			continue;
		}
		i++;
		if (held && is_update_due(alerts, a, now_ms))
			tell(alerts, a, ALERT_UPDATED, now_ms);
		if (held || in_doubt || a->cleared_ms ||
		    ++a->quiet_ticks < table[a->kind].clear_ticks)
			continue;
		a->cleared_ms = now_ms;
		cleared = true;
		tell(alerts, a, ALERT_CLEARED, now_ms);
	}
	if (cleared)
		forget_old_cleared(alerts);
}

int alerts_ack(struct alerts *alerts, int64_t id, int64_t now_ms)
{
	for (size_t i = 0; i < alerts->n_raised; i++) {
		struct alert *a = alerts->list[i];

		if (a->id != id)
			continue;
		if (!a->acked_ms) {
			a->acked_ms = now_ms;
			tell(alerts, a, ALERT_ACKNOWLEDGED, now_ms);
		}
		return 0;
	}
	return -ENOENT;
}

void alerts_adopt(struct alerts *alerts, const struct alert *adopted)
{
	struct alert *alert = insert(alerts, alerts->n_raised);

	if (!alert)
		return;
	*alert = *adopted;
	alert->name = table[alert->kind].name;
	alert->severity = table[alert->kind].severity;
	alert->silenced = is_silenced(alerts, alert);
	alert->told = !alert->silenced; /* by the daemon that raised it */
	alert->updated_ms = alert->raised_ms;
	alerts->n_raised++;
}

int64_t alerts_last_id(const struct alerts *alerts)
{
	return alerts->last_id;
}

size_t alerts_count(const struct alerts *alerts)
{
	return alerts->n_raised;
}

const struct alert *alerts_at(const struct alerts *alerts, size_t index)
{
	return alerts->list[index];
}
