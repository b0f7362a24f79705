/* SPDX-License-Identifier: MIT */
/*
 * `doctor`: runs all checks, also after a failed check, and prints the findings. A missing
 * requirement of a backend is a failure if the daemon uses this backend, and a warning otherwise.
 * gover-d --diagnose makes the findings of the backends, because only gover-d has backends.
 */
#include <dirent.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/finding.h"
#include "base/http/denied.h"
#include "base/parse.h"
#include "base/terminal/field.h"
#include "base/terminal/writer.h"
#include "gover-ctl/doctor/counting.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/shared/program.h"
#include "gover-ctl/shared/unit.h"

#define S_PER_DAY  86400
#define NAME_SIZE  64
#define INSTALL	   "sudo apt install libgover-fps"
#define LOG_ADVICE "see the log: journalctl -u gover-d -n 20"

/* --- the daemon: the first cure if it does not answer depends on its unit --- */

/* Texts and cures by the state of the unit; the first row that matches applies. */
static const struct {
	const char *active, *result; /* NULL: any */
	const char *text, *advice;
	bool names_result; /* the result follows the text */
} states[] = {
	{"failed", "exit-code", "gover-d.service has failed: gover-d exits with an error",
	 "sudo gover-ctl config check; journalctl -u gover-d -n 20; then sudo systemctl "
	 "reset-failed gover-d && sudo systemctl start gover-d",
	 false},
	{"failed", NULL, "gover-d.service has failed: ",
	 "journalctl -u gover-d -n 20; then sudo systemctl reset-failed gover-d && sudo systemctl "
	 "start gover-d",
	 true},
	{"inactive", NULL, "gover-d.service is not started", "sudo systemctl enable --now gover-d",
	 false},
	{"activating", NULL, "gover-d.service is starting, or waits for a restart", LOG_ADVICE,
	 false},
	{"deactivating", NULL, "gover-d.service is stopping", LOG_ADVICE, false},
};

static void explain_unit(const struct doctor_input *input, const struct unit *unit,
			 struct finding *finding)
{
	const char *socket = input->config ? field_text(input->config, "socket") : input->where;

	if (!unit->loaded && strcmp(unit->enabled, "masked") != 0) {
		finding_advise(finding, FINDING_FAIL, input->no_answer,
			       "%s is not installed: sudo apt install gover", UNIT_NAME);
		return;
	}
	if (strcmp(unit->enabled, "masked") == 0) {
		finding_set(finding, FINDING_FAIL,
			    "sudo systemctl unmask gover-d && sudo systemctl enable --now gover-d",
			    "gover-d.service is masked");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (strcmp(states[i].active, unit->active) != 0 ||
		    (states[i].result && strcmp(states[i].result, unit->result) != 0))
			continue;
		finding_set(finding, FINDING_FAIL, states[i].advice, "%s%s", states[i].text,
			    states[i].names_result ? unit->result : "");
		return;
	}
	if (strcmp(socket, input->where) != 0)
		finding_advise(finding, FINDING_FAIL, input->no_answer,
			       "gover-d.service runs with another socket: set --socket %s, or "
			       "GOVER_SOCKET",
			       socket);
	else
		finding_set(finding, FINDING_FAIL, LOG_ADVICE, "gover-d.service is %s: %s",
			    unit->active, input->no_answer);
}

static void explain_silence(const struct doctor_input *input, struct finding *finding)
{
	const struct installation *i = input->installation;
	struct denied denied;

	if (!input->over_socket)
		finding_set(finding, FINDING_FAIL, "start it: systemctl start gover-d", "%s",
			    input->no_answer);
	else if (denied_explain(input->where, &denied))
		finding_set(finding, FINDING_FAIL, denied.command, "%s", denied.text);
	else if (i && i->unit.known)
		explain_unit(input, &i->unit, finding);
	else
		finding_set(finding, FINDING_FAIL,
			    "start it (systemctl start gover-d), or set --socket or GOVER_SOCKET",
			    "%s", input->no_answer);
}

static void check_service(const struct doctor_input *input, struct finding *finding)
{
	char up[WRITER_SPAN_MAX];

	if (input->refused) {
		finding_set(finding, FINDING_OK, "", "gover-d is running at %s", input->where);
	} else if (!input->host) {
		explain_silence(input, finding);
	} else {
		writer_format_span(field_number(input->host, "uptime_s"), up);
		finding_set(finding, FINDING_OK, "", "gover-d %s is running at %s, up %s",
			    field_text(input->host, "version"), input->where, up);
	}
}

