/* SPDX-License-Identifier: MIT */
/*
 * `run`: runs a program of this host in a vGPU, and sets the environment for counting and limiting
 * its frames, or for submitting its work in turns if the GPU has an arbiter. Errors that do not
 * depend on the vGPU are found before the vGPU is created. The program never runs outside its vGPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/terminal/field.h"
#include "base/xalloc.h"
#include "gover-ctl/shared/contract-args.h"
#include "gover-ctl/shared/program.h"
#include "gover-ctl/verb/launch.h"

/* --- steps that do not depend on the daemon --- */

int launch_make_list(const char *library, const char *before, char *ret_value, size_t size)
{
	bool more = before && before[0];
	int n = snprintf(ret_value, size, "%s%s%s", library, more ? ":" : "", more ? before : "");

	return n < (int)size ? 0 : -ENAMETOOLONG;
}

double launch_choose_fps_max(double target_fps)
{
	if (!(target_fps > 0))
		return 0;
	return target_fps + (target_fps > 100 ? target_fps / 100 : 1);
}

static int enter_one(const char *path, long pid, struct err *reterr)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	const char *advice = "";
	char text[24];
	int n = snprintf(text, sizeof(text), "%ld\n", pid);
	int r;

	if (fd >= 0 && write(fd, text, (size_t)n) == n)
		return 0;
	r = errno;
	if (r == EACCES || r == EPERM)
		advice = " (only root or the owner of the control group may do this)";
	return err_fail(reterr, r, "%s: %s%s", path, strerror(r), advice);
}

int launch_enter_vgpu(const json_t *vgpu, long pid, struct err *reterr)
{
	const json_t *attach = json_object_get(vgpu, "attach"), *place;
	const json_t *places = json_object_get(attach, "cgroup_procs");
	size_t i;

	if (json_array_size(places) == 0)
		return err_fail(
			reterr, EOPNOTSUPP,
			"vGPU '%s': the backend of GPU '%s' cannot run programs of this host",
			field_text(vgpu, "id"), field_text(vgpu, "gpu"));
	json_array_foreach (places, i, place) {
		const char *path = json_string_value(place);
		int r = path ? enter_one(path, pid, reterr)
			     : err_fail(reterr, EPROTO, "attach.cgroup_procs: not a path");

		if (r < 0)
			return r;
	}
	return 0;
}

/* --- the verb --- */

#define LIST_MAX (4 * PATH_MAX)

struct plan {
	char preload[LIST_MAX]; /* LD_PRELOAD */
	char layers[LIST_MAX];	/* OPENCL_LAYERS */
	struct reply vgpu;
	const char *arbiter; /* socket of the arbiter; "": the GPU has none */
	bool created;	     /* true: this run created the vGPU */
};

/* Makes the value of the variable that makes the program load @library. */
static enum ctl_exit plan_library(const struct program_library *library, char ret_list[LIST_MAX])
{
	char exe[PATH_MAX], path[PATH_MAX];
	struct err err;

	program_own_path(exe);
	if (program_find_library(library, getenv(library->override), exe, path, &err) < 0)
		return ctl_fail(CTL_FAILED, "run: %s", err.msg);
	if (launch_make_list(path, getenv(library->list), ret_list, LIST_MAX) < 0)
		return ctl_fail(CTL_FAILED, "run: %s: too long (limit %d characters)",
				library->list, LIST_MAX);
	return CTL_DONE;
}

static enum ctl_exit refuse_command(const char *command, int error)
{
	return ctl_fail(error == ENOENT ? CTL_NOT_FOUND : CTL_NOT_EXECUTABLE, "run: %s: %s",
			command, error == ENOENT ? "no such program" : strerror(error));
}

static enum ctl_exit create_vgpu(struct ctl *ctl, const struct args *args, struct plan *plan)
{
	json_t *body = contract_args_make_vgpu(args, args->values[OPTION_VGPU]);
	enum ctl_exit r = ctl_request(ctl, "POST", body, &plan->vgpu, "/v1/vgpus");

	json_decref(body);
	plan->created = r == CTL_DONE;
	return r;
}

/*
 * Finds the vGPU and checks that its contract agrees with the options. If the vGPU does not exist,
 * creates it (with --cap) or fails.
 */
static enum ctl_exit plan_vgpu(struct ctl *ctl, const struct args *args, struct plan *plan)
{
	const char *id = args->values[OPTION_VGPU];
	char path[CLIENT_PATH_MAX], differs[ERR_MSG_MAX];
	struct client_call call = {.method = "GET", .path = path};
	enum ctl_exit ok = ctl_check_id("vGPU", id);
	struct err err;
	int r;

