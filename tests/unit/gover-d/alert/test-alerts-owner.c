/* SPDX-License-Identifier: MIT */
/* Tests that an alert names the owner of its vGPU as the contract does. */
#include <jansson.h>

#include "gover-d/alert/alerts.h"
#include "tests/unit/unit.h"

#define BEGIN_MS 1700000000000

static void ignore(void *userdata, const struct alert *alert, enum alert_event event)
{
	(void)userdata, (void)alert, (void)event;
}

static const struct alert *hold(struct alerts *alerts, const struct vgpu *vgpu)
{
	alerts_hold(alerts, ALERT_SEVERE_OVERLOAD, "gpu0", vgpu, BEGIN_MS, "overload");
	alerts_end_tick(alerts, BEGIN_MS, false);
	assert_int_equal(alerts_count(alerts), 1);
	return alerts_at(alerts, 0);
}

TEST(an_alert_has_the_present_labels_of_its_vgpu)
{
	struct vgpu vgpu = {.contract = {.id = "a", .vm = "vm-a"}};
	struct alerts *alerts = alerts_new(0, ignore, NULL);
	const struct alert *alert;

	assert_non_null(alerts);
	alert = hold(alerts, &vgpu);
	assert_string_equal(alert->vm, "vm-a");
	assert_string_equal(alert->instance, "");
	assert_string_equal(alert->project, "");
	vgpu.contract.labels = json_pack("{s:s, s:s}", "instance", "web", "project", "shop");
	alert = hold(alerts, &vgpu);
	assert_string_equal(alert->instance, "web");
	assert_string_equal(alert->project, "shop");
	json_decref(vgpu.contract.labels);
	vgpu.contract.labels = json_pack("{s:s}", "project", "shop");
	alert = hold(alerts, &vgpu);
	assert_string_equal(alert->instance, "");
	assert_string_equal(alert->project, "shop");
	json_decref(vgpu.contract.labels);
	alerts_free(alerts);
}

TEST(an_alert_of_a_gpu_has_no_owner)
{
	struct alerts *alerts = alerts_new(0, ignore, NULL);
	const struct alert *alert;

	assert_non_null(alerts);
	alert = hold(alerts, NULL);
	assert_string_equal(alert->instance, "");
	assert_string_equal(alert->project, "");
	alerts_free(alerts);
}
