/* SPDX-License-Identifier: MIT */
/* Tests the source nvml with tests/truth/fake-nvml.c instead of NVIDIA's library. */
#include "gpu/drm/truth.h"
#include "tests/unit/gpu/drm/test-truth.h"

static struct truth *truth;
static uint64_t now_ns;
static struct err err;
static char library[PATH_MAX];

static int tenant_of(void *userdata, pid_t pid)
{
	(void)userdata;
	if (pid == 9999)
		return TRUTH_TENANT_UNKNOWN;
	return pid >= 100 ? (int)pid / 100 : TRUTH_TENANT_NONE;
}

static int open_source(const char *source, const char *device)
{
	const struct truth_config config = {
		.source = source,
		.proc = top_proc,
		.device = device,
		.nvml_library = library,
		.sysfs = top_sys,
		.tenant = tenant_of,
	};

	now_ns = S;
	return truth_open(&config, &truth, &err);
}

static int set_up(void)
{
	ssize_t n = readlink("/proc/self/exe", library, sizeof(library) - 32);
	int r = make_host();

	if (r < 0 || n < 0)
		return -1;
	library[n] = '\0';
	strcpy(strrchr(library, '/'), "/fake-nvml.so");
	write_file("script", "");
	return setenv("FAKE_NVML", below("script"), 1) |
	       setenv("FAKE_NVML_INITS", below("inits"), 1);
}

static int tear_down(void)
{
	truth = truth_close(truth);
	return remove_host();
}

FIXTURE(set_up, tear_down)

static void sample(void)
{
	now_ns += S;
	assert_int_equal(truth_sample(truth, now_ns), 0);
}

/* Writes "TENANT:MS MS MS:BYTES " for each user: its growth in the three classes, and memory. */
static const char *users(void)
{
	static char text[1024];
	size_t n, used = 0;
	const struct truth_user *user = truth_users(truth, &n);

	text[0] = '\0';
	for (; n > 0; n--, user++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%d:%.0f %.0f %.0f:%lld ", user->tenant,
			user->grown_ns[0] / 1e6, user->grown_ns[1] / 1e6, user->grown_ns[2] / 1e6,
			user->memory_valid ? (long long)user->memory_bytes : -1LL);
	return text;
}

/* Asserts that the use is unknown, and that the reason contains @text. */
static void expect_problem(const char *text)
{
	const char *problem = truth_report(truth)->problem.msg;

	if (!strstr(problem, text))
		fail_msg("\"%s\" has no \"%s\"", problem, text);
}

TEST(busy_time_is_divided_by_the_percentages)
{
	assert_int_equal(open_source("nvml", "0000:65:00.0"), 0);
	assert_string_equal(truth_report(truth)->source, "nvml");
	write_file("script", "busy 60\nuse 100 40 5 0\nuse 50 20 0 90\nmemory 100 4096\n");
	sample();
	assert_string_equal(users(), "1:0 0 0:4096 -1:0 0 0:-1 ");
	sample();
	assert_string_equal(users(), "1:400 50 0:4096 -1:200 0 900:-1 ");
	assert_string_equal(truth_report(truth)->problem.msg, "");
	/* A program that computes for a fifth of the time has 75 % of the samples with a process */
	write_file("script", "busy 75\nbusy 0\nbusy 0\nbusy 0\nuse 100 75 0 0\n");
	sample();
	assert_string_equal(users(), "1:188 0 0:-1 ");
}

TEST(a_running_program_without_a_new_sample_keeps_its_part)
{
	assert_int_equal(open_source("nvml", ""), 0);
	write_file("script", "busy 80\nuse 100 40 0 0\nmemory 100 4096\nuse 200 40 0 0\n"
			     "memory 200 1\nmemory 300 2\n");
	sample();
	sample();
	assert_string_equal(users(), "1:400 0 0:4096 2:400 0 0:1 3:0 0 0:2 ");
	write_file("script", "busy 80\nuse 100 60 0 0\nmemory 100 4096\nwas 200 20\n"
			     "memory 200 1\n");
	sample();
	assert_string_equal(users(), "1:600 0 0:4096 2:200 0 0:1 ");
	/* the second program has ended */
	write_file("script", "busy 80\nuse 100 70 0 0\nmemory 100 4096\nwas 200 10\n");
	sample();
	assert_string_equal(users(), "1:800 0 0:4096 ");
}

