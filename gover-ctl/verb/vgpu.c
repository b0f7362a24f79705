/* SPDX-License-Identifier: MIT */
/* The verbs `vgpu ...`, and `freeze`, `thaw` and `drain` of GPUs. */
#include "base/terminal/field.h"
#include "gover-ctl/shared/contract-args.h"
#include "gover-ctl/shared/describe.h"
#include "gover-ctl/shared/tables.h"
#include "gover-ctl/verb/vgpu.h"

/* Sends @body and prints the vGPU in the reply. Frees @body. */
static enum ctl_exit change(struct ctl *ctl, const char *method, const char *path, json_t *body,
			    const char *done)
{
	CLEANUP_REPLY struct reply reply = {0};
	char text[DESCRIBE_MAX];
	enum ctl_exit r;

	r = ctl_request(ctl, method, body, &reply, "%s", path);
	json_decref(body);
	if (r != CTL_DONE)
		return r;
	describe_vgpu(reply.json, text);
	writer_result(&ctl->writer, &reply, "%s %s", done, text);
	return CTL_DONE;
}

static enum ctl_exit vgpu_path(const char *id, char path[CLIENT_PATH_MAX])
{
	enum ctl_exit r = ctl_check_id("vGPU", id);

	if (r == CTL_DONE)
		snprintf(path, CLIENT_PATH_MAX, "/v1/vgpus/%s", id);
	return r;
}

enum ctl_exit verb_vgpu_list(struct ctl *ctl, const struct args *args)
{
	const char *gpu = args->values[OPTION_ON_GPU];
	enum ctl_exit r = gpu ? ctl_check_id("GPU", gpu) : CTL_DONE;

	return r != CTL_DONE ? r
			     : listing_run(ctl, args, &table_vgpus, "/v1/vgpus%s%s",
					   gpu ? "?gpu=" : "", gpu ? gpu : "");
}

enum ctl_exit verb_vgpu_show(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	enum ctl_exit r = vgpu_path(args->words[0], path);

	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &reply, "%s", path);
	if (r != CTL_DONE)
		return r;
	if (ctl->writer.json)
		writer_reply(&ctl->writer, &reply);
	else
		writer_record(&ctl->writer, table_vgpu.columns, table_vgpu.n_columns, reply.json);
	return CTL_DONE;
}

enum ctl_exit verb_vgpu_add(struct ctl *ctl, const struct args *args)
{
	enum ctl_exit r = ctl_check_id("vGPU", args->words[0]);

	if (r == CTL_DONE && !args_has(args, OPTION_INITIAL_CAP) && !args_has(args, OPTION_FLAVOR))
		r = ctl_fail(CTL_USAGE, "vgpu add: --cap PCT or --flavor NAME required");
	if (r != CTL_DONE)
		return r;
	return change(ctl, "POST", "/v1/vgpus", contract_args_make_vgpu(args, args->words[0]),
		      "added:");
}

/*
 * Adds all labels to @body: the present labels of the vGPU, changed by the options. A PATCH with
 * only the changed labels would remove the other labels.
 */
static enum ctl_exit put_labels(struct ctl *ctl, const struct args *args, const char *path,
				json_t *body)
{
	CLEANUP_REPLY struct reply reply = {0};
	json_t *labels;
	enum ctl_exit r;

	if (args->n_labels == 0)
		return CTL_DONE;
	r = ctl_request(ctl, "GET", NULL, &reply, "%s", path);
	if (r != CTL_DONE)
		return r;
	labels = json_object_get(reply.json, "labels");
	contract_args_merge_labels(args, labels);
	(void)json_object_set(body, "labels", labels);
	return CTL_DONE;
}

enum ctl_exit verb_vgpu_set(struct ctl *ctl, const struct args *args)
{
	char path[CLIENT_PATH_MAX];
	enum ctl_exit r = vgpu_path(args->words[0], path);
	json_t *body;

	if (r != CTL_DONE)
		return r;
	if (args_has(args, OPTION_INITIAL_CAP) && args_has(args, OPTION_CAP_ALIAS))
		return ctl_fail(CTL_USAGE,
				"vgpu set: --cap and --initial-cap are the same option; use one");
	if (args_has(args, OPTION_BURST) && args_has(args, OPTION_NO_BURST))
		return ctl_fail(CTL_USAGE,
				"vgpu set: --burst and --no-burst are mutually exclusive");
	body = contract_args_make_body(args);
	if (json_object_size(body) == 0 && args->n_labels == 0) {
		json_decref(body);
		return ctl_fail(CTL_USAGE, "vgpu set %s: nothing to change (no option given)",
				args->words[0]);
	}
	r = put_labels(ctl, args, path, body);
	if (r == CTL_DONE)
		return change(ctl, "PATCH", path, body, "changed:");
	json_decref(body);
	return r;
}