/*
 * --- the rights of this user ---
 * If the daemon has refused a request, its message names the groups. Otherwise the groups are those
 * of [access] in the configuration file; if it cannot be read, those of its defaults.
 */

/* A group of [access], and whether this user and this process are in it. */
struct role {
	const char *name; /* "": no group is configured */
	bool exists, member, active;
};

static struct role role_of(const char *name)
{
	struct role role = {.name = name};
	const struct group *group;
	int64_t number;
	gid_t gid;

	if (name[0] == '\0')
		return role;
	if (parse_int(name, 0, UINT32_MAX - 1, &number) == 0) {
		gid = (gid_t)number;
		role.exists = true;
	} else {
		group = getgrnam(name);
		role.exists = group != NULL;
		gid = group ? group->gr_gid : 0;
	}
	role.active = role.exists && denied_has_group(gid);
	role.member = role.exists && denied_is_member(gid);
	return role;
}

/* Returns true if the daemon, which has created its socket, runs as this user. */
static bool owns_daemon(const struct doctor_input *input)
{
	struct stat st;

	return input->host && stat(input->where, &st) == 0 && st.st_uid == geteuid();
}

static void advise_group(struct finding *finding, const struct role *role, const char *who,
			 const char *user)
{
	char text[256];

	if (role->name[0] == '\0') {
		finding_set(finding, FINDING_FAIL, "run the command with sudo",
			    "%s may not use gover: [access] of gover.conf configures no group",
			    who);
	} else if (!role->exists) {
		snprintf(text, sizeof(text),
			 "%s may not use gover: group %s does not exist on this host", who,
			 role->name);
		finding_advise(finding, FINDING_FAIL, text,
			       "sudo groupadd --system %s && sudo usermod -aG %s %s && sudo "
			       "systemctl restart gover-d, then log in again",
			       role->name, role->name, user);
	} else if (role->member && !role->active) {
		finding_set(finding, FINDING_FAIL, "log in again",
			    "%s is a member of group %s, but this session began before", who,
			    role->name);
	} else {
		snprintf(text, sizeof(text), "%s may not use gover: not a member of group %s", who,
			 role->name);
		finding_advise(finding, FINDING_FAIL, text,
			       "sudo usermod -aG %s %s, then log in again", role->name, user);
	}
}

/* Splits the message of the daemon, "PROBLEM (CURE)", into text and advice. */
static void repeat_refusal(const char *message, struct finding *finding)
{
	const char *cure = strstr(message, " (run ");
	int length = cure ? (int)(cure - message) : (int)strlen(message);

	finding_set(finding, FINDING_FAIL, "", "%.*s", length, message);
	if (cure)
		snprintf(finding->advice, sizeof(finding->advice), "%.*s",
			 (int)strlen(cure + 2) - 1, cure + 2);
}

static void judge_user(const struct doctor_input *input, struct finding *finding)
{
	const json_t *config = input->config;
	struct role operate = role_of(config ? field_text(config, "operate_group") : "gover");
	struct role read = role_of(config ? field_text(config, "read_group") : "gover-read");
	char who[NAME_SIZE + 32], user[NAME_SIZE], text[256];

	denied_name_user(who, sizeof(who));
	denied_user_name(geteuid(), user, sizeof(user));
	if (operate.active) {
		finding_set(finding, FINDING_OK, "", "%s may read and change (group %s)", who,
			    operate.name);
	} else if (read.active && operate.exists) {
		snprintf(text, sizeof(text), "%s may read (group %s)", who, read.name);
		finding_advise(finding, FINDING_OK, text,
			       "to change something: sudo usermod -aG %s %s, then log in again",
			       operate.name, user);
	} else if (read.active) {
		finding_set(finding, FINDING_OK, "", "%s may read (group %s)", who, read.name);
	} else if (input->host) {
		finding_set(finding, FINDING_OK, "", "%s may read", who);
	} else if (input->refused && !operate.member && !read.member) {
		repeat_refusal(input->no_answer, finding);
	} else {
		advise_group(finding, read.member && !operate.member ? &read : &operate, who, user);
	}
}

static void check_access(const struct doctor_input *input, struct finding *finding)
{
	if (!input->over_socket)
		finding->state = FINDING_SKIPPED;
	else if (geteuid() == 0 || owns_daemon(input))
		finding_set(finding, FINDING_OK, "", "this user may read, change and administer");
	else
		judge_user(input, finding);
}

