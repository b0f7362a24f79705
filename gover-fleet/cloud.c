/* SPDX-License-Identifier: MIT */
/* Connects the parts of cloud/ with the configuration, the report and the claims. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-fleet/cloud.h"
#include "gover-fleet/cloud/placement.h"
#include "gover-fleet/cloud/publisher.h"

#define EVERY_MS 60000
#define VERSION	 "placement 1.36"

struct cloud {
	char address[FLEET_CONFIG_TEXT]; /* for reports */
	struct keystone *keystone;
	struct publisher *publisher;
	struct service *placement; /* for allocations */
	struct published seen;	   /* by the last cloud_publish(); empty if it failed */
};

#define COPY(to, from) snprintf(to, sizeof(to), "%s", from)

static int make_parts(const struct fleet_config *config, int limit_ms, struct cloud *cloud,
		      struct err *reterr)
{
	const struct service_config service = {"placement", "Placement", VERSION};
	const struct fleet_config_cloud *from = &config->cloud;
	int r = keystone_new(from, limit_ms, &cloud->keystone, reterr);

	if (r < 0)
		return r;
	COPY(cloud->address,
	     strcmp(from->auth, "none") == 0 ? from->placement_url : from->auth_url);
	cloud->placement = service_new(&service, cloud->keystone);
	return publisher_new(config->host, cloud->keystone, &cloud->publisher, reterr);
}

int cloud_new(const struct fleet_config *config, int limit_ms, struct cloud **ret_cloud,
	      struct err *reterr)
{
	struct cloud *cloud;
	int r;

	*ret_cloud = NULL;
	if (!fleet_config_has_cloud(config))
		return 0;
	cloud = xcalloc(1, sizeof(*cloud));
	r = make_parts(config, limit_ms, cloud, reterr);
	if (r < 0) {
		cloud_free(cloud);
		return r;
	}
	*ret_cloud = cloud;
	return 0;
}

struct cloud *cloud_free(struct cloud *cloud)
{
	if (!cloud)
		return NULL;
	service_free(cloud->placement);
	publisher_free(cloud->publisher);
	keystone_free(cloud->keystone);
	free(cloud);
	return NULL;
}

struct keystone *cloud_keystone(struct cloud *cloud)
{
	return cloud ? cloud->keystone : NULL;
}

/* --- publishing --- */

static void add_leak(const struct published_gpu *gpu, const struct published_class *class,
		     struct report *report)
{
	struct report_leak *leak = &report->leaks[report->n_leaks];

	if (class->used <= class->sold || report->n_leaks == REPORT_LEAKS_MAX)
		return;
	memcpy(leak->gpu, gpu->name, sizeof(leak->gpu));
	snprintf(leak->slot, sizeof(leak->slot), "%.*s", WANTED_CLASS_MAX - 1, class->name);
	leak->used = class->used;
	leak->sold = class->sold;
	report->n_leaks++;
}

/* A leak of a flavour also exceeds the common class, and is reported once. */
static void add_leaks(const struct published_gpu *gpu, struct report *report)
{
	size_t before = report->n_leaks;

	for (size_t i = 0; i < gpu->n_classes; i++)
		if (!wanted_is_common(gpu->classes[i].name))
			add_leak(gpu, &gpu->classes[i], report);
	for (size_t i = 0; i < gpu->n_classes && report->n_leaks == before; i++)
		if (wanted_is_common(gpu->classes[i].name))
			add_leak(gpu, &gpu->classes[i], report);
}

int cloud_publish(struct cloud *cloud, const struct wanted *wanted, struct report *report)
{
	struct err err = {""};
	int pause_ms, r;

	report->cloud = REPORT_WITHDRAWN;
	if (!cloud)
		return EVERY_MS;
	r = publisher_publish(cloud->publisher, wanted, &cloud->seen, &err);
	if (r != 0)
		cloud->seen.n_gpus = 0;
	report->cloud = r == 0			 ? REPORT_PUBLISHED
			: r == PUBLISHER_NO_ROOT ? REPORT_WAITING
						 : REPORT_UNREACHABLE;
	COPY(report->address, cloud->address);
	if (r != 0)
		snprintf(report->problem, sizeof(report->problem), "%.255s", err.msg);
	for (size_t i = 0; i < cloud->seen.n_gpus; i++)
		add_leaks(&cloud->seen.gpus[i], report);
	pause_ms = publisher_pause_ms(cloud->publisher);
	return pause_ms > 0 ? pause_ms : EVERY_MS;
}

int cloud_withdraw(struct cloud *cloud, struct err *reterr)
{
	int r = cloud ? publisher_withdraw(cloud->publisher, reterr) : 0;

	/* Without a provider of the host, nothing is offered. */
	return r == 0 || r == PUBLISHER_NO_ROOT ? 0 : -EIO;
}

/* --- allocations --- */

static const struct published_gpu *find_gpu(const struct cloud *cloud, const char *gpu)
{
	for (size_t i = 0; i < cloud->seen.n_gpus; i++)
		if (strcmp(cloud->seen.gpus[i].name, gpu) == 0)
			return &cloud->seen.gpus[i];
	return NULL;
}

int cloud_used(const struct cloud *cloud, const char *gpu, const char *slot)
{
	const struct published_gpu *seen = cloud ? find_gpu(cloud, gpu) : NULL;

	for (size_t i = 0; seen && i < seen->n_classes; i++)
		if (strcmp(seen->classes[i].name, slot) == 0)
			return seen->classes[i].used;
	return 0;
}

int cloud_consumers(struct cloud *cloud, const char *gpu, struct allocations *ret_consumers,
		    struct err *reterr)
{
	const struct published_gpu *seen = cloud ? find_gpu(cloud, gpu) : NULL;

	ret_consumers->n = 0;
	return seen ? allocation_read_consumers(cloud->placement, seen->uuid, ret_consumers, reterr)
		    : err_fail(reterr, ENOENT, "GPU %s: not published", gpu);
}

struct service *cloud_placement(struct cloud *cloud)
{
	return cloud ? cloud->placement : NULL;
}