TEST(a_program_counts_until_its_last_sample)
{
	assert_int_equal(open_source("nvml", ""), 0);
	write_file("script", "busy 50\nuse 100 50 0 0\nmemory 100 4096\n");
	sample();
	write_file("script", "busy 50\nuse 100 50 0 0\n");
	sample();
	assert_string_equal(users(), "1:500 0 0:-1 ");
	write_file("script", "busy 50\nwas 100 50\n");
	sample();
	assert_string_equal(users(), "-1:500 0 0:-1 "); /* the GPU is busy, with no known program */
	write_file("script", "busy 0\nwas 100 50\n");
	sample();
	assert_string_equal(users(), "");
}

TEST(without_new_samples_the_gpu_is_idle_after_two_seconds)
{
	assert_int_equal(open_source("nvml", ""), 0);
	write_file("script", "busy 40\nuse 100 40 0 0\nmemory 100 1\n");
	sample();
	write_file("script", "memory 100 1\nwas 100 40\n");
	sample();
	assert_string_equal(users(), "1:400 0 0:1 ");
	sample();
	assert_string_equal(users(), "1:0 0 0:1 ");
}

TEST(a_clock_that_is_set_back_does_not_stop_the_samples)
{
	assert_int_equal(open_source("nvml", ""), 0);
	write_file("script", "clock 4102444800000000\nbusy 40\nuse 100 40 0 0\n"); /* 2100 */
	sample();
	write_file("script", "busy 20\nuse 100 20 0 0\n");
	sample();
	(void)usleep(2000); /* the clock has milliseconds */
	sample();
	assert_string_equal(users(), "1:200 0 0:-1 ");
}

TEST(values_that_no_gpu_has_are_cut_or_ignored)
{
	assert_int_equal(open_source("nvml", ""), 0);
	write_file("script", "busy 250\nuse 0 9 9 9\nuse 200 250 0 0\n"
			     "memory 100 18446744073709551615\n");
	sample();
	sample();
	/* unknown memory is invalid; pid 0 is no process */
	assert_string_equal(users(), "2:1000 0 0:-1 1:0 0 0:-1 ");
}

TEST(an_error_of_a_sample_is_reported)
{
	assert_int_equal(open_source("nvml", ""), 0);
	sample();
	write_file("script", "error uses 7\n");
	assert_int_equal(truth_sample(truth, now_ns + S), -ENOBUFS);
	expect_problem("more than 512 processes");
	write_file("script", "error samples 15\n");
	assert_int_equal(truth_sample(truth, now_ns + S), -EIO);
	expect_problem("NVML: use of the GPU: GPU is lost");
}

/* Counts the lines of the file in which the library notes its calls of nvmlInit_v2(). */
static int n_inits(void)
{
	CLEANUP_FREE char *text = NULL;
	int n = 0;

	if (file_read(below("inits"), 65536, &text, NULL) < 0)
		return 0;
	for (const char *at = text; *at; at++)
		n += *at == '\n';
	return n;
}

TEST(a_lost_gpu_is_opened_again_with_back_off)
{
	/* seconds after the loss at which the library is opened again */
	static const int due_s[] = {1, 3, 7, 15, 31, 63, 123, 183};
	size_t n = 0;

	assert_int_equal(open_source("nvml", "0000:65:00.0"), 0);
	write_file("script", "busy 40\nuse 100 40 0 0\n");
	sample();
	sample();
	assert_string_equal(users(), "1:400 0 0:-1 ");
	write_file("script", "error uses 15\nerror init 9\n");
	assert_int_equal(truth_sample(truth, now_ns += S), -EIO);
	expect_problem("NVML: use by each process: GPU is lost");
	assert_int_equal(n_inits(), 1);
	for (int s = 1; s <= 200; s++) {
		assert_int_equal(truth_sample(truth, now_ns += S), -EIO);
		n += n < ARRAY_SIZE(due_s) && due_s[n] == s;
		assert_int_equal(n_inits(), 1 + n);
		expect_problem(n ? "NVML: Driver Not Loaded" : "GPU is lost");
	}
	assert_int_equal(n, ARRAY_SIZE(due_s));
	write_file("script", "busy 60\nuse 100 60 0 0\n");
	for (int s = 0; truth_sample(truth, now_ns += S) < 0; s++)
		assert_in_range(s, 0, 60);
	/* the use while it was closed is not known, so that the first sample only begins */
	expect_problem("opened again");
	assert_string_equal(users(), "1:0 0 0:-1 ");
	sample();
	assert_string_equal(truth_report(truth)->problem.msg, "");
	assert_string_equal(users(), "1:600 0 0:-1 ");
}

