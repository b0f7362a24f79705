/* SPDX-License-Identifier: MIT */
/*
 * Alerts with hysteresis. A condition must hold for several ticks before its alert is raised, and
 * must be absent for several ticks before the alert is cleared. A flickering condition thus yields
 * one alert. The number of stored cleared alerts is limited.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "gover-d/alert/alerts.h"

static const struct alert_info {
	const char *name;
	enum alert_severity severity;
	int raise_ticks, clear_ticks;
	const char *meaning;
	/* command that the operator should run; %s is replaced by the id of the vGPU */
	const char *next;
} table[ALERT_KINDS] = {
#define ALERT_INFO_OF(kind, name, severity, raise, clear, meaning, next) \
	{name, ALERT_##severity, raise, clear, meaning, next},
	ALERT_TABLE(ALERT_INFO_OF)
#undef ALERT_INFO_OF
};

struct alerts {
	/* raised alerts by ascending id, then alerts that are not raised yet */
	struct alert **list;
	size_t n, size;
	size_t n_raised;
	size_t next; /* index in list where the next search begins, see find_live() */
	int64_t last_id;
	/* shortest time between two notifications "updated" of an alert; 0: none are sent */
	int64_t update_ms;
	alert_changed_fn changed;
	alert_silenced_fn silenced; /* NULL: no alert is silenced */
	void *userdata;
};

const char *alert_severity_name(enum alert_severity severity)
{
	static const char *const names[] = {"info", "warning", "critical"};

	return names[severity];
}

int alert_severity_parse(const char *name, enum alert_severity *ret_severity)
{
	for (int i = ALERT_INFO; i <= ALERT_CRITICAL; i++) {
		if (strcmp(alert_severity_name((enum alert_severity)i), name) == 0) {
			*ret_severity = (enum alert_severity)i;
			return 0;
		}
	}
	return -EINVAL;
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
	static const char *const names[] = {
		[ALERT_RAISED] = "raised",     [ALERT_UPDATED] = "updated",
		[ALERT_CLEARED] = "cleared",   [ALERT_ACKNOWLEDGED] = "acknowledged",
		[ALERT_UNSILENCED] = "raised", [ALERT_ESCALATED] = "raised",
	};

	return names[event];
}

const char *alert_meaning(const struct alert *alert)
{
	return table[alert->kind].meaning;
}

void alert_next_command(const struct alert *alert, char *ret_text, size_t size)
{
	const char *next = table[alert->kind].next, *place = strstr(next, "%s");

	if (alert->next[0])
		snprintf(ret_text, size, "%s", alert->next);
	else if (!place)
		snprintf(ret_text, size, "%s", next);
	else if (alert->vgpu[0])
		snprintf(ret_text, size, "%.*s%s", (int)(place - next), next, alert->vgpu);
	else
		snprintf(ret_text, size, "gover-ctl status");
}

void alert_runbook_url(const struct alert *alert, const char *prefix, char ret_url[ALERT_URL_MAX])
{
	snprintf(ret_url, ALERT_URL_MAX, "%s%s.md", prefix, alert->name);
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
	struct alerts *alerts = xcalloc(1, sizeof(*alerts));

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
		alerts->size = alerts->size ? 2 * alerts->size : 16;
		alerts->list = xreallocarray(alerts->list, alerts->size, sizeof(struct alert *));
	}
	alert = xcalloc(1, sizeof(*alert));
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

/*
 * Every tick reports conditions in the same order, so the search begins after the alert that was
 * found last.
 */
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

static void notify(struct alerts *alerts, struct alert *alert, enum alert_event event,
		   int64_t now_ms)
{
	alert->updated_ms = now_ms;
	alert->text_hash = hash_text(alert->text);
	if (event == ALERT_RAISED || event == ALERT_UNSILENCED || event == ALERT_ESCALATED)
		alert->notified = !alert->silenced;
	alerts->changed(alerts->userdata, alert, event);
}

void alerts_update_silenced(struct alerts *alerts, int64_t now_ms)
{
	for (size_t i = 0; i < alerts->n_raised; i++) {
		struct alert *a = alerts->list[i];

		if (a->cleared_ms)
			continue;
		a->silenced = is_silenced(alerts, a);
		if (!a->silenced && !a->notified)
			notify(alerts, a, ALERT_UNSILENCED, now_ms);
	}
}

/*
 * True if the text of the alert changed and its last notification is old enough. If the clock was
 * set back, the age is negative and an update is due.
 */
static bool is_update_due(const struct alerts *alerts, const struct alert *alert, int64_t now_ms)
{
	int64_t age_ms = now_ms - alert->updated_ms;

	return alerts->update_ms > 0 && alert->raised_ms && !alert->acked_ms &&
	       (age_ms < 0 || age_ms >= alerts->update_ms) &&
	       hash_text(alert->text) != alert->text_hash;
}

/* Assigns an id to the alert and moves it to the end of the raised alerts. */
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
	notify(alerts, alert, ALERT_RAISED, now_ms);
}

