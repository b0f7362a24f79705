/* SPDX-License-Identifier: MIT */
/*
 * The thread follows each migration until it has ended, by Nova with a time limit for each phase,
 * and reports it to gover-d. It first reads from gover-d a migration of an earlier process.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/http/client.h"
#include "base/rfc3339.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/migrate/advice.h"
#include "gover-fleet/migrate/libvirt-move.h"
#include "gover-fleet/migrate/mover.h"
#include "gover-fleet/migrate/nova.h"
#include "gover-fleet/model/bell.h"

#define PAST_MAX 64

struct mover {
	struct mover_config config;
	struct mover_events events;
	bool openstack; /* the machines are servers of OpenStack */
	pthread_t thread;
	struct bell bell; /* rung after each update */
	pthread_mutex_t lock;
	/* protected by @lock */
	struct host_state *state; /* a reference; NULL: unknown */
	enum mover_cloud cloud;
	struct mover_status status;
	/* used by the thread only */
	bool resumed;		 /* gover-d was asked about the migration of an earlier process */
	struct mover_end unsent; /* an end that gover-d does not know yet; vgpu "": none */
	struct nova *nova;
	struct libvirt_move *libvirt;
	struct client *gover;
	struct advice_past past[PAST_MAX]; /* a ring of the newest attempts */
	size_t n_past, next_past;
	/* the last advice in the log, so that it is logged once */
	char last_advice[ID_MAX + 2 * ADVICE_REASON_MAX];
};

/* A migration that an earlier process asked for, and did not report as ended. */
struct migration_open {
	char vgpu[ID_MAX]; /* "": none */
	char to[256];	   /* destination; "": unknown */
	int64_t since_ms;  /* time of the request since 1970, by the clock of this host */
};

/* Result of an attempt to migrate. */
struct mover_result {
	enum advice_end end;
	bool forbidden;			 /* of ADVICE_REFUSED: a role is missing */
	char to[NOVA_HOST_MAX];		 /* of ADVICE_MOVED; "": unknown */
	char why[2 * ADVICE_REASON_MAX]; /* of the other ends */
	/* of resume_nova(): wall time of the end, if it came before the first look; 0: not */
	int64_t ended_ms;
};

#define TEXT_MAX	 256  /* of gover-d, with the NUL */
#define GOVER_TIMEOUT_MS 5000 /* of a report to gover-d, which is on this host */
/* less than the time before its expiry in which a token is renewed (cloud/keystone.c) */
#define PREPARE_NS (120 * NS_PER_S)

bool mover_find_by(const char *name, enum mover_by *ret_by)
{
	static const char *const names[] = {
		[MOVER_NONE] = "none",
		[MOVER_ADVICE] = "advice",
		[MOVER_NOVA] = "nova",
		[MOVER_LIBVIRT] = "libvirt",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0) {
			*ret_by = (enum mover_by)i;
			return true;
		}
	return false;
}

void mover_config_default(struct mover_config *config)
{
	config->limits = (struct advice_limits){ADVICE_HOLDOFF_S, ADVICE_STAY_S, ADVICE_RETRY_S,
						ADVICE_ASK_S};
	config->start_timeout_s = 60;
	config->run_timeout_s = 1800;
	config->abort_timeout_s = 60;
	config->poll_ms = 500;
}

