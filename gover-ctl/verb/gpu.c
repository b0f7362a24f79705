/* SPDX-License-Identifier: MIT */
/*
 * The verbs `freeze`, `thaw` and `drain`, which stop or resume cap changes and sales on a GPU.
 */
#include "base/terminal/field.h"
#include "gover-ctl/verb/verbs.h"

struct change {
	const char *mode, *selling; /* values to set; NULL: unchanged */
	const char *done;	    /* message after success */
};

static enum ctl_exit change_one(struct ctl *ctl, const char *gpu, const struct change *change)
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
static enum ctl_exit change_all(struct ctl *ctl, const struct args *args,
				const struct change *change)
{
	CLEANUP_REPLY struct reply reply = {0};
	const json_t *gpus, *gpu;
	enum ctl_exit worst = CTL_DONE;
	size_t i;

	if (args->n_words > 0) {
		enum ctl_exit r = ctl_check_id("GPU", args->words[0]);

		return r == CTL_DONE ? change_one(ctl, args->words[0], change) : r;
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
		enum ctl_exit r = change_one(ctl, field_text(gpu, "name"), change);

		if (r > worst)
			worst = r;
	}
	return worst;
}

enum ctl_exit verb_gpu_freeze(struct ctl *ctl, const struct args *args)
{
	return change_all(ctl, args,
			  &(struct change){
				  .mode = "frozen",
				  .done = "frozen; caps do not change until `gover-ctl thaw`",
			  });
}

enum ctl_exit verb_gpu_thaw(struct ctl *ctl, const struct args *args)
{
	return change_all(ctl, args,
			  &(struct change){
				  .mode = "act",
				  .selling = "on",
				  .done = "thawed; caps change and vGPUs are sold again",
			  });
}

enum ctl_exit verb_gpu_drain(struct ctl *ctl, const struct args *args)
{
	return change_all(ctl, args,
			  &(struct change){
				  .selling = "off",
				  .done = "drained; no new vGPUs are sold until `gover-ctl thaw`",
			  });
}
