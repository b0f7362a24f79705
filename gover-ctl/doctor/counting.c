/* SPDX-License-Identifier: MIT */
/* The table of causes for frames that are not counted. A cause that is only probable is a warning.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/doctor/counting.h"

#define RUN "start it with `gover-ctl run --vgpu ID -- PROGRAM`"

static bool is_privileged(const struct counting_facts *f)
{
	return f->privileged;
}

static bool is_static(const struct counting_facts *f)
{
	return !f->dynamic;
}

static bool has_no_file(const struct counting_facts *f)
{
	return !f->loaded && f->preload[0] && !f->preload_exists;
}

static bool is_narrow(const struct counting_facts *f)
{
	return !f->loaded && f->preload[0] && f->narrow;
}

static bool was_not_loaded(const struct counting_facts *f)
{
	return !f->loaded && f->preload[0];
}

static bool has_no_preload(const struct counting_facts *f)
{
	return !f->loaded;
}

static bool is_off(const struct counting_facts *f)
{
	return strcmp(f->fps, "off") == 0;
}

static bool has_invalid_address(const struct counting_facts *f)
{
	return !f->socket[0] && strncmp(f->fps, "vsock:", 6) != 0 &&
	       strncmp(f->fps, "port:", 5) != 0;
}

static bool is_filtered(const struct counting_facts *f)
{
	return !f->counted && f->filtered && !f->trusts_filter;
}

static bool is_out_of_files(const struct counting_facts *f)
{
	return f->out_of_files && !f->connected;
}

static bool has_no_socket(const struct counting_facts *f)
{
	return f->socket[0] && !f->socket_exists && !f->connected;
}

static bool is_elsewhere(const struct counting_facts *f)
{
	return f->counted && !f->socket[0];
}

static bool is_unconnected(const struct counting_facts *f)
{
	return f->counted && !f->connected;
}

static bool has_no_vgpu(const struct counting_facts *f)
{
	return f->counted && f->vgpu == COUNTING_VGPU_NONE;
}

static bool is_counted(const struct counting_facts *f)
{
	return f->counted;
}

static bool uses_no_gpu(const struct counting_facts *f)
{
	return !f->uses_gpu;
}

static bool has_earlier(const struct counting_facts *f)
{
	return f->earlier[0];
}

static bool is_bypassed(const struct counting_facts *f)
{
	(void)f;
	return true;
}

#define NO_DETAIL  SIZE_MAX
#define DETAIL(of) offsetof(struct counting_facts, of)

/* The first row that applies is the cause. Its text ends with the detail, a text of the facts. */
static const struct {
	const char *name;
	bool (*applies)(const struct counting_facts *f);
	enum finding_state state;
	const char *text;
	size_t detail;
	const char *advice;
} causes[] = {
	{"privileged", is_privileged, FINDING_FAIL,
	 "the program has more privileges than its user, so that the library does nothing",
	 NO_DETAIL, "start the program without setuid, setgid and file capabilities"},
	{"static", is_static, FINDING_FAIL,
	 "the program has no dynamic loader, so that no library can be loaded into it", NO_DETAIL,
	 "use a dynamically linked program, or fps_source = bpf of gover.conf(5)"},
	{"file_missing", has_no_file, FINDING_FAIL,
	 "the program does not see the library of LD_PRELOAD in its file system: ", DETAIL(preload),
	 "mount the library into the container at this path"},
	{"other_architecture", is_narrow, FINDING_FAIL,
	 "the program has 32 bits, and did not load ", DETAIL(preload),
	 "preload lib/gover/32/libgover-fps.so as well, see fps-preload(7)"},
	{"not_loaded", was_not_loaded, FINDING_FAIL, "the program did not load ", DETAIL(preload),
	 "start it again, and read what the dynamic loader prints on standard error"},
	{"not_preloaded", has_no_preload, FINDING_FAIL,
	 "the program runs without libgover-fps.so and without the Vulkan layer", NO_DETAIL,
	 RUN ", or set LD_PRELOAD as in fps-preload(7)"},
	{"off", is_off, FINDING_FAIL, "counting is off in the environment: GOVER_FPS=", DETAIL(fps),
	 "start it without GOVER_FPS, or with GOVER_FPS=unix:PATH"},
	{"invalid_address", has_invalid_address, FINDING_FAIL,
	 "the environment has an invalid address: GOVER_FPS=", DETAIL(fps),
	 "set GOVER_FPS to unix:PATH, vsock:CID:PORT or port:NAME"},
	{"seccomp", is_filtered, FINDING_FAIL,
	 "a seccomp filter is in force, and the library makes no system call under a filter",
	 NO_DETAIL,
	 "if the filter only fails calls, as in containers, start the program with "
	 "GOVER_SANDBOX=errno; see fps-preload(7)"},
	{"out_of_files", is_out_of_files, FINDING_FAIL,
	 "the program has as many open files as its limit allows", NO_DETAIL,
	 "raise the limit of open files (ulimit -n), and start the program again"},
	{"socket_missing", has_no_socket, FINDING_FAIL,
	 "the program does not see the socket of gover-d in its file system: ", DETAIL(socket),
	 "mount the socket into the container at this path, or set GOVER_FPS"},
	{"other_transport", is_elsewhere, FINDING_OK,
	 "the library counts frames and sends them by GOVER_FPS=", DETAIL(fps), ""},
	{"not_connected", is_unconnected, FINDING_FAIL,
	 "the library counts frames, but has no connection to ", DETAIL(socket),
	 "start gover-d, compare the path with `socket` of [fps] in gover.conf, and see the lines "
	 "that GOVER_FPS_DEBUG=1 prints"},
	{"no_vgpu", has_no_vgpu, FINDING_FAIL,
	 "the library counts frames, but the program is in the control group of no vGPU: ",
	 DETAIL(group),
	 "write its pid to the file in the row cgroup.procs of `gover-ctl vgpu show`, or " RUN},
	{"counted", is_counted, FINDING_OK, "the library counts frames and is connected", NO_DETAIL,
	 ""},
	{"no_gpu_library", uses_no_gpu, FINDING_WARN,
	 "the program has loaded no library of OpenGL, EGL or Vulkan, and has presented no frame",
	 NO_DETAIL, "if it draws in a child process, examine that process"},
	{"earlier_library", has_earlier, FINDING_WARN,
	 "the library is loaded and has counted no frame; a probable cause is another library "
	 "before it in LD_PRELOAD that calls OpenGL without it: ",
	 DETAIL(earlier), "put libgover-fps.so first in LD_PRELOAD"},
	{"bypassed", is_bypassed, FINDING_WARN,
	 "the library is loaded and has counted no frame: the program has not presented a frame "
	 "yet, or probably presents through a plug-in that was opened with RTLD_DEEPBIND or "
	 "dlmopen(), which bypasses preloaded libraries",
	 NO_DETAIL,
	 "for Vulkan programs set GOVER_FPS_LAYER=1; otherwise use fps_source = bpf of "
	 "gover.conf(5)"},
};

const char *counting_judge(const struct counting_facts *facts, struct finding *ret_finding)
{
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(causes) && !causes[i].applies(facts))
		i++;
	finding_set(ret_finding, causes[i].state, causes[i].advice, "%s%.400s", causes[i].text,
		    causes[i].detail == NO_DETAIL ? "" : (const char *)facts + causes[i].detail);
	return causes[i].name;
}