/* Logs a message about @vgpu. */
__attribute__((format(printf, 4, 5))) static void log_about(struct mover *mover, int priority,
							    const char *vgpu, const char *format,
							    ...)
{
	char text[2 * ADVICE_REASON_MAX + ERR_MSG_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mover->events.log(mover->events.userdata, priority, vgpu, text);
}

/* Waits for @ms. Returns false if the process stops meanwhile. */
static bool wait_ms(struct mover *mover, int ms)
{
	uint64_t until_ns = clock_now().mono_ns + (uint64_t)ms * NS_PER_MS;

	while (bell_wait(&mover->bell, until_ns))
		if (clock_now().mono_ns >= until_ns)
			return true;
	return false;
}

static void announce(struct mover *mover)
{
	if (mover->events.changed)
		mover->events.changed(mover->events.userdata);
}

/*
 * Returns the text as gover-d accepts it, or null. Texts of libvirt can have other bytes than
 * ASCII, and may be cut within a character.
 */
static json_t *encode_text(const char *text)
{
	char copy[TEXT_MAX];

	if (!text[0])
		return json_null();
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *c = copy; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return json_string(copy);
}

/*
 * Reports the course of a migration. @state: "requested", "completed" or "failed"; "requested"
 * again adds the destination to the migration in progress. @duration_ms: since the request;
 * negative: unknown. @to, @reason: "": unknown. Returns as client_request(), but 0 if gover-d has
 * no such vGPU: a migrated machine may have left before this report.
 */
static int send_report(struct mover *mover, const char *vgpu, const char *state,
		       int64_t duration_ms, const char *to, const char *reason)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	struct client_call call = {.method = "POST", .path = path};
	json_t *duration = duration_ms < 0 ? json_null() : json_integer(duration_ms);
	json_t *body = json_pack("{s:s, s:o, s:o, s:o}", "state", state, "to", encode_text(to),
				 "reason", encode_text(reason), "duration_ms", duration);
	struct err err;
	int r;

	snprintf(path, sizeof(path), "/v1/vgpus/%s/migration", vgpu);
	call.body = body;
	r = client_request(mover->gover, &call, &reply, &err);
	json_decref(body);
	if (r == CLIENT_REFUSED && reply.status == 404)
		return 0;
	if (r != 0)
		log_about(mover, LOG_WARNING, vgpu,
			  "the migration cannot be reported to gover-d (%s): %s", state, err.msg);
	return r;
}

const char *mover_end_state(const struct mover_end *end)
{
	return end->moved ? "completed" : "failed";
}

static int send_end(struct mover *mover, const struct mover_end *end)
{
	return send_report(mover, end->vgpu, mover_end_state(end), end->took_ms, end->to,
			   end->moved ? "" : end->why);
}

static void set_running(struct mover *mover, const char *vgpu, const char *to, int64_t since_ms)
{
	struct mover_status *status = &mover->status;

	pthread_mutex_lock(&mover->lock);
	status->requested++;
	snprintf(status->running, sizeof(status->running), "%s", vgpu);
	snprintf(status->to, sizeof(status->to), "%.*s", NOVA_HOST_MAX - 1, to);
	status->since_ms = since_ms;
	pthread_mutex_unlock(&mover->lock);
}

/* Records that a migration of @vgpu has begun, and reports it. @to: destination; "": unknown. */
static void begin(struct mover *mover, const char *vgpu, const char *to)
{
	set_running(mover, vgpu, to, clock_now().wall_ms);
	(void)send_report(mover, vgpu, "requested", -1, to, "");
	announce(mover);
}

/* Records and reports the destination of the migration in progress. */
static void add_destination(struct mover *mover, const char *vgpu, const char *to)
{
	pthread_mutex_lock(&mover->lock);
	snprintf(mover->status.to, sizeof(mover->status.to), "%.*s", NOVA_HOST_MAX - 1, to);
	pthread_mutex_unlock(&mover->lock);
	(void)send_report(mover, vgpu, "requested", -1, to, "");
	announce(mover);
}

/* --- the ways to migrate --- */

/* A migration that Nova has accepted. */
struct course {
	struct nova_asked asked;
	struct nova_progress progress;
	uint64_t asked_ns, running_ns, aborted_ns; /* monotonic times; 0: not yet */
	struct err last_error;			   /* of the last look that failed */
	bool resumed;				   /* an earlier process has asked for it */
	bool has_destination;			   /* it is known and reported */
	int looks;
};

/* The UUID of the server: the name of its virtual machine, or the id of the vGPU. */
static const char *server_of(const char *vm, const char *vgpu)
{
	return nova_is_uuid(vm) ? vm : vgpu;
}

static bool has_passed(uint64_t since_ns, uint64_t now_ns, int limit_s)
{
	return now_ns >= since_ns + (uint64_t)limit_s * NS_PER_S;
}

