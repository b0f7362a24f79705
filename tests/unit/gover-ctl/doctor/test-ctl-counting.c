/* SPDX-License-Identifier: MIT */
/* The cause that `doctor --pid` names for each set of facts about a program. */
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/doctor/counting.h"
#include "tests/unit/unit.h"

/* A program whose frames are counted. */
static struct counting_facts counted(void)
{
	return (struct counting_facts){
		.group = "0::/gover/a",
		.dynamic = true,
		.preload = "/lib/gover/libgover-fps.so",
		.preload_exists = true,
		.loaded = true,
		.uses_gpu = true,
		.fps = "unix:/run/gover/fps.sock",
		.socket = "/run/gover/fps.sock",
		.socket_exists = true,
		.counted = true,
		.connected = true,
		.vgpu = COUNTING_VGPU_FOUND,
	};
}

static void expect(const struct counting_facts *facts, const char *cause, enum finding_state state,
		   const char *part)
{
	struct finding finding;

	assert_string_equal(counting_judge(facts, &finding), cause);
	assert_int_equal(finding.state, state);
	if (!strstr(finding.text, part))
		fail_msg("\"%s\" does not contain \"%s\"", finding.text, part);
	assert_true((state == FINDING_OK) == (finding.advice[0] == '\0'));
}

TEST(a_counted_program_has_no_advice)
{
	struct counting_facts f = counted();

	expect(&f, "counted", FINDING_OK, "connected");
	f.vgpu = COUNTING_VGPU_UNKNOWN;
	expect(&f, "counted", FINDING_OK, "connected");
}

TEST(a_library_that_is_not_loaded)
{
	struct counting_facts f = counted();

	f.loaded = f.counted = f.connected = false;
	expect(&f, "not_loaded", FINDING_FAIL, f.preload);
	f.narrow = true;
	expect(&f, "other_architecture", FINDING_FAIL, "32 bits");
	f.preload_exists = false;
	expect(&f, "file_missing", FINDING_FAIL, f.preload);
	f.preload[0] = '\0';
	expect(&f, "not_preloaded", FINDING_FAIL, "without libgover-fps.so");
	f.dynamic = false;
	expect(&f, "static", FINDING_FAIL, "no dynamic loader");
	f.privileged = true;
	expect(&f, "privileged", FINDING_FAIL, "more privileges");
}

TEST(a_library_that_is_loaded_and_stays_out)
{
	struct counting_facts f = counted();

	f.counted = f.connected = false;
	f.filtered = true;
	expect(&f, "seccomp", FINDING_FAIL, "filter");
	f.trusts_filter = true;
	expect(&f, "bypassed", FINDING_WARN, "probably");
	strcpy(f.fps, "off");
	f.socket[0] = '\0';
	expect(&f, "off", FINDING_FAIL, "GOVER_FPS=off");
	strcpy(f.fps, "unx:/x");
	expect(&f, "invalid_address", FINDING_FAIL, "unx:/x");
}

TEST(a_filter_after_the_first_frame_is_no_cause)
{
	struct counting_facts f = counted();

	f.filtered = true;
	expect(&f, "counted", FINDING_OK, "connected");
}

TEST(a_library_that_is_not_connected)
{
	struct counting_facts f = counted();

	f.connected = false;
	expect(&f, "not_connected", FINDING_FAIL, f.socket);
	f.socket_exists = false;
	expect(&f, "socket_missing", FINDING_FAIL, f.socket);
	f.out_of_files = true;
	expect(&f, "out_of_files", FINDING_FAIL, "open files");
	f = counted();
	f.out_of_files = true;
	expect(&f, "counted", FINDING_OK, "connected");
}

TEST(another_transport_needs_no_socket)
{
	struct counting_facts f = counted();

	strcpy(f.fps, "vsock:2:7007");
	f.socket[0] = '\0';
	f.connected = false;
	f.vgpu = COUNTING_VGPU_NONE;
	expect(&f, "other_transport", FINDING_OK, "vsock:2:7007");
}

TEST(a_program_in_no_vgpu)
{
	struct counting_facts f = counted();

	f.vgpu = COUNTING_VGPU_NONE;
	expect(&f, "no_vgpu", FINDING_FAIL, f.group);
}

TEST(causes_of_no_frame_are_only_probable)
{
	struct counting_facts f = counted();

	f.counted = f.connected = false;
	expect(&f, "bypassed", FINDING_WARN, "RTLD_DEEPBIND");
	strcpy(f.earlier, "/lib/other.so");
	expect(&f, "earlier_library", FINDING_WARN, "/lib/other.so");
	f.uses_gpu = false;
	expect(&f, "no_gpu_library", FINDING_WARN, "no library of OpenGL");
}
