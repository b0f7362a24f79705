/* SPDX-License-Identifier: MIT */
/* Sets the sharing of a GPU as [gpu] sharing requests, when the GPU is opened and later. */
#include <errno.h>

#include "gpu/io-state.h"
#include "gpu/io.h"

static int try_one(const struct gpu_ops *ops, struct gpu *gpu, bool guarantee, bool by_default,
		   struct err *ret_why, struct err *reterr)
{
	struct err err = {""};
	int r = ops->set_sharing(gpu, guarantee, by_default, &err);

	if (r < 0)
		*reterr = err;
	else if (r > 0)
		*ret_why = err; /* the sharing in force matters more than an earlier reason */
	return r < 0 ? r : 0;
}

/* After any error of guarantee the sharing is hard, as in releases without guarantee. */
static int try_default(const struct gpu_ops *ops, struct gpu *gpu, bool paper_mode,
		       struct err *ret_why, struct err *reterr)
{
	int r;

	if (!ops->set_sharing) {
		(void)err_fail(ret_why, EOPNOTSUPP, "backend %s has only hard caps", ops->name);
		return 0;
	}
	if (paper_mode) {
		(void)err_fail(ret_why, EOPNOTSUPP,
			       "the caps of the paper are hard limits (paper_mode = on)");
		return try_one(ops, gpu, false, /* by_default= */ true, ret_why, reterr);
	}
	r = ops->set_sharing(gpu, true, /* by_default= */ true, ret_why);
	return r < 0 ? try_one(ops, gpu, false, /* by_default= */ true, ret_why, reterr) : 0;
}

int gpu_io_try_sharing(const struct gpu_ops *ops, struct gpu *gpu, const struct gpu_config *config,
		       bool paper_mode, struct err *ret_why, struct err *reterr)
{
	bool guarantee = gpu_wants_guarantees(config);

	ret_why->msg[0] = '\0';
	if (gpu_chooses_sharing(config))
		return try_default(ops, gpu, paper_mode, ret_why, reterr);
	if (ops->set_sharing)
		return try_one(ops, gpu, guarantee, /* by_default= */ false, ret_why, reterr);
	if (!guarantee)
		return 0;
	return err_fail(reterr, EOPNOTSUPP,
			"sharing = guarantee: backend %s has only hard caps (allowed: hard)",
			ops->name);
}

int gpu_io_run_sharing(struct gpu_io *io, struct call *call)
{
	struct err err = {""};
	int r = gpu_io_try_sharing(io->ops, io->gpu, &io->config, call->number[0] != 0, &call->err,
				   &err);

	if (r < 0)
		call->err = err;
	return r;
}

int gpu_io_choose_sharing(struct gpu_io *io, bool paper_mode, struct err *reterr)
{
	struct call call = {.kind = CALL_CHOOSE_SHARING, .number = {paper_mode}};
	int r = gpu_io_call(io, &call, reterr);

	if (r == 0)
		io->sharing_why = call.err;
	return r;
}

const char *gpu_io_sharing_why(const struct gpu_io *io)
{
	return io->sharing_why.msg;
}
