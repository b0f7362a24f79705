/* SPDX-License-Identifier: MIT */
/* Tests the source fdinfo on a folder instead of /proc. The tenant of a process is its pid / 100.
 */
#include "monitor/truth/scan.h"
#include "monitor/truth/truth.h"
#include "tests/unit/monitor/truth/test-truth.h"

static struct truth *truth;
static uint64_t now_ns;

static int tenant_of(void *userdata, pid_t pid)
{
	(void)userdata;
	return pid >= 100 ? (int)pid / 100 : TRUTH_TENANT_NONE;
}

static void open_source(void)
{
	const struct truth_config config = {
		.source = "fdinfo",
		.proc = top_proc,
		.device = "0000:03:00.0",
		.tenant = tenant_of,
	};
	struct err err;

	now_ns = S;
	assert_int_equal(truth_open(&config, &truth, &err), 0);
	assert_string_equal(truth_source(truth), "fdinfo");
}

static void sample(void)
{
	now_ns += S;
	assert_int_equal(truth_sample(truth, now_ns), 0);
}

static int close_source(void **state)
{
	truth = truth_close(truth);
	return remove_host(state);
}

static double largest(const struct truth_user *user)
{
	double most = 0;

	for (int i = 0; i < TRUTH_CLASSES_MAX; i++)
		most = user->grown_ns[i] > most ? user->grown_ns[i] : most;
	return most;
}

/* Writes "TENANT:MS " for each user, in the order of the list. */
static const char *users(void)
{
	static char text[1024];
	size_t n, used = 0;
	const struct truth_user *user = truth_users(truth, &n);

	text[0] = '\0';
	for (; n > 0; n--, user++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%d:%.0f ", user->tenant,
					 largest(user) / 1e6);
	return text;
}

static void a_client_with_several_descriptors_counts_once(void **state)
{
	(void)state;
	for (int fd = 3; fd < 6; fd++) {
		add_process(100, "a");
		add_drm_file(100, fd, 7, 5.0);
		add_process(101, "a");
		add_drm_file(101, fd, 7, 5.0);
	}
	open_source();
	sample();
	assert_string_equal(users(), "1:0 ");
	for (int fd = 3; fd < 6; fd++) {
		add_drm_file(100, fd, 7, 5.4);
		add_drm_file(101, fd, 7, 5.4);
	}
	sample();
	assert_string_equal(users(), "1:400 ");
	sample();
	assert_string_equal(users(), "1:0 ");
}

static void only_drm_files_of_the_gpu_count(void **state)
{
	(void)state;
	add_process(100, "a");
	add_drm_file(100, 3, 7, 1);
	add_file(100, 4, "/dev/dri/card1",
		 "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-pdev:\t0000:04:00.0\n");
	add_file(100, 5, "socket:[5]", drm_text(8, 1, 0));
	add_file(100, 6, "/dev/dri/renderD128", "pos:\t0\n");
	add_file(100, 7, "/dev/dri/renderD128", "drm-driver:\ti915\ndrm-client-id:\tx\n");
	add_file(100, 8, "/dev/dri/renderD128", "drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\n");
	open_source();
	sample();
	assert_string_equal(users(), "1:0 ");
	assert_int_equal(truth_counts(truth).refused, 1);
	assert_true(truth_has_times(truth));
}

static void a_shared_client_belongs_to_the_process_with_a_tenant(void **state)
{
	(void)state;
	add_process(50, "display");
	add_drm_file(50, 3, 7, 1);
	add_process(200, "b");
	add_drm_file(200, 9, 7, 1);
	open_source();
	sample();
	assert_string_equal(users(), "2:0 ");
}

static void a_client_without_a_tenant_is_listed_too(void **state)
{
	(void)state;
	add_process(50, "display");
	add_drm_file(50, 3, 7, 1);
	open_source();
	sample();
	add_drm_file(50, 3, 7, 1.5);
	sample();
	assert_string_equal(users(), "-1:500 ");
}