static struct alert *insert_condition(struct alerts *alerts, const struct alert_condition *c)
{
	struct alert *alert = insert(alerts, alerts->n);

	alert->kind = c->kind;
	alert->name = table[c->kind].name;
	snprintf(alert->gpu, sizeof(alert->gpu), "%s", c->gpu ? c->gpu : "");
	snprintf(alert->vgpu, sizeof(alert->vgpu), "%s", c->vgpu ? c->vgpu->contract.id : "");
	return alert;
}

static void name_owner(struct alert *alert, const struct contract *contract)
{
	snprintf(alert->vm, sizeof(alert->vm), "%s", contract ? contract->vm : "");
	snprintf(alert->instance, sizeof(alert->instance), "%s",
		 contract ? contract_label(contract, CONTRACT_INSTANCE) : "");
	snprintf(alert->project, sizeof(alert->project), "%s",
		 contract ? contract_label(contract, CONTRACT_PROJECT) : "");
}

__attribute__((format(printf, 4, 0))) static void hold(struct alerts *alerts,
						       const struct alert_condition *c,
						       int64_t now_ms, const char *format,
						       va_list ap)
{
	struct alert *alert = find_live(alerts, c->kind, c->gpu ? c->gpu : "",
					c->vgpu ? c->vgpu->contract.id : "");
	bool escalates;

	if (!alert)
		alert = insert_condition(alerts, c);
	escalates = alert->raised_ms && c->severity > alert->severity;
	if (!alert->raised_ms || escalates)
		alert->severity = c->severity;
	name_owner(alert, c->vgpu ? &c->vgpu->contract : NULL);
	snprintf(alert->cause, sizeof(alert->cause), "%s", c->cause ? c->cause : "");
	snprintf(alert->next, sizeof(alert->next), "%s", c->next ? c->next : "");
	vsnprintf(alert->text, sizeof(alert->text), format, ap);
	if (!alert->holds)
		alert->held_ticks++;
	alert->holds = true;
	alert->quiet_ticks = 0;
	if (!alert->raised_ms && alert->held_ticks >= table[c->kind].raise_ticks) {
		raise_alert(alerts, alert, now_ms);
	} else if (escalates) {
		alert->acked_ms = 0; /* the acknowledgement was that of a less severe alert */
		alert->acked_by[0] = '\0';
		notify(alerts, alert, ALERT_ESCALATED, now_ms);
	}
}

void alerts_hold_condition(struct alerts *alerts, const struct alert_condition *condition,
			   int64_t now_ms, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	hold(alerts, condition, now_ms, format, ap);
	va_end(ap);
}

void alerts_hold(struct alerts *alerts, enum alert_kind kind, const char *gpu,
		 const struct vgpu *vgpu, int64_t now_ms, const char *format, ...)
{
	const struct alert_condition condition = {
		.kind = kind, .gpu = gpu, .vgpu = vgpu, .severity = table[kind].severity};
	va_list ap;

	va_start(ap, format);
	hold(alerts, &condition, now_ms, format, ap);
	va_end(ap);
}

void alerts_mark_unknown(struct alerts *alerts, unsigned int kinds, const char *gpu,
			 const char *vgpu)
{
	for (size_t i = 0; i < alerts->n; i++) {
		struct alert *a = alerts->list[i];

		if (!a->cleared_ms && (kinds & (1u << a->kind)) && strcmp(a->gpu, gpu) == 0 &&
		    (!vgpu || strcmp(a->vgpu, vgpu) == 0))
			a->unknown = true;
	}
}

void alerts_vgpu_changed(struct alerts *alerts, const char *id)
{
	for (size_t i = 0; i < alerts->n; i++)
		if (strcmp(alerts->list[i]->vgpu, id) == 0)
			alerts->list[i]->quiet_ticks = table[alerts->list[i]->kind].clear_ticks;
}

void alerts_vgpu_removed(struct alerts *alerts, const char *id)
{
	for (size_t i = 0; i < alerts->n; i++)
		if (strcmp(alerts->list[i]->vgpu, id) == 0)
			alerts->list[i]->removed = true;
}

