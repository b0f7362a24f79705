/* SPDX-License-Identifier: MIT */
/*
 * Tests GPUs with leased caps whose vGPUs are created and removed externally. An expired lease puts
 * no vGPU on hold, no cap is lost, and a vGPU may exist before it is sold.
 */
#include "tests/unit/gover-d/manager/test-manager.h"

static void create_externally(const char *id, int cap_pct)
{
	*device(id) =
		(struct gpu_vgpu){.exists = true, .cap_pct = cap_pct, .initial_cap_pct = cap_pct};
}

/* Starts with two adopted vGPUs, as on an mdev host. */
static void start_mdev(int a_pct, int b_pct)
{
	fake.external_vgpus = fake.leases = true;
	config.gpus[0].gpu.lease_ms = 10000;
	config.offer.max_vgpus = 2; /* prevents offers */
	create_externally("a", a_pct);
	create_externally("b", b_pct);
	start();
	tick(2);
	wait_for_saves();
}

/* Resets the cap, as the kernel does if no daemon renews the lease. */
static void expire_lease(const char *id)
{
	device(id)->cap_pct = device(id)->initial_cap_pct;
}

TEST(every_tick_renews_the_lease_of_every_cap)
{
	int renewals;

	start_mdev(50, 30);
	assert_int_equal(hold("b", 20), 0);
	fake.writes = 0;
	renewals = device("a")->renewals;
	tick(3);
	assert_int_equal(device("a")->renewals, renewals + 3);
	assert_int_equal(device("b")->renewals, renewals + 3);
	assert_int_equal(device("b")->lease_ms, 10000);
	assert_int_equal(fake.writes, 0); /* renewing a lease writes no cap */
	assert_int_equal(change_mode(GPU_MODE_FROZEN), 0);
	tick(1);
	assert_int_equal(device("a")->renewals, renewals + 4);
}

TEST(observe_mode_holds_no_leases)
{
	start_mdev(50, 30);
	assert_int_equal(change_mode(GPU_MODE_OBSERVE), 0);
	tick(3);
	/* the daemon releases the leases that it renewed */
	assert_int_equal(device("a")->lease_ms, 0);
	save_now();
	device("a")->lease_ms = 5; /* the lease of another program */
	restart();
	tick(3);
	assert_int_equal(device("a")->lease_ms, 5);
	expire_lease("a");
	tick(1);
	assert_false(vgpu("a")->contract.held);
}

TEST(a_dry_run_renews_no_lease_and_reports_no_foreign_write)
{
	start_mdev(50, 30);
	assert_int_equal(hold("a", 20), 0);
	stop_daemon();
	device("a")->renewals = 0;
	start_dry_run();
	tick(2);
	assert_int_equal(device("a")->renewals, 0);
	expire_lease("a");
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

TEST(a_leftover_lease_is_released_once_when_leases_are_off)
{
	fake.external_vgpus = fake.leases = true;
	config.gpus[0].gpu.lease_ms = 0;
	create_externally("a", 50);
	device("a")->lease_ms = 5000;
	start();
	tick(4);
	assert_int_equal(device("a")->lease_ms, 0);
	assert_int_equal(device("a")->renewals, 1);
}

TEST(an_unrenewable_lease_is_reported_until_it_is_renewed)
{
	start_mdev(50, 30);
	tick(2);
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	device("a")->renew_errno = EIO;
	tick(2);
	expect_alert(ALERT_WRITE_FAILED, "a",
		     "the lease of the cap of vGPU a cannot be renewed: "
		     "Input/output error; the cap expires after");
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "b"));
	device("a")->renew_errno = 0;
	tick(4);
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
}

TEST(the_expiry_of_an_unrenewable_lease_is_not_a_foreign_write)
{
	start_mdev(50, 30);
	assert_int_equal(hold("a", 20), 0);
	device("a")->renew_errno = EIO;
	tick(10);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	expire_lease("a");
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_int_equal(device("a")->cap_pct, 20);
	device("a")->renew_errno = 0;
	tick(CAP_READINGS);
	device("a")->cap_pct = 50; /* the lease is valid again, so this is an external write */
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 1);
}