/* --- the state of the daemon --- */

static void check_ticks(const struct doctor_input *input, struct finding *finding)
{
	double ticks = field_number(input->host, "ticks"),
	       late = field_number(input->host, "late_ticks");

	if (!field_true(input->host, "ready"))
		finding_set(finding, FINDING_FAIL, "see the log: journalctl -u gover-d",
			    "the daemon has not completed its first tick");
	else if (late > ticks / 100)
		finding_set(finding, FINDING_WARN,
			    "raise the CPU weight of gover-d (systemd: CPUWeight)",
			    "%.0f of %.0f ticks were late; late ticks make no decisions", late,
			    ticks);
	else
		finding_set(finding, FINDING_OK, "", "%.0f ticks, %.0f late", ticks, late);
}

static void find_silent(const json_t *gpu, struct finding *finding)
{
	const char *problem = field_text(gpu, "problem");
	char text[ERR_MSG_MAX];

	snprintf(text, sizeof(text), "busy time of GPU %s cannot be read", field_text(gpu, "name"));
	finding_set(finding, FINDING_FAIL, "see `gover-ctl alerts` and journalctl -u gover-d",
		    "%s: no decisions for this GPU", problem[0] ? problem : text);
}

static void check_gpus(const struct doctor_input *input, struct finding *finding)
{
	const json_t *gpus = json_object_get(input->host, "gpus"), *gpu;
	char names[256] = "";
	size_t i;

	json_array_foreach (gpus, i, gpu) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s (%s, %s)", used ? ", " : "",
			 field_text(gpu, "name"), field_text(gpu, "backend"),
			 field_text(gpu, "mode"));
		if (!field_true(gpu, "telemetry_valid")) {
			find_silent(gpu, finding);
			return;
		}
	}
	if (json_array_size(gpus) == 0)
		finding_set(finding, FINDING_WARN,
			    "set `backend` in a [gpu] section of gover.conf (softgpu "
			    "shares CPU cores, lib gives OpenCL programs turns, sim simulates a "
			    "GPU)",
			    "the daemon controls no GPU");
	else
		finding_set(finding, FINDING_OK, "", "controlled GPUs: %s", names);
}

static void check_history(const struct doctor_input *input, struct finding *finding)
{
	const json_t *history = json_object_get(input->host, "history");
	const char *error = field_text(history, "error");

	if (!field_true(history, "enabled"))
		finding_set(finding, FINDING_FAIL,
			    "make state_dir of gover.conf writable and free disk space",
			    "history is not recorded%s%s", error[0] ? ": " : "", error);
	else if (error[0])
		finding_set(finding, FINDING_FAIL,
			    "make state_dir of gover.conf writable and free disk space",
			    "history cannot be written: %s (%.0f rows lost)", error,
			    field_number(history, "dropped"));
	else if (json_array_size(json_object_get(history, "damaged")) > 0)
		finding_set(
			finding, FINDING_WARN,
			"copy the files from state_dir of gover.conf if you need them "
			"(sqlite3 FILE .recover for history.db.damaged-*), then remove them",
			"damaged files were set aside: %zu, the first is %s",
			json_array_size(json_object_get(history, "damaged")),
			json_string_value(json_array_get(json_object_get(history, "damaged"), 0)));
	else if (field_number(history, "clock_ahead_s") > S_PER_DAY)
		finding_set(finding, FINDING_WARN,
			    "check the clock; old rows are removed again after two days",
			    "the clock is %.0f days ahead of the recorded time",
			    field_number(history, "clock_ahead_s") / S_PER_DAY);
	else if (field_number(history, "dropped") > 0)
		finding_set(finding, FINDING_WARN, "",
			    "history is recorded, but %.0f rows were lost",
			    field_number(history, "dropped"));
	else
		finding_set(finding, FINDING_OK, "", "history is recorded: %.0f rows written",
			    field_number(history, "written"));
}

/*
 * If no GPU has fps_source = bpf, the reply of the daemon contains no files and no error, and the
 * check is skipped.
 */
