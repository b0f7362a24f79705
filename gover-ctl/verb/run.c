/* SPDX-License-Identifier: MIT */
/*
 * `run`: a program of this host in a vGPU, its frames counted and paced. What can be refused is
 * refused before a vGPU is made; must never run the program outside its vGPU.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "gover-ctl/field.h"
#include "gover-ctl/verb/launch.h"
#include "gover-ctl/verb/contract-args.h"
#include "gover-ctl/verb/verbs.h"

#define PRELOAD_MAX (4 * PATH_MAX)

struct plan {
	char preload[PRELOAD_MAX];
	struct reply vgpu;
	bool made; /* by this run */
};

static enum ctl_exit plan_library(struct plan *plan)
{
	char exe[PATH_MAX], library[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct err err;

	exe[n > 0 ? n : 0] = '\0';
	if (launch_find_library(getenv("GOVER_FPS_LIB"), exe, library, &err) < 0)
		return ctl_fail(CTL_FAILED, "run: %s", err.msg);
	if (launch_make_preload(library, getenv("LD_PRELOAD"), plan->preload,
				sizeof(plan->preload)) < 0)
		return ctl_fail(CTL_FAILED, "run: LD_PRELOAD is longer than %d characters",
				PRELOAD_MAX);
	return CTL_DONE;
}

static enum ctl_exit refuse_command(const char *command, int error)
{
	return ctl_fail(error == ENOENT ? CTL_NOT_FOUND : CTL_NOT_EXECUTABLE, "run: %s: %s",
			command, error == ENOENT ? "no such program" : strerror(error));
}

static enum ctl_exit make_vgpu(struct ctl *ctl, const struct args *args, struct plan *plan)
{
	json_t *body = contract_args_make_body(args), *labels = json_object();
	enum ctl_exit r;

	if (contract_args_merge_labels(args, labels) < 0 ||
	    json_object_set_new(body, "id", json_string(args->values[OPTION_VGPU])) < 0 ||
	    json_object_set(body, "labels", labels) < 0)
		r = ctl_fail(CTL_FAILED, "out of memory");
	else
		r = ctl_request(ctl, "POST", body, &plan->vgpu, "/v1/vgpus");
	json_decref(labels);
	json_decref(body);
	plan->made = r == CTL_DONE;
	return r;
}

/* The vGPU that is there, if its contract is the one asked for; else a new one. */
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
		if (args_has(args, OPTION_RUN_CAP))
			return make_vgpu(ctl, args, plan);
		return ctl_fail(CTL_FAILED,
				"run: there is no vGPU '%s' yet: --cap PCT says how much "
				"is sold to it",
				id);
	}
	if (r != 0)
		return ctl_fail(ctl_exit_code(r), "%s", err.msg);
	if (contract_args_list_differences(args, plan->vgpu.json, differs, sizeof(differs)) > 0)
		return ctl_fail(CTL_FAILED,
				"run: vGPU '%s' has another contract: %s. Leave the option "
				"out, or change it with `gover-ctl vgpu set`",
				id, differs);
	return CTL_DONE;
}

/* Takes back what this run has made for nothing. */
static void unmake_vgpu(struct ctl *ctl, const struct plan *plan)
{
	CLEANUP_REPLY struct reply reply = {0};

	if (plan->made)
		(void)ctl_request(ctl, "DELETE", NULL, &reply, "/v1/vgpus/%s",
				  field_text(plan->vgpu.json, "id"));
}

static int put_pace(const struct args *args, const json_t *vgpu)
{
	double pace = args_has(args, OPTION_FPS_MAX)
			      ? args_get_number(args, OPTION_FPS_MAX)
			      : launch_choose_fps_max(field_number(vgpu, "target_fps"));
	char text[32];

	if (pace > 0) {
		snprintf(text, sizeof(text), "%.10g", pace);
		return setenv("GOVER_FPS_MAX", text, 1);
	}
	/* Told 0, unpaced; not told and nothing promised, as the caller has it. */
	return args_has(args, OPTION_FPS_MAX) ? unsetenv("GOVER_FPS_MAX") : 0;
}

static int put_environment(const struct args *args, const struct plan *plan)
{
	const json_t *vgpu = plan->vgpu.json;
	const char *socket = field_text(json_object_get(vgpu, "attach"), "fps_socket");
	char report[PATH_MAX + 8];

	snprintf(report, sizeof(report), "%s%s", socket[0] ? "unix:" : "off", socket);
	if (setenv("LD_PRELOAD", plan->preload, 1) < 0 || setenv("GOVER_FPS", report, 1) < 0 ||
	    setenv("GOVER_FPS_LAYER", "1", 1) < 0)
		return -errno;
	return put_pace(args, vgpu) < 0 ? -errno : 0;
}

static enum ctl_exit carry_out(struct ctl *ctl, const struct args *args, const struct plan *plan)
{
	struct err err;

	if (launch_enter_vgpu(plan->vgpu.json, getpid(), &err) < 0) {
		unmake_vgpu(ctl, plan);
		return ctl_fail(CTL_FAILED, "run: %s", err.msg);
	}
	if (put_environment(args, plan) < 0)
		return ctl_fail(CTL_FAILED, "run: out of memory");
	ctl->client = client_free(ctl->client); /* the program inherits no connection */
	fflush(NULL);
	execvp(args->words[0], args->words);
	return refuse_command(args->words[0], errno);
}

enum ctl_exit verb_run(struct ctl *ctl, const struct args *args)
{
	struct plan plan = {0};
	const char *path = getenv("PATH");
	int found = launch_find_command(args->words[0], path ? path : "/bin:/usr/bin");
	enum ctl_exit r;

	if (found < 0)
		return refuse_command(args->words[0], -found);
	r = plan_library(&plan);
	if (r == CTL_DONE)
		r = plan_vgpu(ctl, args, &plan);
	if (r == CTL_DONE)
		r = carry_out(ctl, args, &plan);
	reply_fini(&plan.vgpu);
	return r;
}