TEST(the_lease_of_an_earlier_daemon_may_end_while_renewals_fail)
{
	start_mdev(50, 30);
	assert_int_equal(hold("a", 20), 0);
	tick(1);
	stop_daemon();
	device("a")->renew_errno = EIO;
	start();
	tick(2);
	expire_lease("a");
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_int_equal(device("a")->cap_pct, 20);
}

TEST(an_initial_cap_without_the_write_of_the_cap_is_not_foreign)
{
	start_mdev(50, 30);
	device("a")->write_errno = EACCES;
	assert_int_equal(set_initial_cap("a", 40), 0);
	assert_int_equal(device("a")->cap_pct, 40); /* the initial cap is in force */
	tick(2);
	assert_false(vgpu("a")->contract.held);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

TEST(a_request_after_the_failed_write_of_a_cap_is_not_rejected)
{
	start_mdev(50, 30);
	device("a")->write_errno = EACCES;
	assert_int_equal(set_initial_cap("a", 40), 0);
	device("a")->write_errno = 0;
	assert_int_equal(hold("a", 20), 0);
	assert_int_equal(device("a")->cap_pct, 20);
	assert_false(vgpu("a")->cap.foreign);
}

/* The lease ends between the sample and the writes of one tick. */
TEST(a_lease_that_ends_before_a_steal_is_not_a_foreign_write)
{
	start_mdev(80, 20);
	config.gpus[0].gpu.lease_ms = gpu->config.lease_ms = 400; /* shorter than a period */
	assert_int_equal(set_initial_cap("b", 50), 0);
	device("b")->demand = BUSY;
	for (int i = 0; i < 10 && count_decisions("steal", "dropped") == 0; i++) {
		fake.external_cap_pct[0] = count_decisions("steal", "written") ? 80 : 0;
		tick(1);
	}
	assert_int_equal(count_decisions("steal", "dropped"), 1);
	assert_int_equal(device("a")->cap_pct, 80);
	tick(1);
	assert_true(device("a")->cap_pct < 80);
	assert_false(vgpu("a")->contract.held);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

/* The lease ends, and an operator holds the vGPU at the cap that it had, before the next tick. */
TEST(a_hold_after_the_end_of_a_lease_restores_the_cap)
{
	start_mdev(50, 30);
	assert_int_equal(hold("b", 20), 0);
	stop_daemon();
	device("b")->renew_errno = EIO; /* so that the end of the lease is possible */
	start();
	tick(1);
	expire_lease("b");
	assert_int_equal(hold("b", 20), 0);
	assert_int_equal(device("b")->cap_pct, 30);
	tick(1);
	assert_int_equal(device("b")->cap_pct, 20);
	assert_int_equal(vgpu("b")->cap.pct, 20);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

TEST(a_renewal_does_not_hide_that_the_lease_had_ended)
{
	start_mdev(50, 30);
	assert_int_equal(hold("b", 20), 0);
	expire_lease("b");
	device("b")->reading_cap_errno = ETIMEDOUT; /* the lease is renewed, the cap not read */
	tick_late();
	tick(2);
	device("b")->reading_cap_errno = 0;
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_int_equal(device("b")->cap_pct, 20);
}

TEST(a_cap_is_judged_once_the_initial_cap_can_be_read)
{
	start_mdev(50, 30);
	assert_int_equal(hold("b", 20), 0);
	device("b")->read_initial_errno = ETIMEDOUT;
	expire_lease("b");
	tick_late();
	tick(3);
	assert_int_equal(vgpu("b")->cap.pct, 30);
	assert_int_equal(vgpu("b")->contract.held_cap_pct, 20);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	device("b")->read_initial_errno = 0;
	tick(1);
	assert_int_equal(device("b")->cap_pct, 20);
	/* a foreign cap is still noticed */
	device("b")->read_initial_errno = EIO;
	device("b")->cap_pct = 33;
	tick_late();
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	device("b")->read_initial_errno = 0;
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 1);
	assert_int_equal(device("b")->cap_pct, 33);
}

TEST(a_start_while_the_initial_cap_is_unreadable_holds_no_cap)
{
	start_mdev(50, 30);
	assert_int_equal(hold("b", 20), 0);
	stop_daemon();
	expire_lease("b");
	device("b")->read_initial_errno = EIO;
	start();
	tick(2);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	device("b")->read_initial_errno = 0;
	tick(1);
	assert_int_equal(device("b")->cap_pct, 20);
	assert_int_equal(vgpu("b")->contract.held_cap_pct, 20);
}

/*
 * When the lease expires, the cap of the device returns to the initial cap of its creation, which
 * may differ from the contract.
 */
TEST(a_start_after_the_lease_expired_restores_the_last_caps)
{
	start_mdev(50, 30);
	assert_int_equal(hold("b", 20), 0);
	assert_int_equal(set_initial_cap("b", 70), 0);
	save_now();
	/* The initial cap cannot change after the hold wrote a cap. */
	assert_int_equal(device("b")->initial_cap_pct, 30);
	stop_daemon();
	expire_lease("b");
	start();
	assert_int_equal(device("b")->cap_pct, 20);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_true(device("b")->renewals > 0); /* the start itself renews the lease */
	tick(1);
	assert_int_equal(vgpu("b")->cap.pct, 20);
}

TEST(a_sale_sets_the_initial_cap_in_the_backend_if_possible)
{
	start_mdev(50, 30);
	sell("b", 40, 0);
	assert_int_equal(device("b")->initial_cap_pct, 40);
	tick(2);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_int_equal(device("b")->cap_pct, 40); /* enough capacity was free */
}

TEST(a_restore_releases_the_leases)
{
	start_mdev(50, 30);
	sell("a", 40, 0);
	assert_int_equal(hold("a", 20), 0);
	stop_daemon();
	assert_true(device("a")->lease_ms > 0);
	assert_int_equal(manager_restore(&config, &err), 0);
	assert_int_equal(device("a")->cap_pct, 40);
	assert_int_equal(device("a")->lease_ms, 0);
	start();
}

TEST(an_unsold_vgpu_is_forgotten_when_it_disappears)
{
	int last_pct, intent_pct;

	start_mdev(50, 30);
	device("b")->exists = false;
	tick(1);
	assert_null(host_find_vgpu(&m->host, "b", NULL));
	assert_int_equal(gpu->n_vgpus, 1);
	assert_false(cap_journal_get(m->caps.actuator.journal, "b", &last_pct, &intent_pct));
	tick(1);
	assert_null(find_active_alert(ALERT_VGPU_MISSING, "b"));
	create_externally("b", 70); /* a different vGPU with the same id */
	tick(2);
	assert_int_equal(vgpu("b")->contract.terms.initial_cap_pct, 70);
	assert_false(vgpu("b")->contract.held);
	wait_for_saves();
}

TEST(the_cap_of_a_removed_vgpu_returns_to_vgpus_below_their_contract)
{
	start_mdev(80, 60);
	assert_int_equal(vgpu("a")->cap.pct + vgpu("b")->cap.pct, 100);
	device("b")->exists = false;
	tick(1);
	assert_int_equal(device("a")->cap_pct, 80);
	assert_int_equal(count_decisions("return", "written"), 1);
}

TEST(a_sold_vgpu_that_reappears_gets_its_last_cap)
{
	start_mdev(50, 30);
	sell("b", 40, 0);
	assert_int_equal(hold("b", 20), 0);
	device("b")->exists = false;
	tick(2);
	assert_non_null(find_active_alert(ALERT_VGPU_MISSING, "b"));
	create_externally("b", 12); /* the initial cap of its mdev type */
	tick(1);
	assert_int_equal(device("b")->cap_pct, 20);
	tick(4);
	assert_null(find_active_alert(ALERT_VGPU_MISSING, "b"));
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

TEST(removing_the_contract_of_a_missing_vgpu_forgets_its_cap)
{
	int last_pct, intent_pct;

	start_mdev(50, 30);
	sell("a", 50, 0);
	sell("b", 30, 0);
	device("b")->exists = false;
	tick(1);
	assert_int_equal(remove_vgpu("b"), 0);
	assert_false(cap_journal_get(m->caps.actuator.journal, "b", &last_pct, &intent_pct));
	/* the contract is removed; the vGPU remains */
	assert_int_equal(remove_vgpu("a"), 0);
	tick(1);
	assert_true(vgpu("a")->found);
	assert_true(cap_journal_get(m->caps.actuator.journal, "a", &last_pct, &intent_pct));
	assert_int_equal(last_pct, device("a")->cap_pct);
	wait_for_saves();
}

/* Creating a vGPU and setting its initial cap are two writes. A tick may run between them. */
TEST(an_initial_cap_set_after_adoption_becomes_the_contract_value)
{
	start_mdev(12, 30);
	device("a")->initial_cap_pct = device("a")->cap_pct = 60;
	tick(1);
	assert_false(vgpu("a")->contract.held);
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 60);
	wait_for_saves();
	restart();
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 60);
	device("a")->cap_pct = 50; /* only the cap changes, not the initial cap */
	tick(1);
	assert_true(vgpu("a")->contract.held);
	wait_for_saves();
}

TEST(an_initial_cap_set_without_a_daemon_becomes_the_contract_value)
{
	start_mdev(12, 30);
	wait_for_saves();
	stop_daemon();
	device("a")->initial_cap_pct = device("a")->cap_pct = 60;
	start();
	assert_int_equal(device("a")->cap_pct, 60);
	assert_false(vgpu("a")->contract.held);
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 60);
	wait_for_saves();
}

