/* SPDX-License-Identifier: MIT */
/* Opens and closes the GPUs of the configuration. */
#ifndef GOVER_D_CAP_GPUS_H
#define GOVER_D_CAP_GPUS_H

#include "gover-d/config/config.h"
#include "gover-d/store/contracts.h"

/*
 * Opens the configured GPUs. In a dry run, the backends only read. A GPU that does not answer in
 * time, or that cannot be opened, for example because its driver is not loaded yet, remains in
 * @host with open = false; gpus_retry_open() opens it later. Returns an error only if the
 * configuration cannot be right: a value is not possible with this GPU. A GPU that backend = auto
 * does not find is absent, unless it is in @known: it is not a GPU of the host until
 * gpus_find_absent() finds it.
 */
int gpus_open(struct host *host, const struct config *config, const struct contracts *known,
	      bool dry_run, struct err *reterr);
/*
 * Opens the configured GPUs. Logs each GPU that cannot be opened; returns the number of these GPUs.
 * @known: see gpus_open().
 */
int gpus_open_some(struct host *host, const struct config *config, const struct contracts *known);
/* Frees all vGPUs and closes the GPUs. The caps stay in force. */
void gpus_close(struct host *host);
/*
 * Tries to open a GPU that is not open, with the delays of base/backoff.h. Returns true if this
 * call has opened the GPU; the caller must then adopt its vGPUs.
 */
bool gpus_retry_open(struct host_gpu *gpu, struct instant now);
/*
 * Tries to open an absent GPU, as gpus_retry_open() does. Returns a GPU that is open now and the
 * last one of the host, or NULL. No other GPU moves.
 */
struct host_gpu *gpus_find_absent(struct host *host, struct instant now);
/*
 * Writes why the busy times of a GPU are unknown or incomplete, in the words of their source; "" if
 * they are complete.
 */
void gpus_describe_problem(const struct host_gpu *gpu, int period_ms, struct instant now,
			   char ret_text[ERR_MSG_MAX]);
/*
 * With sharing = auto: makes caps hard limits while @paper_mode is true. Call this function in each
 * period in which @paper_mode differs from gpu->paper_mode, as it still does after an error.
 */
void gpus_follow_paper_mode(struct host_gpu *gpu, bool paper_mode);
/*
 * Starts intel_gpu_top for an open GPU, if the configuration selects it. If the program cannot be
 * started, this is logged, and gpus_dispatch_igt() tries again.
 */
void gpus_open_igt(struct host_gpu *gpu, const struct config *config);
/* Reads the output of intel_gpu_top, which gpu->igt reads. Call this function once a period. */
void gpus_dispatch_igt(struct host_gpu *gpu, struct instant now);

#endif