TEST(silence_is_idle_only_if_the_gpu_says_so)
{
	assert_int_equal(open_source("nvml", ""), 0);
	write_file("script", "rate 30\n");
	for (int i = 0; i < 3; i++)
		sample();
	expect_problem("no sample of the GPU");
	write_file("script", "rate 0\n");
	sample();
	assert_string_equal(truth_report(truth)->problem.msg, "");
	/* an old library has no rates: then no process may run */
	write_file("script", "error rates 3\nmemory 100 1\n");
	sample();
	expect_problem("no sample of the GPU");
	write_file("script", "error rates 3\n");
	sample();
	assert_string_equal(truth_report(truth)->problem.msg, "");
	write_file("script", "error rates 3\nerror lists 4\n");
	sample();
	expect_problem("no sample of the GPU");
	assert_int_equal(truth_report(truth)->last.denied, 1);
}

TEST(a_busy_gpu_must_name_a_process)
{
	assert_int_equal(open_source("nvml", ""), 0);
	write_file("script", "busy 40\n");
	for (int i = 0; i < 6; i++) {
		sample();
		assert_string_equal(truth_report(truth)->problem.msg, "");
	}
	sample();
	expect_problem("the GPU is busy (40 %), but no process is named");
	write_file("script", "busy 40\nuse 100 40 0 0\n");
	sample();
	assert_string_equal(truth_report(truth)->problem.msg, "");
}

TEST(auto_takes_nvml_when_its_driver_appears)
{
	write_file("script", "error init 9\n");
	assert_int_equal(open_source("auto", "0000:65:00.0"), 0);
	sample();
	assert_string_equal(truth_report(truth)->source, "fdinfo");
	expect_problem("no GPU 0000:65:00.0");
	write_file("script", "busy 40\nuse 100 40 0 0\n");
	for (int i = 0; i < 3; i++)
		sample();
	assert_string_equal(truth_report(truth)->source, "nvml");
	sample();
	assert_string_equal(users(), "1:400 0 0:-1 ");
	assert_string_equal(truth_report(truth)->problem.msg, "");
}

TEST(a_program_whose_group_cannot_be_read_is_a_problem)
{
	assert_int_equal(open_source("nvml", ""), 0);
	write_file("script", "busy 40\nuse 9999 40 0 0\nmemory 9999 1\n");
	for (int i = 0; i < 4; i++) {
		sample();
		assert_string_equal(truth_report(truth)->problem.msg, "");
	}
	sample();
	expect_problem("the control groups of 1 programs that use the GPU cannot be read");
	assert_int_equal(truth_report(truth)->last.outside, 1);
}

TEST(auto_selects_nvml_if_it_has_the_gpu)
{
	assert_int_equal(open_source("auto", "0000:65:00.0"), 0);
	assert_string_equal(truth_report(truth)->source, "nvml");
	truth = truth_close(truth);
	assert_int_equal(open_source("auto", "0000:03:00.0"), 0);
	assert_string_equal(truth_report(truth)->source, "fdinfo");
	truth = truth_close(truth);
	truth = NULL;
	write_file("script", "gpus 2\n");
	assert_int_equal(open_source("auto", ""), -EINVAL); /* the operator must select one */
	strcpy(library, "/nowhere/libnvidia-ml.so.1");
	assert_int_equal(open_source("auto", "0000:65:00.0"), 0);
	assert_string_equal(truth_report(truth)->source, "fdinfo");
}

TEST(errors_name_what_is_missing)
{
	static const struct {
		const char *script, *device;
		int result;
		const char *text;
	} rows[] = {
		{"error init 9\n", "", -EOPNOTSUPP, "Driver Not Loaded"},
		{"error count 3\n", "", -EOPNOTSUPP, "Not Supported"},
		{"gpus 0\n", "", -EOPNOTSUPP, "0 GPUs"},
		{"gpus 2\n", "", -EINVAL, "2 GPUs (set parent"},
		{"", "0000:01:00.0", -EOPNOTSUPP, "0000:01:00.0"},
		{"error uses 3\n", "", -EOPNOTSUPP, "by each process: Not Supported"},
		{"error samples 3\n", "", -EOPNOTSUPP, "its use: Not Supported"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_file("script", rows[i].script);
		assert_int_equal(open_source("nvml", rows[i].device), rows[i].result);
		if (!strstr(err.msg, rows[i].text))
			fail_msg("\"%s\" has no \"%s\"", err.msg, rows[i].text);
	}
	strcpy(library, "/nowhere/libnvidia-ml.so.1");
	assert_int_equal(open_source("nvml", ""), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "NVIDIA's driver"));
}