	if (ok != CTL_DONE)
		return ok;
	snprintf(path, sizeof(path), "/v1/vgpus/%s", id);
	r = ctl_try_request(ctl, &call, &plan->vgpu, &err);
	if (r == CLIENT_REFUSED && plan->vgpu.status == 404) {
		reply_fini(&plan->vgpu);
		if (args_has(args, OPTION_RUN_CAP))
			return create_vgpu(ctl, args, plan);
		return ctl_fail(CTL_FAILED,
				"run: vGPU '%s' does not exist; use --cap PCT to create it", id);
	}
	if (r != 0)
		return ctl_fail_request(ctl, r, &plan->vgpu, &err);
	if (contract_args_list_differences(args, plan->vgpu.json, differs, sizeof(differs)) > 0)
		return ctl_fail(CTL_FAILED,
				"run: vGPU '%s' has a different contract: %s; omit the option, or "
				"change the contract with `gover-ctl vgpu set`",
				id, differs);
	return CTL_DONE;
}

/* The arbiter counts work units, and nothing limits frames. */
static enum ctl_exit plan_arbiter(const struct args *args, struct plan *plan)
{
	const json_t *attach = json_object_get(plan->vgpu.json, "attach");

	plan->arbiter = field_text(attach, "compute_socket");
	if (plan->arbiter[0] == '\0')
		return CTL_DONE;
	if (args_has(args, OPTION_FPS_MAX))
		return ctl_fail(CTL_FAILED,
				"run: --fps-max: not available on GPU '%s', whose "
				"programs deliver work units instead of frames",
				field_text(plan->vgpu.json, "gpu"));
	return plan_library(&program_library_cl, plan->layers);
}

/* Removes the vGPU if this run created it. */
static void remove_vgpu(struct ctl *ctl, const struct plan *plan)
{
	CLEANUP_REPLY struct reply reply = {0};

	if (plan->created)
		(void)ctl_request(ctl, "DELETE", NULL, &reply, "/v1/vgpus/%s",
				  field_text(plan->vgpu.json, "id"));
}

static void set_variable(const char *name, const char *value)
{
	if (setenv(name, value, 1) < 0)
		xalloc_fail(0);
}

static void set_frame_limit(const struct args *args, const json_t *vgpu)
{
	double limit = args_has(args, OPTION_FPS_MAX)
			       ? args_get_number(args, OPTION_FPS_MAX)
			       : launch_choose_fps_max(field_number(vgpu, "target_fps"));
	char text[32];

	/*
	 * GOVER_FPS_MAX may be inherited. --fps-max 0 removes it. Without --fps-max and without a
	 * target, it is kept.
	 */
	snprintf(text, sizeof(text), "%.10g", limit);
	if (limit > 0)
		set_variable("GOVER_FPS_MAX", text);
	else if (args_has(args, OPTION_FPS_MAX))
		(void)unsetenv("GOVER_FPS_MAX");
}

static void set_compute_environment(const struct plan *plan)
{
	char socket[PATH_MAX];

	snprintf(socket, sizeof(socket), "unix:%s", plan->arbiter);
	set_variable("OPENCL_LAYERS", plan->layers);
	set_variable("GOVER_CL", socket);
}

static void set_environment(const struct args *args, const struct plan *plan)
{
	const json_t *vgpu = plan->vgpu.json;
	const char *socket = field_text(json_object_get(vgpu, "attach"), "fps_socket");
	char report[PATH_MAX + 8];

	if (plan->arbiter[0]) {
		set_compute_environment(plan);
		return;
	}
	snprintf(report, sizeof(report), "%s%s", socket[0] ? "unix:" : "off", socket);
	set_variable("LD_PRELOAD", plan->preload);
	set_variable("GOVER_FPS", report);
	set_variable("GOVER_FPS_LAYER", "1");
	set_frame_limit(args, vgpu);
}

static enum ctl_exit execute(struct ctl *ctl, const struct args *args, const struct plan *plan)
{
	struct err err;

	if (launch_enter_vgpu(plan->vgpu.json, getpid(), &err) < 0) {
		remove_vgpu(ctl, plan);
		return ctl_fail(CTL_FAILED, "run: %s", err.msg);
	}
	set_environment(args, plan);
	ctl->client = client_free(ctl->client); /* the program must not inherit the connection */
	fflush(NULL);
	execvp(args->words[0], args->words);
	return refuse_command(args->words[0], errno);
}

enum ctl_exit verb_run(struct ctl *ctl, const struct args *args)
{
	struct plan plan = {0};
	const char *path = getenv("PATH");
	int found = file_find_command(args->words[0], path ? path : "/bin:/usr/bin");
	enum ctl_exit r;

	if (found < 0)
		return refuse_command(args->words[0], -found);
	r = plan_library(&program_library_fps, plan.preload);
	if (r == CTL_DONE)
		r = plan_vgpu(ctl, args, &plan);
	if (r == CTL_DONE) {
		r = plan_arbiter(args, &plan);
		if (r != CTL_DONE)
			remove_vgpu(ctl, &plan);
	}
	if (r == CTL_DONE)
		r = execute(ctl, args, &plan);
	reply_fini(&plan.vgpu);
	return r;
}
