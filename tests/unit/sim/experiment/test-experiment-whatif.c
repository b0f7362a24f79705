/* SPDX-License-Identifier: MIT */
/*
 * Tests the accuracy of replays. A run under one policy is recorded as the daemon records it, and
 * replayed under another policy. The replay is compared with a simulation of the same tenants under
 * that other policy.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/experiment/recording.h"
#include "tests/unit/temp-file.h"
#include "tests/unit/unit.h"

#define BEGIN_MS INT64_C(1700000000000)
#define SECONDS	 1200

static struct scenario scenario, again; /* too large for the stack */
static struct err err;

static const struct host {
	const char *name, *tenants;
	/* largest allowed errors of a replay under another policy, in percentage points */
	double util_error, broken_error;
	/* the same for a replay under the recorded policy */
	double own_util_error, own_broken_error;
} hosts[] = {
	{"unpaced programs",
	 "[tenant a]\nworkload = glmark2\ncontract_pct = 50\ntarget_fps = 160\narrive_s = 0\n"
	 "[tenant b]\nworkload = plot3d\ncontract_pct = 50\ntarget_fps = 30\narrive_s = 0\n"
	 "[tenant c]\nworkload = glxgears\ncontract_pct = 50\ntarget_fps = 140\narrive_s = 0\n",
	 /* If no higher frame rate was recorded, the estimated demand is the target frame rate. */
	 12, 4, 0.5, 0.5},
	{"paced programs",
	 "[tenant a]\nworkload = frame:gpu_ms=4,cpu_ms=3,fps_max=62\ncontract_pct = 40\n"
	 "target_fps = 60\narrive_s = 0\ncount = 2\n"
	 "[tenant b]\nworkload = game:gpu_ms=6,cpu_ms=3,vsync_hz=60\ncontract_pct = 40\n"
	 "target_fps = 50\narrive_s = 0\n"
	 "[tenant c]\nworkload = glxgears:fps_max=80\ncontract_pct = 40\ntarget_fps = 75\n"
	 "arrive_s = 0\n",
	 /* A program that limits its own frame rate so that it uses exactly its cap looks like a
	  * starved program. */
	 8, 6, 1, 0.5},
	{"work without frames",
	 "[tenant a]\nworkload = burst:on_s=20,off_s=30,pct=40\ncontract_pct = 50\narrive_s = 0\n"
	 "count = 2\n"
	 "[tenant b]\nworkload = square:period_s=40,high_pct=35,low_pct=3\ncontract_pct = 50\n"
	 "arrive_s = 0\n"
	 "[tenant c]\nworkload = load:pct=12\ncontract_pct = 30\narrive_s = 0\n",
	 /* If no higher load was recorded, the estimated demand is the contract. The estimated
	  * bursts are then higher and shorter than the real bursts. */
	 1, 8, 0.5, 8},
};

static const char *const policies[] = {"none", "static", "gover", "fair"};

static void load(const char *tenants)
{
	FILE *out = fopen(temp_file, "w");

	assert_non_null(out);
	fprintf(out, "[scenario]\nseconds = %d\n%s", SECONDS, tenants);
	fclose(out);
	if (scenario_load(temp_file, &scenario, &err) < 0)
		fail_msg("%s", err.msg);
}

static void record(const struct experiment *experiment, struct recording *recording, int second)
{
	const struct experiment_vgpu *vgpu;

	for (int i = 0; (vgpu = experiment_current_vgpu_at(experiment, i)); i++) {
		const struct account_sample *s = &vgpu->sample;
		struct recording_row row = {
			.at_ms = BEGIN_MS + 1000 * (int64_t)second,
			.dt_s = second > 1 ? 1 : 0,
			.cap_pct = vgpu->sampled_cap_pct,
			.contract_pct = s->contract_pct,
			.load_pct = second > 1 ? 100 * s->load : NAN,
			.util_pct = second > 1 ? 100 * s->util : NAN,
			.fps = s->makes_frames ? s->fps : NAN,
			.target_fps = s->target_fps,
		};

		if (recording_add(recording, recording_vgpu(recording, vgpu->id), &row, &err) < 0)
			fail_msg("%s", err.msg);
	}
}

static struct account_summary play(const struct scenario *played, const char *policy,
				   struct recording *recording)
{
	struct experiment_summary summary;
	struct experiment *experiment;
	bool more = true;

	if (experiment_new(played, policy_find(policy), 1, NULL, &experiment, &err) < 0)
		fail_msg("%s", err.msg);
	for (int second = 1; more; second++) {
		more = experiment_step(experiment);
		if (recording)
			record(experiment, recording, second);
	}
	experiment_summarize(experiment, &summary);
	experiment_free(experiment);
	return summary.account;
}

static bool is_close(const struct host *host, const char *was, const char *policy)
{
	struct account_summary truth = play(&scenario, policy, NULL);
	struct account_summary replay = play(&again, policy, NULL);
	double util = replay.util_avg_pct - truth.util_avg_pct;
	double broken = replay.broken_pct - truth.broken_pct;
	bool same = strcmp(was, policy) == 0;

	if (fabs(util) <= (same ? host->own_util_error : host->util_error) &&
	    fabs(broken) <= (same ? host->own_broken_error : host->broken_error))
		return true;
	print_error("%s, recorded under %s, replayed under %s: utilisation %.1f (%+.1f), broken "
		    "%.1f (%+.1f)\n",
		    host->name, was, policy, replay.util_avg_pct, util, replay.broken_pct, broken);
	return false;
}

FIXTURE_ONCE(temp_file_make, temp_file_remove)

TEST(a_replay_is_close_to_the_real_run)
{
	bool all_close = true;

	for (size_t h = 0; h < ARRAY_SIZE(hosts); h++) {
		load(hosts[h].tenants);
		for (size_t was = 0; was < ARRAY_SIZE(policies); was++) {
			struct recording *recording = recording_new();

			play(&scenario, policies[was], recording);
			scenario_default(&again);
			if (recording_finish(recording, &err) < 0 ||
			    recording_tenants(recording, &again, &err) < 0 ||
			    scenario_check(&again, &err) < 0)
				fail_msg("%s", err.msg);
			for (size_t p = 0; p < ARRAY_SIZE(policies); p++)
				all_close = is_close(&hosts[h], policies[was], policies[p]) &&
					    all_close;
			recording_free(recording);
		}
		scenario_fini(&scenario);
	}
	assert_true(all_close);
}