static void a_client_outlives_the_process_that_was_its_holder(void **state)
{
	(void)state;
	add_process(100, "a");
	add_drm_file(100, 3, 7, 1);
	add_process(300, "c");
	add_drm_file(300, 4, 7, 1);
	open_source();
	sample();
	assert_string_equal(users(), "1:0 ");
	/* The file of an ended process cannot be read any more, also if it is open. */
	write_file("proc/100/fdinfo/3", "");
	remove_below("proc/100");
	add_drm_file(300, 4, 7, 1.25);
	for (int i = 0; i < SCAN_GPU_PERIOD && strcmp(users(), "3:250 ") != 0; i++)
		sample();
	assert_string_equal(users(), "3:250 ");
}

static void a_descriptor_that_belongs_to_another_client_is_another_user(void **state)
{
	(void)state;
	add_process(100, "a");
	add_drm_file(100, 3, 7, 1);
	open_source();
	sample();
	add_drm_file(100, 3, 8, 500);
	sample(); /* client 7 is gone */
	assert_string_equal(users(), "");
	sample();
	assert_string_equal(users(), "1:0 "); /* client 8 has no growth yet */
}

static void a_program_that_starts_later_counts_from_its_start(void **state)
{
	(void)state;
	open_source();
	sample();
	assert_string_equal(users(), "");
	add_process(100, "a");
	sample();
	add_drm_file(100, 3, 7, 0.3);
	sample();
	assert_string_equal(users(), "1:300 ");
}

static void an_old_process_that_opens_the_gpu_is_found(void **state)
{
	int samples = 0;

	(void)state;
	add_process(101, "a");
	open_source();
	for (int i = 0; i < 100; i++)
		sample();
	add_drm_file(101, 3, 7, 30);
	for (; strcmp(users(), "") == 0 && samples <= SCAN_OLD_PERIOD; samples++)
		sample();
	assert_in_range(samples, 1, SCAN_OLD_PERIOD);
	assert_string_equal(users(), "1:0 "); /* its earlier use is not known */
}

static void a_class_of_two_engines_is_busy_with_both(void **state)
{
	const struct truth_user *user;
	size_t n;

	(void)state;
	add_process(100, "a");
	add_file(100, 3, "/dev/dri/card0", drm_text(7, 0, 0));
	open_source();
	sample();
	add_file(100, 3, "/dev/dri/card0", drm_text(7, 0.1, 0.8));
	sample();
	user = truth_users(truth, &n);
	assert_int_equal(n, 1);
	assert_string_equal(users(), "1:400 ");
	assert_true(user->memory_valid);
	assert_int_equal(user->memory_bytes, 7 * 1024);
}

static void a_driver_without_times_gives_no_use(void **state)
{
	(void)state;
	add_process(100, "a");
	add_file(100, 3, "/dev/dri/card0",
		 "drm-driver:\tnvidia-drm\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\n");
	open_source();
	assert_true(truth_has_times(truth)); /* not known yet */
	sample();
	assert_false(truth_has_times(truth));
	assert_int_equal(truth_counts(truth).no_times, 1);
	/* amdgpu does not print an engine that was never used */
	add_file(100, 4, "/dev/dri/card0",
		 "drm-driver:\tamdgpu\ndrm-client-id:\t2\ndrm-pdev:\t0000:03:00.0\n");
	sample();
	assert_true(truth_has_times(truth));
}

static void more_files_than_stay_open_are_read(void **state)
{
	size_t n;

	(void)state;
	add_process(100, "a");
	for (unsigned i = 0; i < 300; i++)
		add_drm_file(100, (int)i + 3, i, 1);
	open_source();
	sample();
	for (unsigned i = 0; i < 300; i++)
		add_drm_file(100, (int)i + 3, i, 1.001);
	sample();
	for (const struct truth_user *user = truth_users(truth, &n); n > 0; n--, user++)
		assert_in_range((int)(largest(user) / 1e3 + 0.5), 1000, 1000);
	(void)truth_users(truth, &n);
	assert_int_equal(n, 300);
}

static void users_beyond_the_limit_are_counted_as_ignored(void **state)
{
	size_t n;

	(void)state;
	add_process(100, "a");
	for (unsigned i = 0; i < TRUTH_USERS_MAX + 2; i++)
		add_drm_file(100, (int)i + 3, i, 1);
	open_source();
	sample();
	(void)truth_users(truth, &n);
	assert_int_equal(n, TRUTH_USERS_MAX);
	assert_int_equal(truth_counts(truth).ignored, 2);
}