TEST(an_initial_cap_set_in_the_period_of_the_sale_is_not_foreign)
{
	start_mdev(12, 30);
	device("a")->initial_cap_pct = device("a")->cap_pct = 20;
	sell("a", 20, 0);
	assert_false(vgpu("a")->contract.held);
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 20);
	assert_int_equal(device("a")->cap_pct, 20);
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	wait_for_saves();
}

TEST(a_contract_matches_a_vgpu_created_since_the_last_tick)
{
	struct contract first = contract_of("d", 20), second = contract_of("d", 20);

	first.gpu[0] = second.gpu[0] = '\0'; /* the host has one GPU */
	start_mdev(50, 30);
	assert_int_equal(add(first), CONTROL_E_UNSUPPORTED);
	create_externally("d", 20);
	assert_int_equal(add(second), 0);
	assert_false(vgpu("d")->found);
}

/* The offer stays open although the new vGPU already uses the offered capacity. */
TEST(creating_the_vgpu_before_the_claim_does_not_close_the_offer)
{
	const struct offer *offer;

	fake.external_vgpus = fake.leases = true;
	config.gpus[0].gpu.lease_ms = 10000;
	config.offer.max_vgpus = 3;
	config.offer.flavor_cap_pct = 30;
	config.params.min_newcomer_pct = 30;
	create_externally("a", 50);
	create_externally("b", 50);
	start();
	device("a")->demand = device("b")->demand = 0.25;
	tick(40);
	offer = live_offer();
	assert_int_equal(offer->life.state, OFFER_OPEN);
	create_externally("c", 40);
	device("c")->demand = BUSY;
	tick(3);
	assert_int_equal(offer->life.state, OFFER_OPEN);
	assert_true(vgpu("c")->found);
	assert_int_equal(claim(offer->id, "k", "c"), 0);
	assert_int_equal(offer->life.state, OFFER_PROBATION);
	assert_false(vgpu("c")->found);
	assert_int_equal(vgpu("c")->contract.terms.initial_cap_pct, 30);
	assert_true(host_gpu_sum_cap_pct(gpu) <= 100);
}
