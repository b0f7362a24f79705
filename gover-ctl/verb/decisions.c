/* SPDX-License-Identifier: MIT */
/* The verb `decisions`. */
#include "gover-ctl/verb/listing.h"
#include "gover-ctl/verb/verbs.h"

enum ctl_exit verb_decisions(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	const char *after = args->values[OPTION_AFTER], *limit = args->values[OPTION_LIMIT];
	const char *vgpu = args->values[OPTION_VGPU];
	struct listing listing;
	enum ctl_exit r = listing_open(&listing, args, &table_decisions);

	if (r == CTL_DONE && vgpu)
		r = ctl_check_id("vGPU", vgpu);
	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &reply, "/v1/decisions?limit=%s%s%s%s%s",
				limit ? limit : "100", after ? "&after=" : "", after ? after : "",
				vgpu ? "&vgpu=" : "", vgpu ? vgpu : "");
	return r == CTL_DONE ? listing_print(&listing, &ctl->writer, &reply) : r;
}
