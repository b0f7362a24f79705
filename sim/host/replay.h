/* SPDX-License-Identifier: MIT */
/*
 * gover-sim replay: replays the load that a daemon has recorded, under other policies.
 * `gover-ctl simulate` writes the recording to standard input, as a sequence of JSON values. The
 * first one has the arguments and replies of the daemon:
 *   from, to	 the range
 *   policy	 policy of the trial; null: the policy in force
 *   set	 arguments of --set
 *   values	 the parameters in @set, with the types of those in force
 *   seed
 *   newcomers	 a workload, or "none" or "recorded"
 *   gpus	 the GPUs, as in GET /v1/gpus
 *   in_force, vgpus, economics    replies to GET /v1/policy, /v1/vgpus and /v1/economics
 * For each GPU follow the replies to GET /v1/gpus/NAME/history, up to one without next_from.
 */
#ifndef SIM_HOST_REPLAY_H
#define SIM_HOST_REPLAY_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Replays the recording and prints the comparison as tables or JSON. -errno with a message;
 * -EINVAL: an argument is invalid.
 */
int replay_run(bool json, struct err *reterr);

#endif
