/* SPDX-License-Identifier: MIT */
/*
 * The weight of a share of 1 % is chosen so that every whole percent is exact, and so that no share
 * has the weight of a new group: 1024 in version 1 (2..262144), 100 in version 2 (1..10000). The
 * multiples are unusual numbers, because such a weight marks a group of a GPU with guarantees.
 *
 * The table shows the shares of busy loops on one core that were read over 1 s (Linux 6.18, version
 * 1, other programs busy on the same core).
 *
 *	shares          got
 *	10, 30, 60 %    9.6..9.9, 29.6..29.8, 58.5..59.5 %
 *	10, 30 %        25.0..25.2, 74.4..75.0 %
 */
#include <errno.h>

#include "base/file.h"
#include "gpu/cgroup-share.h"

int cgroup_write_share(const struct cgroup_files *files, int pct)
{
	if (files->weight < 0)
		return -EOPNOTSUPP;
	if (pct < 1 || pct > 100)
		return -EINVAL;
	return file_pwrite_i64(files->weight, (int64_t)pct * files->version->weight_of_1_pct);
}

int cgroup_read_share(const struct cgroup_files *files, int *ret_pct)
{
	uint64_t weight, one = (uint64_t)files->version->weight_of_1_pct, pct;
	int r;

	if (files->weight < 0)
		return -EOPNOTSUPP;
	r = file_pread_u64(files->weight, &weight);
	if (r < 0)
		return r;
	if (weight == (uint64_t)files->version->default_weight) {
		*ret_pct = 0;
		return 0;
	}
	pct = weight / one + (weight % one >= (one + 1) / 2);
	*ret_pct = pct < 1 ? 1 : pct > 100 ? 100 : (int)pct;
	return (uint64_t)*ret_pct * one == weight;
}

int cgroup_clear_share(const struct cgroup_files *files)
{
	if (files->weight < 0)
		return -EOPNOTSUPP;
	return file_pwrite_i64(files->weight, files->version->default_weight);
}