static void forget_old_cleared(struct alerts *alerts)
{
	size_t cleared = 0;

	for (size_t i = 0; i < alerts->n_raised; i++)
		cleared += alerts->list[i]->cleared_ms != 0;
	for (size_t i = 0; i < alerts->n_raised && cleared > ALERTS_CLEARED_KEPT;) {
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

	alerts_update_silenced(alerts, now_ms);
	for (size_t i = 0; i < alerts->n;) {
		struct alert *a = alerts->list[i];
		bool held = a->holds, removed = a->removed, unknown = gap || a->unknown;

		a->holds = a->unknown = a->removed = false;
		if (!held && !a->raised_ms) {
			drop(alerts, i);
			continue;
		}
		i++;
		if (held && is_update_due(alerts, a, now_ms))
			notify(alerts, a, ALERT_UPDATED, now_ms);
		if (held || a->cleared_ms)
			continue;
		if (!removed && (unknown || ++a->quiet_ticks < table[a->kind].clear_ticks))
			continue;
		a->cleared_ms = now_ms;
		cleared = true;
		notify(alerts, a, ALERT_CLEARED, now_ms);
	}
	if (cleared)
		forget_old_cleared(alerts);
}

static struct alert *find_raised(const struct alerts *alerts, int64_t id)
{
	for (size_t i = 0; i < alerts->n_raised; i++)
		if (alerts->list[i]->id == id)
			return alerts->list[i];
	return NULL;
}

const struct alert *alerts_find(const struct alerts *alerts, int64_t id)
{
	return find_raised(alerts, id);
}

int alerts_ack(struct alerts *alerts, int64_t id, const char *by, int64_t now_ms)
{
	struct alert *a = find_raised(alerts, id);

	if (!a)
		return -ENOENT;
	if (!a->acked_ms) {
		a->acked_ms = now_ms;
		snprintf(a->acked_by, sizeof(a->acked_by), "%s", by);
		notify(alerts, a, ALERT_ACKNOWLEDGED, now_ms);
	}
	return 0;
}

void alerts_adopt(struct alerts *alerts, const struct alert *adopted)
{
	struct alert *alert = insert(alerts, alerts->n_raised);

	if (!alert)
		return;
	*alert = *adopted;
	alert->name = table[alert->kind].name;
	if (!alert->cleared_ms && alert->kind != ALERT_PROMISE_BROKEN)
		alert->severity = table[alert->kind].severity;
	alert->silenced = !alert->cleared_ms && is_silenced(alerts, alert);
	/*
	 * The previous run of the daemon has sent the notification, unless the alert was silenced.
	 */
	alert->notified = !alert->silenced;
	alert->updated_ms = alert->raised_ms;
	alerts->n_raised++;
}

const struct alert *alerts_critical(const struct alerts *alerts, const char *gpu)
{
	for (size_t i = 0; i < alerts->n_raised; i++) {
		const struct alert *alert = alerts->list[i];

		if (!alert->cleared_ms && alert->severity == ALERT_CRITICAL &&
		    strcmp(alert->gpu, gpu) == 0)
			return alert;
	}
	return NULL;
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

/* --- silences --- */

int silences_adopt(struct silences *silences, const struct db_silence *silence)
{
	if (silence->id > silences->last_id)
		silences->last_id = silence->id;
	if (silences->n == SILENCES_MAX)
		return -ENOSPC;
	silences->list[silences->n++] = *silence;
	return 0;
}

int silences_add(struct silences *silences, struct db_silence *silence)
{
	if (silences->n == SILENCES_MAX)
		return -ENOSPC;
	silence->id = silences->last_id + 1;
	return silences_adopt(silences, silence);
}

static void drop_silence(struct silences *silences, int at)
{
	silences->n--;
	memmove(&silences->list[at], &silences->list[at + 1],
		(size_t)(silences->n - at) * sizeof(silences->list[0]));
}

const struct db_silence *silences_find(const struct silences *silences, int64_t id)
{
	for (int i = 0; i < silences->n; i++)
		if (silences->list[i].id == id)
			return &silences->list[i];
	return NULL;
}

int silences_remove(struct silences *silences, int64_t id, struct db_silence *ret_silence)
{
	const struct db_silence *found = silences_find(silences, id);

	if (!found)
		return -ENOENT;
	*ret_silence = *found;
	drop_silence(silences, (int)(found - silences->list));
	return 0;
}

bool silences_expire(struct silences *silences, int64_t now_ms, struct db_silence *ret_silence)
{
	for (int i = 0; i < silences->n; i++) {
		if (silences->list[i].until_ms > now_ms)
			continue;
		*ret_silence = silences->list[i];
		drop_silence(silences, i);
		return true;
	}
	return false;
}

static bool selects(const char *selector, const char *value)
{
	return selector[0] == '\0' || strcmp(selector, value) == 0;
}

bool silences_match(const struct silences *silences, const struct alert *alert)
{
	for (int i = 0; i < silences->n; i++) {
		const struct db_silence *s = &silences->list[i];

		if (selects(s->alert, alert->name) && selects(s->gpu, alert->gpu) &&
		    selects(s->vgpu, alert->vgpu))
			return true;
	}
	return false;
}
