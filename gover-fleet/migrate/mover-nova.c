/* SPDX-License-Identifier: MIT */
/* Follows a migration by Nova until it has ended, with a time limit for each phase. */
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "gover-fleet/migrate/mover-state.h"

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
static const char *server_of(const struct advice *advice)
{
	return nova_is_uuid(advice->vm) ? advice->vm : advice->vgpu;
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
	mover_log(mover, LOG_WARNING, vgpu,
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
		mover_add_destination(mover, vgpu, c->progress.to);
	}
	if (r == 0 && c->progress.phase == NOVA_RUNNING && !c->running_ns) {
		c->running_ns = now.mono_ns;
		if (!c->resumed)
			mover_log(mover, LOG_INFO, vgpu,
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

void mover_check_nova(struct mover *mover, const struct advice *advice)
{
	struct err err;

	/* A refusal is repeated, and then logged, by the attempt itself. */
	(void)nova_check(mover->nova, server_of(advice), clock_now(), &err);
}

/* Waits for the end. Returns false if the process stops before. */
static bool follow(struct mover *mover, struct course *c, const char *vgpu,
		   struct mover_result *ret)
{
	while (!has_ended(c)) {
		if (!mover_wait(mover, mover->config.poll_ms))
			return false;
		look(mover, c, vgpu);
	}
	ret->end = c->progress.phase == NOVA_COMPLETED ? ADVICE_MOVED : ADVICE_FAILED;
	snprintf(ret->to, sizeof(ret->to), "%s", c->progress.to);
	snprintf(ret->why, sizeof(ret->why), "%s", c->progress.why);
	return true;
}

bool mover_run_nova(struct mover *mover, const struct advice *advice, struct mover_result *ret)
{
	struct course c = {.progress = {.phase = NOVA_WAITING}};
	struct err err = {0};
	int r = nova_ask(mover->nova, server_of(advice), clock_now(), &c.asked, &err);

	if (r != 0) {
		refuse(r, &err, ret);
		return true;
	}
	c.asked_ns = clock_now().mono_ns;
	if (c.asked.unconfirmed)
		mover_log(mover, LOG_WARNING, advice->vgpu,
			  "Nova may or may not have accepted the migration: %s", err.msg);
	mover_begin(mover, advice->vgpu, "");
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
		if (!mover_wait(mover, mover->config.poll_ms))
			return false;
	}
	return true;
}

/* The limits of time begin again. */
bool mover_resume_nova(struct mover *mover, const struct migration_open *open, const char *vm,
		       struct mover_result *ret)
{
	struct course c = {.progress = {.phase = NOVA_WAITING}, .resumed = true};
	const char *server = nova_is_uuid(vm) ? vm : open->vgpu;

	c.asked_ns = clock_now().mono_ns;
	c.has_destination = open->to[0] != '\0';
	if (!find_again(mover, &c, server, open->since_ms) || !follow(mover, &c, open->vgpu, ret))
		return false;
	if (c.looks == 1 && c.progress.id > 0)
		ret->ended_ms = c.progress.changed_ms;
	return true;
}
