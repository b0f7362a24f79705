/* SPDX-License-Identifier: MIT */
/* Opens and closes the GPUs of the configuration. */
#ifndef GOVER_D_CORE_GPUS_H
#define GOVER_D_CORE_GPUS_H

#include "gover-d/config/config.h"

/*
 * Opens the configured GPUs. In a dry run, the backends only read. A GPU that does not answer in
 * time remains in @host with open = false; gpus_retry_open() opens it later.
 */
int gpus_open(struct host *host, const struct config *config, bool dry_run, struct err *reterr);
/*
 * Opens the configured GPUs. Logs each GPU that cannot be opened; returns the number of these GPUs.
 */
int gpus_open_some(struct host *host, const struct config *config);
/* Frees all vGPUs and closes the GPUs. The caps stay in force. */
void gpus_close(struct host *host);
/*
 * Tries to open a GPU that is not open. Returns true if the GPU is open now; the caller must then
 * adopt its vGPUs.
 */
bool gpus_retry_open(struct host_gpu *gpu, struct instant now);
/*
 * With sharing = auto: makes caps hard limits while @paper_mode is true. Call this function in each
 * period; it does nothing unless @paper_mode has changed. After an error, the next call tries
 * again.
 */
void gpus_follow_paper_mode(struct host_gpu *gpu, bool paper_mode);
/*
 * Starts intel_gpu_top for an open GPU, if the configuration selects it. If the program cannot be
 * started, returns a negative errno, and gpus_dispatch_igt() tries again.
 */
int gpus_open_igt(struct host_gpu *gpu, const struct config *config, struct err *reterr);
/* Reads the output of intel_gpu_top. Call this function once a period. */
void gpus_dispatch_igt(struct host *host, struct instant now);

#endif