static void check_bpf(const struct doctor_input *input, struct finding *finding)
{
	const json_t *fps = json_object_get(input->host, "fps");
	double files = field_number(fps, "bpf_files"), refused = field_number(fps, "bpf_refused");
	const char *error = field_text(fps, "bpf_error");

	if (error[0])
		finding_set(finding, FINDING_FAIL,
			    "fix this error, or set fps_source = preload in the [gpu] section",
			    "fps_source = bpf: %s", error);
	else if (refused > 0)
		finding_set(finding, FINDING_WARN, "",
			    "the kernel counts frames by probes in %.0f library files; %.0f other "
			    "files were "
			    "rejected or exceed the limit",
			    files, refused);
	else if (files > 0)
		finding_set(finding, FINDING_OK, "",
			    "the kernel counts frames by probes in %.0f library files", files);
	else
		finding->state = FINDING_SKIPPED;
}

static void check_xvfb(const struct doctor_input *input, struct finding *finding)
{
	if (file_find_command("Xvfb", input->search_path) == 0)
		finding_set(finding, FINDING_OK, "",
			    "Xvfb is installed: programs can render without a screen");
	else /* a production host needs no X server */
		finding->state = FINDING_SKIPPED;
}

/* Adds the counts of the last sample that are not 0. */
static void add_counts(const json_t *gpu, char *text, size_t size)
{
	static const struct {
		const char *key, *meaning;
	} rows[] = {{"outside", "outside the control groups of vGPUs"},
		    {"refused", "malformed"},
		    {"denied", "unreadable"},
		    {"no_times", "without times"},
		    {"ignored", "beyond the limit"}};
	const json_t *last = json_object_get(json_object_get(gpu, "source"), "last");
	size_t used = strlen(text);

	used += (size_t)snprintf(text + used, size - used, "%s%s: %s read %.0f clients",
				 used ? "; " : "", field_text(gpu, "name"),
				 field_text(gpu, "truth"), field_number(last, "clients"));
	for (size_t i = 0; i < ARRAY_SIZE(rows) && used < size; i++)
		if (field_number(last, rows[i].key) > 0)
			used += (size_t)snprintf(text + used, size - used, ", %.0f %s",
						 field_number(last, rows[i].key), rows[i].meaning);
}

static void check_sources(const struct doctor_input *input, struct finding *finding)
{
	const json_t *gpus = json_object_get(input->host, "gpus"), *gpu;
	const char *problem = "";
	char text[512] = "";
	size_t i;

	json_array_foreach (gpus, i, gpu) {
		if (!json_is_object(json_object_get(gpu, "source")) ||
		    strlen(text) + 1 >= sizeof(text))
			continue;
		add_counts(gpu, text, sizeof(text));
		if (!problem[0])
			problem = field_text(gpu, "problem");
	}
	if (!text[0])
		finding->state = FINDING_SKIPPED;
	else
		finding_set(finding, problem[0] ? FINDING_WARN : FINDING_OK, "", "%s%s%s", text,
			    problem[0] ? "; " : "", problem);
}

static void check_vsock(const struct doctor_input *input, struct finding *finding)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/dev/vhost-vsock", input->root);
	if (access(path, F_OK) == 0)
		finding_set(finding, FINDING_OK, "",
			    "virtual machines can report frames over vsock");
	else
		finding_set(
			finding, FINDING_WARN,
			"modprobe vhost_vsock, or use virtio-serial (ports of [fps])",
			"no /dev/vhost-vsock: virtual machines cannot report frames over vsock");
}

/*
 * Returns true if process @pid has a mount of a removed socket for programs. @path: its mount
 * point. The kernel marks the source of such a mount in the fourth field.
 */
static bool holds_dead_socket(const struct doctor_input *input, const char *pid,
			      char path[PATH_MAX])
{
	static const char *const marks[] = {"/fps.sock//deleted ", "/compute.sock//deleted "};
	char name[PATH_MAX];
	CLEANUP_FREE char *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *file;

	snprintf(name, sizeof(name), "%s/proc/%s/mountinfo", input->root, pid);
	file = fopen(name, "re");
	while (file && !found && getline(&line, &size, file) > 0)
		for (size_t i = 0; i < ARRAY_SIZE(marks) && !found; i++) {
			const char *mark = strstr(line, marks[i]);

			found = mark && sscanf(mark + strlen(marks[i]), "%4095s", path) == 1;
		}
	if (file)
		(void)fclose(file);
	return found;
}

