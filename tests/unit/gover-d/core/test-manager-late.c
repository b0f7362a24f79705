/* SPDX-License-Identifier: MIT */
/* Tests GPUs that cannot be opened at the start of the daemon: retries, alerts, contracts. */
#include "tests/unit/gover-d/core/test-manager.h"

#include "gover-d/core/gpus.h"

#define NO_DRIVER "no driver is loaded"

/* A GPU that is known to an earlier daemon, with one contract, and cannot be opened now. */
static void start_without_driver(void)
{
	start();
	sell("a", 60, 0.05);
	stop_daemon();
	fake.open_errno = ENODEV;
	start();
}

static void expect_text(const char *wanted)
{
	const struct alert *alert = find_active_alert(ALERT_TELEMETRY_STALE, "");

	assert_non_null(alert);
	if (!strstr(alert->text, wanted))
		fail_msg("the alert is '%s'", alert->text);
}

FIXTURE(set_up, tear_down)

TEST(a_start_does_not_wait_for_the_driver)
{
	start_without_driver();
	assert_false(gpu->open);
	tick(3);
	expect_text("GPU gpu0 cannot be opened: " NO_DRIVER "; the next attempt is in ");
	assert_null(find_active_alert(ALERT_VGPU_MISSING, "a"));
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 60);
	assert_int_equal(fake.writes, 0);
}

TEST(a_gpu_that_is_not_open_sells_nothing)
{
	struct contract contract = {
		.id = "b",
		.gpu = "gpu0",
		.terms = {.initial_cap_pct = 20, .weight = 1},
	};

	start_without_driver();
	tick(100);
	assert_null(offers_live(m->offers, "gpu0"));
	assert_int_equal(await_change(control_vgpu_add(m, &contract, at_end, &err)),
			 CONTROL_E_NO_ANSWER);
	assert_int_not_equal(vgpu("a")->promise.state, PROMISE_KEPT);
}

TEST(the_time_between_two_attempts_doubles_up_to_a_minute)
{
	/* seconds after the first attempt of each further one, in the first 250 s */
	static const int attempts_s[] = {1, 3, 7, 15, 31, 63, 123, 183, 243};
	size_t n = 0;
	int opens;

	start_without_driver();
	opens = fake.opens;
	now = clock_now();
	for (int s = 1; s <= 250; s++) {
		tick(1);
		if (fake.opens == opens)
			continue;
		opens = fake.opens;
		assert_true(n < ARRAY_SIZE(attempts_s));
		assert_in_range(s, attempts_s[n], attempts_s[n] + 1);
		n++;
	}
	assert_int_equal(n, ARRAY_SIZE(attempts_s));
}

TEST(a_gpu_that_returns_is_adopted)
{
	start_without_driver();
	tick(20);
	fake.open_errno = 0;
	tick(70);
	assert_true(gpu->open);
	assert_non_null(vgpu("a")->device);
	assert_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

/* A permission may be granted later, for example by a rule of udev. */
TEST(only_an_impossible_configuration_ends_the_start)
{
	static const struct {
		int error;
		bool final;
	} rows[] = {
		{ENODEV, false}, {ENOENT, false}, {EOPNOTSUPP, false}, {EACCES, false},
		{EPERM, false},	 {EIO, false},	  {ENXIO, false},      {EINVAL, true},
		{EBUSY, true},	 {ENOMEM, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fake.open_errno = rows[i].error;
		assert_int_equal(manager_new(&config, false, &m, &err), 0);
		assert_int_equal(manager_start(m, &err), rows[i].final ? -rows[i].error : 0);
		if (rows[i].final)
			assert_string_equal(err.msg, "GPU gpu0 cannot be opened: " NO_DRIVER);
		m = manager_free(m);
	}
}

TEST(backend_auto_finds_a_gpu_later)
{
	config.n_gpus = 3;
	config.gpus[1] = config.gpus[2] = config.gpus[0];
	strcpy(config.gpus[0].gpu.name, "first");
	strcpy(config.gpus[0].gpu.backend, "auto");
	strcpy(config.gpus[2].gpu.name, "last");
	strcpy(config.gpus[2].gpu.backend, "auto");
	start();
	assert_int_equal(m->host.n_gpus, 1);
	tick(3);
	assert_int_equal(m->host.n_gpus, 1);
	fake.auto_finds = true;
	for (int i = 0; i < 1000 && m->host.n_gpus < 3; i++) {
		usleep(1000); /* a thread opens a GPU of backend auto */
		tick(1);
	}
	assert_int_equal(m->host.n_gpus, 3);
	assert_string_equal(m->host.gpus[0].config.name, "gpu0");
	assert_non_null(host_find_gpu(&m->host, "first"));
	assert_non_null(host_find_gpu(&m->host, "last"));
	assert_true(m->host.gpus[1].open && m->host.gpus[2].open);
}

TEST(backend_auto_leaves_out_only_an_unknown_gpu)
{
	strcpy(config.gpus[0].gpu.backend, "auto");
	start();
	assert_int_equal(m->host.n_gpus, 0);
	stop_daemon();
	strcpy(config.gpus[0].gpu.backend, "sim");
	start();
	sell("a", 60, 0.05);
	stop_daemon();
	strcpy(config.gpus[0].gpu.backend, "auto");
	start();
	assert_int_equal(m->host.n_gpus, 1);
	tick(3);
	expect_text("GPU gpu0 cannot be opened: backend auto found no vGPU scheduler on this host");
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 60);
}

TEST(a_restore_reports_a_gpu_that_cannot_be_opened)
{
	start();
	sell("a", 60, 0.05);
	stop_daemon();
	fake.open_errno = ENODEV;
	assert_int_equal(manager_restore(&config, &err), -EIO);
	assert_string_equal(err.msg, "1 vGPUs could not be restored, 1 GPUs could not be opened");
	fake.open_errno = 0;
	assert_int_equal(manager_restore(&config, &err), 0);
	assert_int_equal(device("a")->cap_pct, 60);
}