/* Ends the course without a known result of the migration. */
static void give_up(struct course *c, const char *why)
{
	const char *error = c->last_error.msg;

	c->progress.phase = NOVA_FAILED;
	snprintf(c->progress.why, sizeof(c->progress.why), "%s%s%.*s", why, error[0] ? ": " : "",
		 NOVA_TEXT_MAX, error);
}

static void abort_migration(struct mover *mover, struct course *c, const char *vgpu,
			    struct instant now)
{
	struct err err = {0};

	c->aborted_ns = now.mono_ns;
	log_about(mover, LOG_WARNING, vgpu,
		  "the migration takes longer than %d s: asking Nova to abort it",
		  c->running_ns ? mover->config.run_timeout_s : mover->config.start_timeout_s);
	if (nova_abort(mover->nova, &c->asked, c->progress.id, &err) != 0)
		c->last_error = err;
}

static void check_limits(struct mover *mover, struct course *c, const char *vgpu,
			 struct instant now)
{
	const struct mover_config *config = &mover->config;

	if (c->aborted_ns) {
		if (has_passed(c->aborted_ns, now.mono_ns, config->abort_timeout_s))
			give_up(c, "the abort of the migration has not ended in time");
	} else if (c->running_ns) {
		if (has_passed(c->running_ns, now.mono_ns, config->run_timeout_s))
			abort_migration(mover, c, vgpu, now);
	} else if (has_passed(c->asked_ns, now.mono_ns, config->start_timeout_s)) {
		if (c->progress.id > 0)
			abort_migration(mover, c, vgpu, now);
		else
			give_up(c, "Nova has not begun the migration in time");
	}
}

static bool has_ended(const struct course *c)
{
	return c->progress.phase != NOVA_WAITING && c->progress.phase != NOVA_RUNNING;
}

static void look(struct mover *mover, struct course *c, const char *vgpu)
{
	struct instant now;
	struct err err = {0};
	int r = nova_look(mover->nova, &c->asked, &c->progress, &err);

	c->last_error = err;
	now = clock_now();
	c->looks++;
	if (r == 0 && c->progress.to[0] && !c->has_destination && !has_ended(c)) {
		c->has_destination = true;
		add_destination(mover, vgpu, c->progress.to);
	}
	if (r == 0 && c->progress.phase == NOVA_RUNNING && !c->running_ns) {
		c->running_ns = now.mono_ns;
		if (!c->resumed)
			log_about(mover, LOG_INFO, vgpu,
				  "the migration runs %d ms after the request",
				  (int)((now.mono_ns - c->asked_ns) / NS_PER_MS));
	}
	if (r != 0 || !has_ended(c))
		check_limits(mover, c, vgpu, now);
}

static void refuse(int r, const struct err *err, struct mover_result *ret)
{
	ret->end = ADVICE_REFUSED;
	ret->forbidden = r == NOVA_FORBIDDEN;
	snprintf(ret->why, sizeof(ret->why), "%.*s", (int)sizeof(ret->why) - 1, err->msg);
}

/* Waits for the end. Returns false if the process stops before. */
static bool follow(struct mover *mover, struct course *c, const char *vgpu,
		   struct mover_result *ret)
{
	while (!has_ended(c)) {
		if (!wait_ms(mover, mover->config.poll_ms))
			return false;
		look(mover, c, vgpu);
	}
	ret->end = c->progress.phase == NOVA_COMPLETED ? ADVICE_MOVED : ADVICE_FAILED;
	snprintf(ret->to, sizeof(ret->to), "%s", c->progress.to);
	snprintf(ret->why, sizeof(ret->why), "%s", c->progress.why);
	return true;
}

/* Migrates and waits for the end. Returns false if the process stops before the end is known. */
static bool run_nova(struct mover *mover, const struct advice *advice, struct mover_result *ret)
{
	struct course c = {.progress = {.phase = NOVA_WAITING}};
	struct err err = {0};
	int r = nova_ask(mover->nova, server_of(advice->vm, advice->vgpu), clock_now(), &c.asked,
			 &err);

	if (r != 0) {
		refuse(r, &err, ret);
		return true;
	}
	c.asked_ns = clock_now().mono_ns;
	if (c.asked.unconfirmed)
		log_about(mover, LOG_WARNING, advice->vgpu,
			  "Nova may or may not have accepted the migration: %s", err.msg);
	begin(mover, advice->vgpu, "");
	return follow(mover, &c, advice->vgpu, ret);
}