/* Finds containers that mount a socket instead of its folder. Only root can see all of them. */
static void check_mounts(const struct doctor_input *input, struct finding *finding)
{
	char name[PATH_MAX], path[PATH_MAX];
	const struct dirent *entry;
	int64_t pid;
	DIR *proc;

	snprintf(name, sizeof(name), "%s/proc", input->root);
	proc = opendir(name);
	finding->state = FINDING_SKIPPED;
	while (proc && finding->state == FINDING_SKIPPED && (entry = readdir(proc)))
		if (parse_int(entry->d_name, 1, INT32_MAX, &pid) == 0 &&
		    holds_dead_socket(input, entry->d_name, path))
			finding_set(finding, FINDING_WARN,
				    "mount the folder /run/gover/tenant at /run/gover instead of a "
				    "socket, and start the container again",
				    "process %s runs in a container that holds a dead socket: %s "
				    "was removed on the host when its daemon restarted",
				    entry->d_name, path);
	if (proc)
		(void)closedir(proc);
}

/* --- the libraries for customers' programs, all in the package libgover-fps --- */

/*
 * Returns true if the daemon controls a GPU with this backend; without a reply, if its
 * configuration file has such a GPU.
 */
static bool uses_backend(const struct doctor_input *input, const char *backend)
{
	const json_t *backends = json_object_get(input->config, "backends"), *entry;
	size_t i;

	json_array_foreach (input->host ? NULL : backends, i, entry)
		if (strcmp(json_string_value(entry), backend) == 0)
			return true;
	json_array_foreach (json_object_get(input->host, "gpus"), i, entry)
		if (strcmp(field_text(entry, "backend"), backend) == 0)
			return true;
	return false;
}

static void check_library(const struct doctor_input *input, struct finding *finding)
{
	char path[PATH_MAX];
	struct err err;

	if (program_find_library(&program_library_fps, input->library, input->exe, path, &err) < 0)
		finding_set(finding, FINDING_FAIL, INSTALL, "FPS are not measured: %s", err.msg);
	else
		finding_set(finding, FINDING_OK, "", "frames are counted by %s", path);
}

/*
 * Finds a file in the folder of the library for 64-bit programs. Returns false if this library is
 * missing, which is a finding of its own.
 */
static bool find_beside(const struct doctor_input *input, const char *name, char ret_path[PATH_MAX])
{
	char library[PATH_MAX], *slash;
	struct err err;

	if (program_find_library(&program_library_fps, input->library, input->exe, library, &err) <
	    0)
		return false;
	slash = strrchr(library, '/');
	if (slash)
		slash[1] = '\0';
	else
		library[0] = '\0';
	return snprintf(ret_path, PATH_MAX, "%s%s", library, name) < PATH_MAX;
}

static void check_beside(const struct doctor_input *input, const char *name, const char *programs,
			 struct finding *finding)
{
	char path[PATH_MAX];

	if (!find_beside(input, name, path))
		finding->state = FINDING_SKIPPED;
	else if (access(path, R_OK) < 0)
		finding_set(finding, FINDING_WARN, INSTALL,
			    "frames of %s programs are not counted: %s is missing", programs, path);
	else
		finding_set(finding, FINDING_OK, "", "frames of %s programs are counted by %s",
			    programs, path);
}

static void check_library32(const struct doctor_input *input, struct finding *finding)
{
#ifndef __x86_64__
	finding->state = FINDING_SKIPPED; /* no 32-bit programs */
	return;
#endif
	check_beside(input, "32/libgover-fps.so", "32-bit", finding);
}

/* Returns true if the Vulkan loader finds the layer. */
static bool has_manifest(const struct doctor_input *input)
{
	static const char *const folders[] = {"/usr/share", "/usr/local/share", "/etc"};
	static const char name[] = "vulkan/implicit_layer.d/gover_fps.json";
	const char *slash = strrchr(input->exe, '/');
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s/../share/%s", slash ? (int)(slash - input->exe) : 0,
		     input->exe, name) < PATH_MAX &&
	    access(path, R_OK) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (snprintf(path, sizeof(path), "%s%s/%s", input->root, folders[i], name) <
			    PATH_MAX &&
		    access(path, R_OK) == 0)
			return true;
	return false;
}

static void check_vulkan(const struct doctor_input *input, struct finding *finding)
{
	check_beside(input, "libgover-fps-layer.so", "Vulkan", finding);
	if (finding->state == FINDING_OK && !has_manifest(input))
		finding_set(finding, FINDING_WARN, INSTALL,
			    "frames of Vulkan programs are not counted: the Vulkan loader has no "
			    "implicit_layer.d/gover_fps.json");
}

