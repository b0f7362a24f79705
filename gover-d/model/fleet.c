/* SPDX-License-Identifier: MIT */
/* Names of states, the end of a report's time, and the course of migrations. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gover-d/model/fleet.h"

static const char *const state_names[FLEET_STATES] = {
	[FLEET_UNKNOWN] = NULL,
	[FLEET_PUBLISHED] = "published",
	[FLEET_UNREACHABLE] = "unreachable",
	[FLEET_WITHDRAWN] = "withdrawn",
	[FLEET_WAITING] = "waiting",
	[FLEET_GONE] = "gone",
};

static const char *const migration_names[FLEET_MIGRATION_STATES] = {
	[FLEET_REQUESTED] = "requested",
	[FLEET_COMPLETED] = "completed",
	[FLEET_FAILED] = "failed",
};

const char *fleet_state_name(enum fleet_state state)
{
	return state_names[state];
}

int fleet_state_parse(const char *name, enum fleet_state *ret_state)
{
	for (int i = FLEET_PUBLISHED; i < FLEET_GONE; i++) {
		if (strcmp(state_names[i], name) == 0) {
			*ret_state = (enum fleet_state)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *fleet_migration_name(enum fleet_migration_state state)
{
	return migration_names[state];
}

int fleet_migration_parse(const char *name, enum fleet_migration_state *ret_state)
{
	for (int i = 0; i < FLEET_MIGRATION_STATES; i++) {
		if (strcmp(migration_names[i], name) == 0) {
			*ret_state = (enum fleet_migration_state)i;
			return 0;
		}
	}
	return -EINVAL;
}

void fleet_remember(struct fleet *fleet, const char *vgpu, const char *gpu)
{
	struct fleet_asked *asked = &fleet->asked[fleet->n_asked++ % FLEET_ASKED_MAX];

	snprintf(asked->vgpu, sizeof(asked->vgpu), "%s", vgpu);
	snprintf(asked->gpu, sizeof(asked->gpu), "%s", gpu);
}

const char *fleet_asked_gpu(const struct fleet *fleet, const char *vgpu)
{
	size_t kept = fleet->n_asked < FLEET_ASKED_MAX ? fleet->n_asked : FLEET_ASKED_MAX;

	for (size_t i = 1; i <= kept; i++) {
		const struct fleet_asked *asked =
			&fleet->asked[(fleet->n_asked - i) % FLEET_ASKED_MAX];

		if (strcmp(asked->vgpu, vgpu) == 0)
			return asked->gpu;
	}
	return NULL;
}

bool fleet_add_destination(struct fleet *fleet, const char *vgpu, const char *to)
{
	struct fleet_course *course = &fleet->course;

	if (!to[0] || course->to[0] || strcmp(course->vgpu, vgpu) != 0)
		return false;
	snprintf(course->to, sizeof(course->to), "%s", to);
	return true;
}

void fleet_note_migration(struct fleet *fleet, const char *vgpu, const char *gpu,
			  const struct fleet_migration *migration, int64_t now_ms)
{
	struct fleet_course *course = &fleet->course;
	struct fleet_outcome *last = &fleet->last;

	if (migration->state == FLEET_REQUESTED) {
		snprintf(course->vgpu, sizeof(course->vgpu), "%s", vgpu);
		snprintf(course->gpu, sizeof(course->gpu), "%s", gpu);
		snprintf(course->to, sizeof(course->to), "%s", migration->to);
		course->since_ms = now_ms;
		return;
	}
	snprintf(last->vgpu, sizeof(last->vgpu), "%s", vgpu);
	snprintf(last->gpu, sizeof(last->gpu), "%s", gpu);
	last->end = *migration;
	last->ended_ms = now_ms;
	if (strcmp(course->vgpu, vgpu) == 0)
		memset(course, 0, sizeof(*course));
}