/* Finds the migration again; Nova may be away. Returns false if the process stops before. */
static bool find_again(struct mover *mover, struct course *c, const char *server, int64_t since_ms)
{
	struct err err = {0};
	int r;

	while ((r = nova_find_asked(mover->nova, server, since_ms, &c->asked, &err)) != 0) {
		c->last_error = err;
		if (r == NOVA_FORBIDDEN || r == NOVA_UNSUITABLE ||
		    has_passed(c->asked_ns, clock_now().mono_ns, mover->config.run_timeout_s)) {
			give_up(c, "the migration of an earlier gover-fleet cannot be followed");
			return true;
		}
		if (!wait_ms(mover, mover->config.poll_ms))
			return false;
	}
	return true;
}

/* The limits of time begin again. */
static bool resume_nova(struct mover *mover, const struct migration_open *open, const char *vm,
			struct mover_result *ret)
{
	struct course c = {.progress = {.phase = NOVA_WAITING}, .resumed = true};
	const char *server = server_of(vm, open->vgpu);

	c.asked_ns = clock_now().mono_ns;
	c.has_destination = open->to[0] != '\0';
	if (!find_again(mover, &c, server, open->since_ms) || !follow(mover, &c, open->vgpu, ret))
		return false;
	if (c.looks == 1 && c.progress.id > 0)
		ret->ended_ms = c.progress.changed_ms;
	return true;
}

static void set_libvirt_result(const struct mover *mover, bool moved, const char *why,
			       struct mover_result *ret)
{
	ret->end = moved ? ADVICE_MOVED : ADVICE_FAILED;
	snprintf(ret->to, sizeof(ret->to), "%s", mover->config.to_uri);
	snprintf(ret->why, sizeof(ret->why), "%.*s", (int)sizeof(ret->why) - 1, why);
}

static void run_libvirt(struct mover *mover, const struct advice *advice, struct mover_result *ret)
{
	struct err err = {0};
	int r;

	/* libvirt checks the machine before it begins, so its refusal comes after this report. */
	begin(mover, advice->vgpu, mover->config.to_uri);
	r = libvirt_move_run(mover->libvirt, advice->vm, mover->config.run_timeout_s, &err);
	set_libvirt_result(mover, r == 0, err.msg, ret);
}

static bool resume_libvirt(struct mover *mover, const char *vm, struct mover_result *ret)
{
	uint64_t until_ns = clock_now().mono_ns + (uint64_t)mover->config.run_timeout_s * NS_PER_S;
	enum libvirt_place place = LIBVIRT_LEAVING;
	struct err err = {"libvirt still moves the machine"};

	while (libvirt_move_look(mover->libvirt, vm, &place, &err) != 0 ||
	       place == LIBVIRT_LEAVING) {
		if (clock_now().mono_ns >= until_ns)
			break;
		if (!wait_ms(mover, mover->config.poll_ms))
			return false;
	}
	set_libvirt_result(mover, place == LIBVIRT_GONE,
			   place == LIBVIRT_HERE ? "the machine is still on this host" : err.msg,
			   ret);
	return true;
}

static void remember(struct mover *mover, const char *vgpu, enum advice_end end)
{
	struct advice_past *past = &mover->past[mover->next_past];

	snprintf(past->vgpu, sizeof(past->vgpu), "%s", vgpu);
	past->ended_ns = clock_now().mono_ns;
	past->end = end;
	mover->next_past = (mover->next_past + 1) % PAST_MAX;
	if (mover->n_past < PAST_MAX)
		mover->n_past++;
}

static bool can_migrate(const struct mover *mover)
{
	return mover->config.by == MOVER_NOVA || mover->config.by == MOVER_LIBVIRT;
}

/* --- advice --- */