static void check_layer(const struct doctor_input *input, struct finding *finding)
{
	char path[PATH_MAX];
	struct err err;

	if (!uses_backend(input, "lib"))
		finding->state = FINDING_SKIPPED;
	else if (program_find_library(&program_library_cl, input->layer, input->exe, path, &err) <
		 0)
		finding_set(finding, FINDING_FAIL, INSTALL,
			    "programs of backend lib run without control: %s", err.msg);
	else
		finding_set(finding, FINDING_OK, "", "OpenCL programs take turns through %s", path);
}

/* --- all checks --- */

#define BACKENDS "backends"

/* In the order of the output. */
static const struct {
	const char *name;
	/* NULL: gover-d makes this check */
	void (*check)(const struct doctor_input *input, struct finding *finding);
	bool needs_host; /* skipped without a reply of the daemon */
} checks[] = {
	{"daemon", check_service, false},
	{"access", check_access, false},
	{"ticks", check_ticks, true},
	{"gpus", check_gpus, true},
	{"history", check_history, true},
	{"cgroups", NULL, false},
	{"library", check_library, false},
	{"library32", check_library32, false},
	{"vulkan", check_vulkan, false},
	{"layer", check_layer, false},
	{"xvfb", check_xvfb, false},
	{BACKENDS, NULL, false}, /* all the others in `gover-d --diagnose` */
	{"sources", check_sources, false},
	{"vsock", check_vsock, false},
	{"mounts", check_mounts, false},
	{"fps-bpf", check_bpf, false},
};

const char *doctor_check(size_t index, const struct doctor_input *input,
			 struct finding *ret_finding)
{
	if (index >= ARRAY_SIZE(checks))
		return NULL;
	*ret_finding = (struct finding){.state = FINDING_SKIPPED};
	if (checks[index].check && (input->host || !checks[index].needs_host)) {
		ret_finding->state = FINDING_OK;
		checks[index].check(input, ret_finding);
	}
	return checks[index].name;
}

/* Makes the argument of --diagnose: the running daemon and its unit. */
static char *describe(const struct doctor_input *input, const struct installation *i)
{
	const json_t *gpus = json_object_get(input->host, "gpus"), *gpu;
	json_t *object = json_pack("{s:i, s:b, s:s, s:b}", "pid", (int)i->pid, "unit",
				   i->source == INSTALLATION_UNIT, "user", i->unit.user,
				   "protects_cgroups", i->unit.protects_cgroups);
	json_t *backends = json_array();
	bool steered = false;
	char *text;
	size_t n;

	json_array_foreach (gpus, n, gpu) {
		(void)json_array_append(backends, json_object_get(gpu, "backend"));
		steered = steered || field_number(gpu, "round_ms") > 0;
	}
	(void)json_object_set_new(object, "steered", json_boolean(steered));
	if (input->host)
		(void)json_object_set(object, "backends", backends);
	json_decref(backends);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text;
}

/* Returns the answer of gover-d --diagnose; NULL with a message: there is none. */
static json_t *diagnose(const struct doctor_input *input, const struct installation *i,
			struct err *reterr)
{
	char *facts = describe(input, i);
	const char *const argv[] = {
		"gover-d", "--diagnose", "--facts", facts, i->config[0] ? "--config" : NULL,
		i->config, NULL};
	json_t *answer = program_read_json(argv, reterr);

	free(facts);
	return answer;
}

static bool has_row(const char *check)
{
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (strcmp(checks[i].name, check) == 0)
			return true;
	return false;
}

/* Adds the findings of gover-d that belong to the row @name. */
static void copy(const json_t *answer, const char *name, json_t *list)
{
	json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(answer, "checks"), i, finding) {
		const char *check = field_text(finding, "check");

		if (strcmp(check, name) == 0 || (strcmp(name, BACKENDS) == 0 && !has_row(check)))
			(void)json_array_append(list, finding);
	}
}

static json_t *examine(const struct doctor_input *input, const json_t *answer,
		       const struct err *problem)
{
	json_t *list = json_array(), *entry;
	struct finding finding;
	const char *name;
	bool ok = true;
	size_t n;

	for (size_t i = 0; (name = doctor_check(i, input, &finding)); i++) {
		finding_add(list, name, &finding);
		copy(answer, name, list);
	}
	if (!answer) {
		finding_set(&finding, FINDING_WARN, "", "backends are not checked: %s",
			    problem->msg);
		finding_add(list, BACKENDS, &finding);
	}
	json_array_foreach (list, n, entry) {
		ok = ok && strcmp(field_text(entry, "state"), "fail") != 0;
	}
	return json_pack("{s:o, s:b}", "checks", list, "ok", ok);
}

