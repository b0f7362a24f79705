/* SPDX-License-Identifier: MIT */
/* Replaces bpf.c in a build without libbpf. */
#include <errno.h>
#include <stddef.h>

#include "monitor/bpf/bpf.h"

int fps_bpf_new(struct fps_bpf **ret_bpf, struct err *reterr)
{
	*ret_bpf = NULL;
	return err_fail(reterr, EOPNOTSUPP,
			"gover-d was built without libbpf (rebuild with libbpf 1.0 or later, "
			"libelf and clang installed)");
}

struct fps_bpf *fps_bpf_free(struct fps_bpf *bpf)
{
	(void)bpf;
	return NULL;
}

int fps_bpf_watch(struct fps_bpf *bpf, const char *id, const char *folder)
{
	(void)bpf, (void)id, (void)folder;
	return -EOPNOTSUPP;
}

void fps_bpf_forget(struct fps_bpf *bpf, const char *id)
{
	(void)bpf, (void)id;
}

const struct fps_totals *fps_bpf_totals(struct fps_bpf *bpf, const char *id)
{
	(void)bpf, (void)id;
	return NULL;
}

bool fps_bpf_request_scan(struct fps_bpf *bpf)
{
	(void)bpf;
	return true;
}

void fps_bpf_stats(const struct fps_bpf *bpf, struct fps_bpf_stats *ret_stats)
{
	(void)bpf;
	*ret_stats = (struct fps_bpf_stats){0};
}