/* Writes the command that an operator can run. */
static void write_command(const struct mover *mover, const struct advice *advice, char *ret_text,
			  size_t size)
{
	const char *to = mover->config.to_uri[0] ? mover->config.to_uri : "qemu+tls://HOST/system";

	if (mover->openstack)
		snprintf(ret_text, size,
			 "openstack --os-compute-api-version 2.30 server migrate --live-migration "
			 "%s",
			 server_of(advice->vm, advice->vgpu));
	else
		snprintf(ret_text, size, "virsh migrate --live --p2p %s %s", advice->vm, to);
}

/* Logs the advice once, until it changes. @problem: why this process does not migrate, or "". */
static void advise(struct mover *mover, const struct advice *advice, const char *problem)
{
	char text[2 * ADVICE_REASON_MAX], line[sizeof(mover->last_advice)], command[512];

	snprintf(text, sizeof(text), "%s%s%s", advice->reason, problem[0] ? "; " : "", problem);
	snprintf(line, sizeof(line), "%s %s", advice->vgpu, text);
	if (strcmp(line, mover->last_advice) == 0)
		return;
	strcpy(mover->last_advice, line);
	write_command(mover, advice, command, sizeof(command));
	if (advice->vm[0])
		log_about(mover, LOG_WARNING, advice->vgpu, "should leave this host: %s; run `%s`",
			  text, command);
	else
		log_about(mover, LOG_WARNING, advice->vgpu, "should leave this host: %s", text);
}

/* --- migrations --- */

static void forbid(struct mover *mover, const char *why)
{
	pthread_mutex_lock(&mover->lock);
	mover->status.forbidden = true;
	pthread_mutex_unlock(&mover->lock);
	log_about(mover, LOG_ERR, "",
		  "the cloud does not permit migrations (%s): give the user the role of an "
		  "administrator and restart gover-fleet, or set by = advice; until then, "
		  "migrations are only advised",
		  why);
}

/* Records, logs and reports the end of a migration. */
static void conclude(struct mover *mover, const char *vgpu, int64_t took_ms,
		     const struct mover_result *result)
{
	struct mover_end end = {.moved = result->end == ADVICE_MOVED, .took_ms = took_ms};

	end.ended_ms = clock_now().wall_ms;
	snprintf(end.vgpu, sizeof(end.vgpu), "%s", vgpu);
	snprintf(end.to, sizeof(end.to), "%s", result->to);
	snprintf(end.why, sizeof(end.why), "%s", result->why);
	pthread_mutex_lock(&mover->lock);
	if (end.moved)
		mover->status.completed++;
	else
		mover->status.failed++;
	mover->status.running[0] = mover->status.to[0] = '\0';
	mover->status.last = end;
	pthread_mutex_unlock(&mover->lock);
	if (end.moved)
		log_about(mover, LOG_NOTICE, vgpu, "migrated to %s in %lld ms",
			  end.to[0] ? end.to : "another host", (long long)took_ms);
	else
		log_about(mover, LOG_ERR, vgpu, "the migration failed after %lld ms: %s",
			  (long long)took_ms, end.why);
	/* gover-d would show the migration as in progress. */
	if (send_end(mover, &end) < 0)
		mover->unsent = end;
	announce(mover);
}

static void migrate(struct mover *mover, const struct advice *advice)
{
	struct mover_result result = {0};
	uint64_t begun_ns = clock_now().mono_ns;

	if (mover->config.by == MOVER_LIBVIRT)
		run_libvirt(mover, advice, &result);
	else if (!run_nova(mover, advice, &result))
		return;
	remember(mover, advice->vgpu, result.end);
	if (result.end != ADVICE_REFUSED) {
		conclude(mover, advice->vgpu,
			 (int64_t)((clock_now().mono_ns - begun_ns) / NS_PER_MS), &result);
		return;
	}
	if (result.forbidden)
		forbid(mover, result.why);
	advise(mover, advice, result.why);
}

/* --- the migration of an earlier process --- */

/* Finds the machine of the vGPU. If the vGPU has left, its id is the UUID of its machine. */
static void find_machine(struct mover *mover, const char *vgpu, char ret_vm[HOST_STATE_NAME_MAX])
{
	const struct state_vgpu *found;

	pthread_mutex_lock(&mover->lock);
	found = host_state_find_vgpu(mover->state, vgpu);
	snprintf(ret_vm, HOST_STATE_NAME_MAX, "%s", found ? advice_machine(found) : vgpu);
	pthread_mutex_unlock(&mover->lock);
}