/* Returns {"checks": [{"check", "state", "text", "advice"}], "ok"}. */
static json_t *make_report(const struct doctor_input *daemon)
{
	struct doctor_input input = *daemon;
	struct installation installation;
	struct err problem = {""};
	json_t *answer, *report;

	installation_examine(input.over_socket ? input.host : NULL, &installation);
	if (input.over_socket)
		input.installation = &installation;
	answer = diagnose(&input, &installation, &problem);
	if (input.over_socket && json_is_object(json_object_get(answer, "config")))
		input.config = json_object_get(answer, "config");
	report = examine(&input, answer, &problem);
	json_decref(answer);
	return report;
}

static void print(const struct writer *writer, const json_t *finding)
{
	const char *state = field_text(finding, "state"), *advice = field_text(finding, "advice");
	enum writer_colour colour = strcmp(state, "ok") == 0	 ? WRITER_GREEN
				    : strcmp(state, "fail") == 0 ? WRITER_RED
								 : WRITER_YELLOW;

	fprintf(writer->out, "%s%-4s%s  ", writer_colour(writer, colour), state,
		writer_colour(writer, WRITER_PLAIN));
	writer_line(writer, "%-9s %s", field_text(finding, "check"), field_text(finding, "text"));
	if (advice[0])
		writer_line(writer, "%15s -> %s", "", advice);
}

static enum ctl_exit print_report(const struct ctl *ctl, json_t *report)
{
	enum ctl_exit done = field_true(report, "ok") ? CTL_DONE : CTL_FAILED;
	json_t *finding;
	size_t i;

	if (ctl->writer.json) {
		writer_json(&ctl->writer, report);
	} else {
		json_array_foreach (json_object_get(report, "checks"), i, finding) {
			print(&ctl->writer, finding);
		}
	}
	json_decref(report);
	return done;
}

/* Prints why the frames of one program are counted or not. */
static enum ctl_exit examine_program(struct ctl *ctl, pid_t pid)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct client_call call = {.method = "GET", .path = "/v1/vgpus"};
	struct err err = {.msg = ""};
	bool answered = ctl_try_request(ctl, &call, &reply, &err) == 0;
	json_t *list = json_array();
	struct counting_facts facts;
	struct finding finding;
	const char *cause;
	int r = counting_read(pid, answered ? reply.json : NULL, &facts, &err);

	if (r < 0) {
		json_decref(list);
		return ctl_fail(CTL_FAILED, "doctor: %s", err.msg);
	}
	finding_set(&finding, FINDING_OK, "", "process %d (%s), control group %s", (int)pid,
		    facts.name, facts.group);
	finding_add(list, "program", &finding);
	cause = counting_judge(&facts, &finding);
	finding_add(list, "frames", &finding);
	return print_report(ctl, json_pack("{s:o, s:b, s:s}", "checks", list, "ok",
					   finding.state == FINDING_OK, "cause", cause));
}

enum ctl_exit verb_doctor(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct client_call call = {.method = "GET", .path = "/v1/host"};
	const char *path = getenv("PATH");
	struct err err = {.msg = ""};
	char exe[PATH_MAX];
	struct doctor_input input = {
		.root = "",
		.search_path = path ? path : "/bin:/usr/bin",
		.exe = exe,
		.library = getenv("GOVER_FPS_LIB"),
		.layer = getenv("GOVER_CL_LIB"),
		.over_socket = !ctl->url,
		.no_answer = err.msg,
	};
	int r = ctl_open_client(ctl, &err);

	if (r < 0)
		return ctl_fail(ctl_exit_code(r), "%s", err.msg);
	if (args_has(args, OPTION_PID))
		return examine_program(ctl, (pid_t)args_get_number(args, OPTION_PID));
	program_own_path(exe);
	r = ctl_try_request(ctl, &call, &reply, &err);
	input.where = client_address(ctl->client);
	input.host = r == 0 ? reply.json : NULL;
	input.refused = r == CLIENT_REFUSED;
	return print_report(ctl, make_report(&input));
}
