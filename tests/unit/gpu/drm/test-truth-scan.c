/* SPDX-License-Identifier: MIT */
/*
 * Tests the source fdinfo on folders instead of /proc and /sys: what it counts, and what it reports
 * if it sees no client. The tenant of a process is its pid / 100; below pid 100 none,
 * from pid 900 on unknown.
 */
#include "gpu/drm/source-fdinfo.c"
#include "gpu/drm/truth.h"
#include "tests/unit/gpu/drm/test-truth.h"

#define GPU "0000:03:00.0"

static struct truth *truth;
static uint64_t now_ns;

static int tenant_of(void *userdata, pid_t pid)
{
	(void)userdata;
	if (pid >= 900)
		return TRUTH_TENANT_UNKNOWN;
	return pid >= 100 ? (int)pid / 100 : TRUTH_TENANT_NONE;
}

static void open_source(void)
{
	const struct truth_config config = {
		.source = "fdinfo",
		.proc = top_proc,
		.device = GPU,
		.sysfs = top_sys,
		.tenant = tenant_of,
	};
	struct err err;

	now_ns = S;
	assert_int_equal(truth_open(&config, &truth, &err), 0);
	assert_string_equal(truth_report(truth)->source, "fdinfo");
}

static struct truth_counts counts(void)
{
	return truth_report(truth)->last;
}

/* Asserts that the use is unknown, and that the reason contains @text. */
static void expect_problem(const char *text)
{
	const char *problem = truth_report(truth)->problem.msg;

	if (!strstr(problem, text))
		fail_msg("\"%s\" has no \"%s\"", problem, text);
}

static void expect_no_problem(void)
{
	assert_string_equal(truth_report(truth)->problem.msg, "");
}

static void sample(void)
{
	now_ns += S;
	assert_int_equal(truth_sample(truth, now_ns), 0);
}

/* Opens the source and takes the first sample. */
static void begin(void)
{
	open_source();
	sample();
}

static size_t count_users(void)
{
	size_t n;

	(void)truth_users(truth, &n);
	return n;
}

static int close_source(void)
{
	truth = truth_close(truth);
	return remove_host();
}

FIXTURE(make_host, close_source)

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

