/* SPDX-License-Identifier: MIT */
/* Contracts reach the disk: one save after another, at the end of the daemon too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gover-d/control.h"
#include "gover-d/manager.h"

static struct manager m;
static struct vgpu vgpu;
static char folder[] = "/tmp/gover-save.XXXXXX";
static int answers, last_result;

static void count_answer(void *userdata, int result)
{
	(void)userdata;
	answers++;
	last_result = result;
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	memset(&m, 0, sizeof(m));
	memset(&vgpu, 0, sizeof(vgpu));
	snprintf(m.contracts_path, sizeof(m.contracts_path), "%s/contracts.json", folder);
	strcpy(vgpu.contract.id, "a");
	strcpy(vgpu.contract.gpu, "gpu0");
	vgpu.contract.terms = (struct policy_terms){.initial_cap_pct = 50, .weight = 1};
	vgpu.contract.created_ms = 1700000000000;
	vgpu.contract.labels = json_object();
	strcpy(m.host.gpus[0].config.name, "gpu0");
	host_gpu_insert(&m.host.gpus[0], &vgpu);
	m.host.n_gpus = 1;
	answers = 0;
	last_result = 1;
	if (sd_event_new(&m.event) < 0)
		return -1;
	return worker_new(m.event, &m.worker);
}

static int tear_down(void **state)
{
	(void)state;
	worker_free(m.worker);
	sd_event_unref(m.event);
	contract_fini(&vgpu.contract);
	(void)unlink(m.contracts_path);
	if (rmdir(folder) < 0)
		return -1;
	strcpy(strrchr(folder, '.') + 1, "XXXXXX");
	return 0;
}

/* The cap that the file says was sold; -1: there is no file. */
static int sold(void)
{
	struct contracts contracts = {0};
	int pct = -1;

	assert_int_equal(contracts_load(m.contracts_path, &contracts, NULL), 0);
	if (contracts.n_vgpus == 1)
		pct = contracts.vgpus[0].contract.terms.initial_cap_pct;
	contracts_fini(&contracts);
	return pct;
}

static void run_loop_until(int wanted)
{
	while (answers < wanted)
		assert_true(sd_event_run(m.event, UINT64_C(10000000)) > 0);
}

static void a_save_is_answered_when_it_is_on_disk(void **state)
{
	(void)state;
	assert_int_equal(control_save(&m, count_answer, NULL), 0);
	assert_int_equal(answers, 0);
	run_loop_until(1);
	assert_int_equal(last_result, 0);
	assert_int_equal(sold(), 50);
}

static void what_changes_meanwhile_is_saved_by_the_next(void **state)
{
	(void)state;
	assert_int_equal(control_save(&m, count_answer, NULL), 0);
	vgpu.contract.terms.initial_cap_pct = 40;
	assert_int_equal(control_save(&m, count_answer, NULL), 0);
	vgpu.contract.terms.initial_cap_pct = 30;
	assert_int_equal(control_save(&m, count_answer, NULL), 0);
	run_loop_until(3);
	assert_int_equal(last_result, 0);
	assert_int_equal(sold(), 30);
}

static void who_waits_when_the_daemon_ends_is_saved_and_answered(void **state)
{
	(void)state;
	assert_int_equal(control_save(&m, count_answer, NULL), 0);
	vgpu.contract.terms.initial_cap_pct = 40;
	assert_int_equal(control_save(&m, count_answer, NULL), 0);
	m.worker = worker_free(m.worker);
	assert_int_equal(answers, 2);
	assert_int_equal(last_result, 0);
	assert_int_equal(sold(), 40);
}

/* A foreign write is put on hold by the tick, and the daemon is told to stop in the same instant.
 */
static void so_is_what_nobody_waits_for(void **state)
{
	(void)state;
	control_save_soon(&m);
	vgpu.contract.terms.initial_cap_pct = 40;
	control_save_soon(&m);
	m.worker = worker_free(m.worker);
	assert_int_equal(sold(), 40);
	assert_int_equal(m.save_result, 0);
}

static void a_disk_that_refuses_is_told_to_all(void **state)
{
	(void)state;
	strcat(m.contracts_path, "/is/no/folder");
	assert_int_equal(control_save(&m, count_answer, NULL), 0);
	assert_int_equal(control_save(&m, count_answer, NULL), 0);
	m.worker = worker_free(m.worker);
	assert_int_equal(answers, 2);
	assert_int_equal(last_result, -ENOENT);
	assert_int_equal(m.save_result, -ENOENT);
}

static void a_dry_run_answers_and_writes_nothing(void **state)
{
	(void)state;
	m.actuator.dry_run = true;
	assert_int_equal(control_save(&m, count_answer, NULL), 0);
	assert_int_equal(answers, 1);
	assert_int_equal(last_result, 0);
	control_save_soon(&m);
	m.worker = worker_free(m.worker);
	assert_int_equal(sold(), -1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_save_is_answered_when_it_is_on_disk),
		TEST(what_changes_meanwhile_is_saved_by_the_next),
		TEST(who_waits_when_the_daemon_ends_is_saved_and_answered),
		TEST(so_is_what_nobody_waits_for),
		TEST(a_disk_that_refuses_is_told_to_all),
		TEST(a_dry_run_answers_and_writes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
