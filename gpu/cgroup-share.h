/* SPDX-License-Identifier: MIT */
/*
 * The CPU weight of a control group as a share in percent. Among sibling groups with work, the
 * kernel divides CPU time in proportion to the weights. So a group gets at least its share if the
 * shares of all siblings together are at most 100 %. CPU time that a sibling does not use is
 * divided among the others in proportion to their shares. This is true for groups that compete for
 * the same cores.
 */
#ifndef GPU_CGROUP_SHARE_H
#define GPU_CGROUP_SHARE_H

#include "gpu/cgroup.h"

/* Sets the share, 1..100. Returns -EOPNOTSUPP if the group has no weight. */
int cgroup_write_share(const struct cgroup_files *files, int pct);

/*
 * Reads the share, rounded to 1..100. *ret_pct is 0 if the group has the weight of a new group:
 * no share is set, and its guarantee is about 1 %. Returns 1 if the weight is exactly that of a
 * share, 0 if it is not, and -EOPNOTSUPP if the group has no weight.
 */
int cgroup_read_share(const struct cgroup_files *files, int *ret_pct);

/* Gives the group the weight of a new group again. */
int cgroup_clear_share(const struct cgroup_files *files);

#endif
