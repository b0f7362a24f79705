/* SPDX-License-Identifier: MIT */
/*
 * Converts caps to limits and shares, and back. A group without a share belongs to a GPU without
 * guarantees, because every share differs from the weight of a new group (gpu/cgroup.h).
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "gpu/softgpu-cap.h"

int softgpu_cap_floor(double gpu_cores)
{
	int pct = (int)ceil(CGROUP_CORES_MIN * 100 / gpu_cores - 1e-6);

	return pct > 1 ? pct : 1;
}

static int write_limit_pct(const struct cgroup_files *files, const struct softgpu_scale *scale,
			   int pct)
{
	struct cgroup_limit limit = cgroup_limit_for(scale->gpu_cores * pct / 100);

	return cgroup_write_limit(files, &limit);
}

/*
 * Reads the share of the GPU that the limit allows. *ret_pct is 0 if there is no limit. @ret_share
 * may be NULL.
 */
static int read_limit_pct(const struct cgroup_files *files, const struct softgpu_scale *scale,
			  double *ret_share, int *ret_pct)
{
	struct cgroup_limit limit;
	int r = files->version->read_limit(files, &limit), pct;
	double cores, share;

	if (r < 0)
		return r;
	cores = cgroup_limit_cores(&limit);
	share = cores == 0 || cores > scale->gpu_cores ? 1 : cores / scale->gpu_cores;
	pct = (int)lround(share * 100);
	if (ret_share)
		*ret_share = share;
	*ret_pct = cores == 0 ? 0 : pct > 1 ? pct : 1;
	return 0;
}

int softgpu_cap_write(const struct cgroup_files *files, const struct softgpu_scale *scale,
		      int cap_pct, int ceiling_pct)
{
	int limit_pct = cap_pct > ceiling_pct ? cap_pct : ceiling_pct, is_pct, r;

	if (cap_pct < softgpu_cap_floor(scale->gpu_cores) || cap_pct > 100)
		return -EINVAL;
	if (!scale->guarantees)
		return write_limit_pct(files, scale, cap_pct);
	r = read_limit_pct(files, scale, NULL, &is_pct);
	if (r == 0 && is_pct != limit_pct)
		r = write_limit_pct(files, scale, limit_pct);
	return r < 0 ? r : cgroup_write_share(files, cap_pct);
}

int softgpu_cap_read(const struct cgroup_files *files, const struct softgpu_scale *scale,
		     int ceiling_pct, double *ret_share, int *ret_cap_pct)
{
	int r = read_limit_pct(files, scale, ret_share, ret_cap_pct), pct;

	if (r < 0 || !scale->guarantees)
		return r;
	r = cgroup_read_share(files, &pct);
	if (r < 0)
		return r;
	/* A group with a limit and the weight of a new group is guaranteed about 1 %. */
	if (pct == 0 && *ret_cap_pct > 0)
		pct = 1;
	if (pct > 0 && (*ret_cap_pct == 0 || *ret_cap_pct == ceiling_pct || pct <= *ret_cap_pct)) {
		*ret_cap_pct = pct;
		*ret_share = pct / 100.0;
	}
	return 0;
}

int softgpu_cap_read_ceiling(const struct cgroup_files *files, const struct softgpu_scale *scale,
			     int *ret_ceiling_pct)
{
	int pct, r = read_limit_pct(files, scale, NULL, &pct);

	if (r == 0)
		*ret_ceiling_pct = pct == 0 ? 100 : pct;
	return r;
}

/*
 * Without guarantees, an operator may give a group any weight. It is not a share unless it is
 * exactly the weight of one (gpu/cgroup.c).
 */
static int convert_to_limit(const struct cgroup_files *files, const struct softgpu_scale *scale)
{
	int share_pct, limit_pct, r = cgroup_read_share(files, &share_pct);

	if (r <= 0)
		return r == -EOPNOTSUPP ? 0 : r;
	r = read_limit_pct(files, scale, NULL, &limit_pct);
	/* Write the limit first, so that a group is converted again after an interruption. */
	if (r == 0 && (limit_pct == 0 || share_pct < limit_pct))
		r = write_limit_pct(files, scale, share_pct);
	return r < 0 ? r : cgroup_clear_share(files);
}

static int convert_to_share(const struct cgroup_files *files, const struct softgpu_scale *scale)
{
	int share_pct, limit_pct, r = cgroup_read_share(files, &share_pct);

	if (r < 0 || share_pct > 0)
		return r < 0 ? r : 0;
	r = read_limit_pct(files, scale, NULL, &limit_pct);
	return r < 0 || limit_pct == 0 ? r : cgroup_write_share(files, limit_pct);
}

int softgpu_cap_convert(const struct cgroup_files *files, const struct softgpu_scale *scale)
{
	return scale->guarantees ? convert_to_share(files, scale) : convert_to_limit(files, scale);
}