TEST(a_client_with_several_descriptors_counts_once)
{
	for (int fd = 3; fd < 6; fd++) {
		add_drm_process(100, "a", fd, 7, 5.0);
		add_drm_process(101, "a", fd, 7, 5.0);
	}
	begin();
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

TEST(only_drm_files_of_the_gpu_count)
{
	add_drm_process(100, "a", 3, 7, 1);
	add_file(100, 4, "/dev/dri/card1",
		 "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-pdev:\t0000:04:00.0\n");
	add_file(100, 5, "socket:[5]", drm_text(8, 1, 0));
	add_file(100, 6, "/dev/dri/renderD128", "pos:\t0\n");
	add_file(100, 7, "/dev/dri/renderD128", "drm-driver:\ti915\ndrm-client-id:\tx\n");
	add_file(100, 8, "/dev/dri/renderD128", "drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\n");
	begin();
	assert_string_equal(users(), "1:0 ");
	assert_int_equal(counts().clients, 1);
	assert_int_equal(counts().refused, 2);	/* files 7 and 8 */
	assert_int_equal(counts().no_times, 1); /* file 6 */
	expect_problem("2 DRM files have a text that is malformed");
}

TEST(a_shared_client_belongs_to_the_process_with_a_tenant)
{
	add_drm_process(50, "display", 3, 7, 1);
	add_drm_process(200, "b", 9, 7, 1);
	begin();
	assert_string_equal(users(), "2:0 ");
}

TEST(a_client_without_a_tenant_is_listed_too)
{
	add_drm_process(50, "display", 3, 7, 1);
	begin();
	add_drm_file(50, 3, 7, 1.5);
	sample();
	assert_string_equal(users(), "-1:500 ");
}

TEST(a_client_outlives_the_process_that_was_its_holder)
{
	add_drm_process(100, "a", 3, 7, 1);
	add_drm_process(300, "c", 4, 7, 1);
	begin();
	assert_string_equal(users(), "1:0 ");
	/* The file of an ended process cannot be read any more, also if it is open. */
	write_file("proc/100/fdinfo/3", "");
	remove_below("proc/100");
	add_drm_file(300, 4, 7, 1.25);
	for (int i = 0; i < SCAN_GPU_PERIOD && strcmp(users(), "3:250 ") != 0; i++)
		sample();
	assert_string_equal(users(), "3:250 ");
}

TEST(a_descriptor_that_belongs_to_another_client_is_another_user)
{
	add_drm_process(100, "a", 3, 7, 1);
	begin();
	add_drm_file(100, 3, 8, 500);
	sample(); /* client 7 is gone */
	assert_string_equal(users(), "");
	sample();
	assert_string_equal(users(), "1:0 "); /* client 8 has no growth yet */
}

TEST(a_program_that_starts_later_counts_from_its_start)
{
	begin();
	assert_string_equal(users(), "");
	add_process(100, "a");
	sample();
	add_drm_file(100, 3, 7, 0.3);
	sample();
	assert_string_equal(users(), "1:300 ");
}

TEST(an_old_process_that_opens_the_gpu_is_found)
{
	int samples = 0;

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

TEST(a_class_of_two_engines_is_busy_with_both)
{
	const struct truth_user *user;
	size_t n;

	add_process(100, "a");
	add_file(100, 3, "/dev/dri/card0", drm_text(7, 0, 0));
	begin();
	add_file(100, 3, "/dev/dri/card0", drm_text(7, 0.1, 0.8));
	sample();
	user = truth_users(truth, &n);
	assert_int_equal(n, 1);
	assert_string_equal(users(), "1:400 ");
	assert_true(user->memory_valid);
	assert_int_equal(user->memory_bytes, 7 * 1024);
}

TEST(a_driver_without_times_gives_no_use)
{
	add_process(100, "a");
	add_file(100, 3, "/dev/dri/card0",
		 "drm-driver:\tnvidia-drm\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\n");
	open_source();
	expect_problem("no sample");
	sample();
	assert_int_equal(counts().no_times, 1);
	expect_problem("1 DRM files of this GPU have no time of use");
	/* amdgpu does not print an engine that was never used */
	add_file(100, 3, "/dev/dri/card0",
		 "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\n");
	sample();
	expect_no_problem();
}

TEST(more_files_than_stay_open_are_read)
{
	size_t n;

	add_process(100, "a");
	for (unsigned i = 0; i < 300; i++)
		add_drm_file(100, (int)i + 3, i, 1);
	begin();
	for (unsigned i = 0; i < 300; i++)
		add_drm_file(100, (int)i + 3, i, 1.001);
	sample();
	for (const struct truth_user *user = truth_users(truth, &n); n > 0; n--, user++)
		assert_in_range((int)(largest(user) / 1e3 + 0.5), 1000, 1000);
	assert_int_equal(count_users(), 300);
}

TEST(users_beyond_the_limit_are_counted_as_ignored)
{
	add_process(100, "a");
	for (unsigned i = 0; i < TRUTH_USERS_MAX + 2; i++)
		add_drm_file(100, (int)i + 3, i, 1);
	begin();
	assert_int_equal(count_users(), TRUTH_USERS_MAX);
	assert_int_equal(counts().ignored, 2);
	expect_problem("2 clients or classes of engines exceed the limit");
}

TEST(users_without_a_holder_leave_their_places_to_new_ones)
{
	add_process(100, "a");
	for (unsigned i = 0; i < TRUTH_USERS_MAX; i++)
		add_drm_file(100, (int)i + 3, i, 1);
	begin();
	for (unsigned i = 0; i < TRUTH_USERS_MAX; i++)
		add_drm_file(100, (int)i + 3, TRUTH_USERS_MAX + i, 1);
	sample();
	assert_int_equal(count_users(), 0);
	sample();
	assert_int_equal(count_users(), TRUTH_USERS_MAX);
	assert_int_equal(counts().ignored, 0);
}

struct links {
	int all, of_the_cut_process;
};

#define LINKS	 300 /* of each process */
#define CUT_PID	 (100 + SCAN_LINKS_MAX / LINKS)
#define LAST_PID (CUT_PID + 5)

static enum scan_verdict count_link(void *userdata, pid_t pid, int fd, bool is_new, bool named)
{
	struct links *links = userdata;

	(void)fd, (void)is_new, (void)named;
	links->all++;
	links->of_the_cut_process += pid == CUT_PID;
	return SCAN_OTHER;
}

TEST(a_sample_reads_a_bounded_number_of_links)
{
	struct links first = {0}, second = {0};
	struct scan_tally tally;
	struct scan *scan;

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
	assert_int_equal(scan_run(scan, count_link, &first), 0);
	assert_int_equal(first.all, SCAN_LINKS_MAX);
	assert_int_equal(first.of_the_cut_process, SCAN_LINKS_MAX % LINKS);
	scan_count(scan, &tally);
	assert_int_equal(tally.unsearched, LAST_PID - CUT_PID + 1);
	/* the search of the process that was not read to its end continues in the next sample */
	assert_int_equal(scan_run(scan, count_link, &second), 0);
	assert_int_equal(second.all, SCAN_LINKS_MAX);
	assert_int_equal(second.of_the_cut_process, LINKS - SCAN_LINKS_MAX % LINKS);
	scan_count(scan, &tally);
	assert_int_equal(tally.unsearched, 0);
	assert_int_equal(tally.found[SCAN_DENIED], 0);
	scan_free(scan);
}

TEST(errors_name_what_is_wrong)
{
	struct truth_config config = {
		.source = "fdinfo", .proc = "/nowhere", .device = "a", .tenant = tenant_of};
	struct err err = {""};

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

/* --- the reasons why no client is seen --- */

#define MUTE "pos:\t0\nflags:\t02100002\nmnt_id:\t26\n"
/* amdgpu of Linux 5.14 to 5.18 */
#define OLD MUTE "pdev:\t" GPU "\npasid:\t32771\nvram mem:\t262144 kB\ngfx0:\t70.59%\n"

/* Takes a sample. Returns the problem. */
static const char *find_problem(void)
{
	if (!truth)
		open_source();
	sample();
	return truth_report(truth)->problem.msg;
}

static void known_driver(void)
{
	add_pci_gpu(GPU, "amdgpu");
}

static void no_gpu(void)
{
}

static void other_gpu(void)
{
	add_pci_gpu("0000:04:00.0", "amdgpu");
	add_process(100, "a");
	add_file(100, 3, "/dev/dri/renderD129",
		 "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-pdev:\t0000:04:00.0\n");
}

static void no_driver(void)
{
	known_driver();
	remove_below("sys/bus/pci/devices/" GPU "/driver");
}

static void unknown_driver(void)
{
	add_pci_gpu(GPU, "nouveau");
}

static void file_of(const char *path, const char *text)
{
	known_driver();
	add_process(100, "a");
	add_file(100, 3, path, text);
}

static void old_format(void)
{
	file_of("/dev/dri/renderD128", OLD);
}

static void no_keys(void)
{
	file_of("/dev/dri/card0", MUTE);
}

static void no_keys_in_a_chroot(void)
{
	file_of("/srv/guest/dev/dri/renderD128", MUTE);
}

static void malformed(void)
{
	file_of("/dev/dri/card0", "drm-driver:\tamdgpu\ndrm-engine-gfx:\tmany\n");
}

static void no_client_id(void)
{
	file_of("/dev/dri/card0", "drm-driver:\tamdgpu\ndrm-pdev:\t" GPU "\n");
}

static void no_address(void)
{
	file_of("/dev/dri/card0", "drm-driver:\tamdgpu\ndrm-client-id:\t1\n");
}

static void memory_only(void)
{
	file_of("/dev/dri/card0", "drm-driver:\tnouveau\ndrm-client-id:\t1\ndrm-pdev:\t" GPU
				  "\ndrm-memory-vram:\t1 KiB\n");
}

static void cycles_only(void)
{
	file_of("/dev/dri/card0",
		"drm-driver:\txe\ndrm-client-id:\t1\ndrm-pdev:\t" GPU "\ndrm-cycles-rcs:\t100\n");
}

static void switched_off(void)
{
	known_driver();
	write_file("sys/bus/pci/devices/" GPU "/profiling", "0\n");
}

static void namespace(void)
{
	known_driver();
	add_link("proc/1/ns/pid", "pid:[4026532201]");
}

static void own_namespace(void)
{
	known_driver();
	remove_below("proc/1/ns"); /* not readable without CAP_SYS_PTRACE */
	add_link("proc/self/ns/pid", "pid:[4026532201]");
}

static void empty_proc(void)
{
	known_driver();
	remove_below("proc/1");
}

static void unknown_group(void)
{
	known_driver();
	add_drm_process(900, "a", 3, 1, 0);
}

/* The same clients under other names are seen. */
static void renamed(void)
{
	add_process(100, "a");
	add_file(100, 3, "/containers/7/gpu", drm_text(7, 1, 0));
}

static void of_a_thread(void)
{
	add_process(100, "a"); /* its first thread has ended */
	remove_below("proc/100/fd/x");
	write_file("proc/100/task/100/x", "");
	write_file("proc/100/task/101/x", "");
	add_process(101, "a"); /* proc lists no threads, but has their folders */
	add_drm_file(101, 3, 7, 1);
	assert_int_equal(rename(below("proc/101"), below("proc/thread")), 0);
	add_link("proc/00101", "thread");
	add_link("proc/101", "thread");
}

static const struct {
	const char *way;
	void (*make)(void);
	const char *problem; /* "": the GPU is idle, or its clients are seen */
	uint64_t clients;
} rows[] = {
	{"no client, driver and kernel known", known_driver, "", 0},
	{"address that no GPU has", no_gpu, "no GPU " GPU " exists in sysfs", 0},
	{"address of another GPU than that of the programs", other_gpu, "no GPU " GPU, 0},
	{"GPU without a driver", no_driver, "GPU " GPU " has no driver", 0},
	{"driver that is not known to publish use", unknown_driver, "driver nouveau is not known",
	 0},
	{"text of Linux 5.14 to 5.18 (amdgpu)", old_format, "1 DRM files of this GPU have no time",
	 0},
	{"text without drm- keys", no_keys, "1 DRM files of this GPU have no time", 0},
	{"the same in a chroot", no_keys_in_a_chroot, "1 DRM files of this GPU have no time", 0},
	{"malformed value", malformed, "1 DRM files have a text that is malformed", 0},
	{"no drm-client-id", no_client_id, "1 DRM files have a text that is malformed", 0},
	{"no drm-pdev", no_address, "1 DRM files have a text that is malformed", 0},
	{"memory keys only", memory_only, "1 DRM files of this GPU have no time", 1},
	{"drm-cycles without total or frequency", cycles_only, "1 DRM files of this GPU", 1},
	{"profiling = 0 (panfrost, panthor)", switched_off, "counts no use until 1 is written", 0},
	{"proc of another PID namespace", namespace, "of a PID namespace", 0},
	{"daemon in another PID namespace", own_namespace, "of a PID namespace", 0},
	{"empty proc", empty_proc, "proc lists no process", 0},
	{"unreadable control group of a client", unknown_group, "the control groups of 1 programs",
	 1},
	{"node with another name (bind mount)", renamed, "", 1},
	{"first thread of the process has ended", of_a_thread, "", 1},
};

TEST(the_table_of_ways_to_see_nobody)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *problem;

		if (i > 0)
			assert_int_equal(make_host(), 0);
		rows[i].make();
		problem = find_problem();
		print_message("fdinfo | %s | %s\n", rows[i].way, problem[0] ? problem : "ok");
		if (rows[i].problem[0] ? !strstr(problem, rows[i].problem) : problem[0] != '\0')
			fail_msg("%s: \"%s\"", rows[i].way, problem);
		assert_int_equal(truth_report(truth)->last.clients, rows[i].clients);
		truth = truth_close(truth);
		if (i + 1 < ARRAY_SIZE(rows))
			remove_host();
	}
}

TEST(what_was_seen_once_is_idle_without_it)
{
	add_drm_process(100, "a", 3, 7, 1);
	assert_string_equal(find_problem(), "");
	write_file("proc/100/fdinfo/3", "");
	remove_below("proc/100");
	assert_string_equal(find_problem(), "");
	assert_int_equal(truth_report(truth)->last.clients, 0);
	assert_int_equal(truth_report(truth)->most.clients, 1);
	/* another driver must show it again */
	add_pci_gpu(GPU, "vfio-pci");
	assert_non_null(strstr(find_problem(), "driver vfio-pci is not known"));
	remove_below("sys/bus/pci/devices/" GPU);
	assert_non_null(strstr(find_problem(), "no GPU " GPU));
	known_driver();
	assert_string_equal(find_problem(), "");
}

TEST(drivers_publish_use_since_a_kernel)
{
	assert_false(control_knows("amdgpu", "5.18.19"));
	assert_true(control_knows("amdgpu", "5.19.0-1-amd64"));
	assert_true(control_knows("amdgpu", "6.1.0"));
	assert_false(control_knows("xe", "6.8.0-31-generic"));
	assert_true(control_knows("xe", "6.11.0"));
	assert_false(control_knows("nouveau", "6.11.0"));
	assert_false(control_knows("i915", "unknown"));
}