static void follow_open(struct mover *mover, const struct migration_open *open)
{
	char vm[HOST_STATE_NAME_MAX];
	struct mover_result result = {0};
	int64_t took_ms;
	bool known;

	find_machine(mover, open->vgpu, vm);
	log_about(mover, LOG_NOTICE, open->vgpu,
		  "an earlier gover-fleet has asked for its migration: following it");
	set_running(mover, open->vgpu, open->to, open->since_ms);
	announce(mover);
	known = mover->config.by == MOVER_NOVA ? resume_nova(mover, open, vm, &result)
					       : resume_libvirt(mover, vm, &result);
	if (!known)
		return;
	took_ms = (result.ended_ms ? result.ended_ms : clock_now().wall_ms) - open->since_ms;
	remember(mover, open->vgpu, result.end);
	/* The time of Nova has whole seconds. */
	conclude(mover, open->vgpu, took_ms > 0 ? took_ms : 0, &result);
}

/* An older gover-d knows no migration in progress. Returns as client_request(), or -EPROTO. */
static int find_open(struct client *gover, struct migration_open *ret_open)
{
	const struct client_call call = {.method = "GET", .path = "/v1/fleet"};
	CLEANUP_REPLY struct reply reply = {0};
	struct migration_open open = {.vgpu = ""};
	const json_t *migration;
	const char *vgpu, *since, *to;
	struct err err;
	int r = client_request(gover, &call, &reply, &err);

	if (r == CLIENT_REFUSED && reply.status == 404)
		r = 0;
	else if (r != 0)
		return r;
	migration = json_object_get(reply.json, "migration");
	if (json_is_object(migration)) {
		vgpu = json_string_value(json_object_get(migration, "vgpu"));
		since = json_string_value(json_object_get(migration, "since"));
		to = json_string_value(json_object_get(migration, "to"));
		snprintf(open.to, sizeof(open.to), "%s", to ? to : "");
		if (!vgpu || id_copy(open.vgpu, vgpu) < 0 || !since ||
		    rfc3339_parse(since, &open.since_ms) < 0)
			return -EPROTO;
	}
	*ret_open = open;
	return r;
}

/*
 * Asks gover-d once about a migration without an end, and follows it. Returns false if gover-d does
 * not answer: nothing may be migrated before.
 */
static bool resume(struct mover *mover)
{
	struct migration_open open = {.vgpu = ""};
	bool has_state;

	pthread_mutex_lock(&mover->lock);
	has_state = mover->state != NULL;
	pthread_mutex_unlock(&mover->lock);
	if (mover->resumed || !has_state || !can_migrate(mover))
		return true;
	if (find_open(mover->gover, &open) < 0)
		return false;
	mover->resumed = true;
	if (open.vgpu[0])
		follow_open(mover, &open);
	return true;
}

/* --- the thread --- */

static bool may_migrate(const struct mover *mover)
{
	return can_migrate(mover) && !mover->status.forbidden;
}

/* Decides with the present state of the host. */
static void decide(struct mover *mover, struct advice *ret_advice)
{
	struct advice_input input = {
		.past = mover->past,
		.n_past = mover->n_past,
		.may_migrate = may_migrate(mover),
		.limits = mover->config.limits,
	};

	pthread_mutex_lock(&mover->lock);
	input.state = mover->state;
	input.published = mover->cloud == MOVER_CLOUD_KNOWS;
	advice_decide(&input, clock_now(), ret_advice);
	if (mover->cloud != MOVER_CLOUD_LEARNS)
		ret_advice->waits = false;
	pthread_mutex_unlock(&mover->lock);
}

static void act(struct mover *mover, const struct advice *advice)
{
	if (advice->kind == ADVICE_MIGRATE)
		migrate(mover, advice);
	else if (advice->waits && mover->config.by == MOVER_NOVA)
		/* A refusal is repeated, and then logged, by the attempt itself. */
		(void)nova_check(mover->nova, server_of(advice->vm, advice->vgpu), clock_now(),
				 NULL);
	/* The refusal was logged with its reason. */
	else if (advice->kind == ADVICE_ADVISE && !advice->refused)
		advise(mover, advice, "");
	else if (advice->alarm == ADVICE_ALARMS)
		mover->last_advice[0] = '\0';
}