enum ctl_exit verb_vgpu_remove(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	enum ctl_exit r = vgpu_path(args->words[0], path);

	if (r == CTL_DONE)
		r = ctl_request(ctl, "DELETE", NULL, &reply, "%s", path);
	if (r == CTL_DONE && !ctl->writer.json)
		writer_line(&ctl->writer, "removed: %s", args->words[0]);
	return r;
}

enum ctl_exit verb_vgpu_hold(struct ctl *ctl, const struct args *args)
{
	char path[CLIENT_PATH_MAX];
	enum ctl_exit r = vgpu_path(args->words[0], path);
	json_t *body;

	if (r != CTL_DONE)
		return r;
	body = json_pack("{s:b}", "held", 1);
	if (args_has(args, OPTION_HOLD_CAP))
		(void)json_object_set_new(
			body, "held_cap_pct",
			json_integer((json_int_t)args_get_number(args, OPTION_HOLD_CAP)));
	return change(ctl, "PATCH", path, body, "held:");
}

enum ctl_exit verb_vgpu_release(struct ctl *ctl, const struct args *args)
{
	char path[CLIENT_PATH_MAX];
	enum ctl_exit r = vgpu_path(args->words[0], path);

	return r == CTL_DONE
		       ? change(ctl, "PATCH", path, json_pack("{s:b}", "held", 0), "released:")
		       : r;
}

/* --- stopping and resuming cap changes and sales on a GPU --- */

struct gpu_change {
	const char *mode, *selling; /* values to set; NULL: unchanged */
	const char *done;	    /* message after success */
};

static enum ctl_exit change_gpu(struct ctl *ctl, const char *gpu, const struct gpu_change *change)
{
	CLEANUP_REPLY struct reply reply = {0};
	json_t *body = json_pack("{s:s*, s:s*}", "mode", change->mode, "selling", change->selling);
	enum ctl_exit r;

	r = ctl_request(ctl, "PATCH", body, &reply, "/v1/gpus/%s", gpu);
	json_decref(body);
	if (r == CTL_DONE)
		writer_result(&ctl->writer, &reply, "%s: %s", gpu, change->done);
	return r;
}

/* Changes the named GPU, or all GPUs. Continues after a failure. Returns the highest exit code. */
static enum ctl_exit change_gpus(struct ctl *ctl, const struct args *args,
				 const struct gpu_change *change)
{
	CLEANUP_REPLY struct reply reply = {0};
	const json_t *gpus, *gpu;
	enum ctl_exit worst = CTL_DONE;
	size_t i;

	if (args->n_words > 0) {
		enum ctl_exit r = ctl_check_id("GPU", args->words[0]);

		return r == CTL_DONE ? change_gpu(ctl, args->words[0], change) : r;
	}
	worst = ctl_request(ctl, "GET", NULL, &reply, "/v1/gpus");
	if (worst != CTL_DONE)
		return worst;
	gpus = json_object_get(reply.json, "gpus");
	if (json_array_size(gpus) == 0)
		return ctl_fail(CTL_FAILED,
				"gover-d at %s controls no GPU (see `gover-ctl doctor`)",
				client_address(ctl->client));
	json_array_foreach (gpus, i, gpu) {
		enum ctl_exit r = change_gpu(ctl, field_text(gpu, "name"), change);

		if (r > worst)
			worst = r;
	}
	return worst;
}

enum ctl_exit verb_gpu_freeze(struct ctl *ctl, const struct args *args)
{
	return change_gpus(ctl, args,
			   &(struct gpu_change){
				   .mode = "frozen",
				   .done = "frozen; caps do not change until `gover-ctl thaw`",
			   });
}

enum ctl_exit verb_gpu_thaw(struct ctl *ctl, const struct args *args)
{
	return change_gpus(ctl, args,
			   &(struct gpu_change){
				   .mode = "act",
				   .selling = "on",
				   .done = "thawed; caps change and vGPUs are sold again",
			   });
}

enum ctl_exit verb_gpu_drain(struct ctl *ctl, const struct args *args)
{
	return change_gpus(ctl, args,
			   &(struct gpu_change){
				   .selling = "off",
				   .done = "drained; no new vGPUs are sold until `gover-ctl thaw`",
			   });
}