static void users_without_a_holder_leave_their_places_to_new_ones(void **state)
{
	size_t n;

	(void)state;
	add_process(100, "a");
	for (unsigned i = 0; i < TRUTH_USERS_MAX; i++)
		add_drm_file(100, (int)i + 3, i, 1);
	open_source();
	sample();
	for (unsigned i = 0; i < TRUTH_USERS_MAX; i++)
		add_drm_file(100, (int)i + 3, TRUTH_USERS_MAX + i, 1);
	sample();
	(void)truth_users(truth, &n);
	assert_int_equal(n, 0);
	sample();
	(void)truth_users(truth, &n);
	assert_int_equal(n, TRUTH_USERS_MAX);
	assert_int_equal(truth_counts(truth).ignored, 0);
}

struct links {
	int all, of_the_cut_process;
};

#define LINKS	 300 /* of each process */
#define CUT_PID	 (100 + SCAN_LINKS_MAX / LINKS)
#define LAST_PID (CUT_PID + 5)

static void count_link(void *userdata, pid_t pid, int fd, bool is_new)
{
	struct links *links = userdata;

	(void)fd, (void)is_new;
	links->all++;
	links->of_the_cut_process += pid == CUT_PID;
}

static void a_sample_reads_a_bounded_number_of_links(void **state)
{
	struct links first = {0}, second = {0};
	uint64_t denied = 0;
	struct scan *scan;

	(void)state;
	add_process(100, "a");
	for (int fd = 0; fd < LINKS; fd++)
		add_file(100, fd, "/dev/dri/renderD128", "");
	for (int pid = 101; pid <= LAST_PID; pid++) {
		char name[64];

		snprintf(name, sizeof(name), "proc/%d/fd", pid);
		assert_int_equal(file_make_parents(below(name)), 0);
		assert_int_equal(symlink("../100/fd", below(name)), 0);
	}
	assert_int_equal(scan_new(top_proc, &scan), 0);
	assert_int_equal(scan_run(scan, count_link, &first, &denied), 0);
	assert_int_equal(first.all, SCAN_LINKS_MAX);
	assert_int_equal(first.of_the_cut_process, SCAN_LINKS_MAX % LINKS);
	/* the process that was not read to its end is the first in the next sample */
	assert_int_equal(scan_run(scan, count_link, &second, &denied), 0);
	assert_int_equal(second.all, SCAN_LINKS_MAX);
	assert_int_equal(second.of_the_cut_process, LINKS);
	assert_int_equal(denied, 0);
	scan_free(scan);
}

static void errors_name_what_is_wrong(void **state)
{
	struct truth_config config = {
		.source = "fdinfo", .proc = "/nowhere", .device = "a", .tenant = tenant_of};
	struct err err = {""};

	(void)state;
	assert_int_equal(truth_open(&config, &truth, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nowhere"));
	config.proc = top_proc;
	config.device = "";
	assert_int_equal(truth_open(&config, &truth, &err), -EOPNOTSUPP);
	config.source = "guess";
	assert_int_equal(truth_open(&config, &truth, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "guess"));
	truth = NULL;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, make_host, close_source)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_client_with_several_descriptors_counts_once),
		TEST(only_drm_files_of_the_gpu_count),
		TEST(a_shared_client_belongs_to_the_process_with_a_tenant),
		TEST(a_client_without_a_tenant_is_listed_too),
		TEST(a_client_outlives_the_process_that_was_its_holder),
		TEST(a_descriptor_that_belongs_to_another_client_is_another_user),
		TEST(a_program_that_starts_later_counts_from_its_start),
		TEST(an_old_process_that_opens_the_gpu_is_found),
		TEST(a_class_of_two_engines_is_busy_with_both),
		TEST(a_driver_without_times_gives_no_use),
		TEST(more_files_than_stay_open_are_read),
		TEST(users_beyond_the_limit_are_counted_as_ignored),
		TEST(users_without_a_holder_leave_their_places_to_new_ones),
		TEST(a_sample_reads_a_bounded_number_of_links),
		TEST(errors_name_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