static uint64_t earliest(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > 0 && a_ns < b_ns ? a_ns : b_ns;
}

static void *run(void *userdata)
{
	struct mover *mover = userdata;
	uint64_t again_ns = 0;

	while (bell_wait(&mover->bell, again_ns)) {
		struct advice advice;

		if (!resume(mover)) {
			again_ns = clock_now().mono_ns + NS_PER_S;
			continue;
		}
		if (mover->unsent.vgpu[0] && send_end(mover, &mover->unsent) >= 0)
			mover->unsent.vgpu[0] = '\0';
		decide(mover, &advice);
		act(mover, &advice);
		if (mover->nova && !mover->status.forbidden)
			nova_prepare(mover->nova, clock_now());
		again_ns = earliest(advice.again_ns, clock_now().mono_ns + PREPARE_NS);
		/* A migration changes the past, so decide again. */
		if (advice.kind == ADVICE_MIGRATE)
			again_ns = 0;
	}
	return NULL;
}

/* --- life --- */

static int open_ways(struct mover *mover, struct keystone *keystone, struct err *reterr)
{
	const struct mover_config *config = &mover->config;
	int r = client_new(config->gover_socket, NULL, &mover->gover, reterr);

	if (r < 0)
		return r;
	client_set_timeout(mover->gover, GOVER_TIMEOUT_MS);
	if (config->by == MOVER_NOVA) {
		if (!keystone)
			return err_fail(reterr, EINVAL, "by = nova: needs a section [cloud]");
		r = nova_new(config->host, config->limits.stay_s, keystone, &mover->nova, reterr);
	} else if (config->by == MOVER_LIBVIRT) {
		if (!config->to_uri[0])
			return err_fail(reterr, EINVAL, "by = libvirt: needs to_uri");
		mover->libvirt = libvirt_move_new(config->libvirt_uri, config->to_uri);
	}
	return r;
}

static void destroy(struct mover *mover)
{
	nova_free(mover->nova);
	libvirt_move_free(mover->libvirt);
	client_free(mover->gover);
	bell_fini(&mover->bell);
	pthread_mutex_destroy(&mover->lock);
	host_state_unref(mover->state);
	free(mover);
}

int mover_new(const struct mover_config *config, struct keystone *keystone,
	      const struct mover_events *events, struct mover **ret_mover, struct err *reterr)
{
	struct mover *mover = xcalloc(1, sizeof(*mover));
	int r;

	mover->config = *config;
	mover->events = *events;
	mover->openstack = keystone != NULL;
	pthread_mutex_init(&mover->lock, NULL);
	bell_init(&mover->bell);
	r = open_ways(mover, keystone, reterr);
	if (r >= 0) {
		r = thread_start(&mover->thread, run, mover, "migrate");
		if (r < 0)
			(void)err_fail(reterr, 0, "thread of migrations: %s", strerror(-r));
	}
	if (r < 0) {
		destroy(mover);
		return r;
	}
	*ret_mover = mover;
	return 0;
}

struct mover *mover_free(struct mover *mover)
{
	if (!mover)
		return NULL;
	bell_stop(&mover->bell);
	if (mover->libvirt)
		libvirt_move_stop(mover->libvirt);
	pthread_join(mover->thread, NULL);
	destroy(mover);
	return NULL;
}

void mover_update(struct mover *mover, struct host_state *state, enum mover_cloud cloud)
{
	struct host_state *old;

	if (mover->config.by == MOVER_NONE)
		return;
	pthread_mutex_lock(&mover->lock);
	old = mover->state;
	mover->state = host_state_ref(state);
	mover->cloud = cloud;
	pthread_mutex_unlock(&mover->lock);
	host_state_unref(old);
	bell_ring(&mover->bell);
}

void mover_status(struct mover *mover, struct mover_status *ret_status)
{
	pthread_mutex_lock(&mover->lock);
	*ret_status = mover->status;
	pthread_mutex_unlock(&mover->lock);
}
