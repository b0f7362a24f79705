/* SPDX-License-Identifier: MIT */
/* Connects the parts of cloud/ with the configuration, the report and the claims. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-fleet/cloud.h"
#include "gover-fleet/cloud/allocation.h"
#include "gover-fleet/cloud/publisher.h"

#define EVERY_MS 60000
#define VERSION	 "placement 1.36"

struct cloud {
	char host[FLEET_CONFIG_TEXT];
	char address[FLEET_CONFIG_TEXT]; /* for reports */
	struct keystone *keystone;
	struct publisher *publisher;
	struct service *placement; /* for allocations */
	struct published seen;	   /* by the last cloud_publish(); empty if it failed */
};

static enum keystone_auth auth_of(const char *name)
{
	if (strcmp(name, "password") == 0)
		return KEYSTONE_PASSWORD;
	return strcmp(name, "none") == 0 ? KEYSTONE_NONE : KEYSTONE_APPLICATION_CREDENTIAL;
}

#define COPY(to, from) snprintf(to, sizeof(to), "%s", from)

static int make_keystone(const struct fleet_config *config, int limit_ms, struct cloud *cloud,
			 struct err *reterr)
{
	const struct fleet_config_cloud *from = &config->cloud;
	struct keystone_config keystone = {.auth = auth_of(from->auth), .timeout_ms = limit_ms};
	int r = 0;

	COPY(keystone.auth_url, from->auth_url);
	COPY(keystone.region, from->region);
	COPY(keystone.username, from->username);
	COPY(keystone.user_domain, from->user_domain);
	COPY(keystone.project, from->project);
	COPY(keystone.project_domain, from->project_domain);
	COPY(keystone.application_credential_id, from->application_credential_id);
	COPY(keystone.cacert, from->cacert);
	COPY(keystone.placement_url, from->placement_url);
	COPY(keystone.compute_url, from->compute_url);
	if (keystone.auth != KEYSTONE_NONE)
		r = fleet_config_secret_path(config, keystone.secret_file,
					     sizeof(keystone.secret_file), reterr);
	COPY(cloud->address, keystone.auth == KEYSTONE_NONE ? from->placement_url : from->auth_url);
	return r < 0 ? r : keystone_new(&keystone, &cloud->keystone, reterr);
}

static int make_parts(const struct fleet_config *config, struct cloud *cloud, struct err *reterr)
{
	const struct service_config service = {"placement", "Placement", VERSION};
	struct publisher_config publisher = PUBLISHER_CONFIG_DEFAULT;

	COPY(cloud->host, config->host);
	COPY(publisher.host, config->host);
	cloud->placement = service_new(&service, cloud->keystone);
	return publisher_new(&publisher, cloud->keystone, &cloud->publisher, reterr);
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
	r = make_keystone(config, limit_ms, cloud, reterr);
	if (r == 0)
		r = make_parts(config, cloud, reterr);
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

static enum report_cloud state_of(int result)
{
	if (result == 0)
		return REPORT_PUBLISHED;
	return result == PUBLISHER_NO_ROOT ? REPORT_WAITING : REPORT_UNREACHABLE;
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
	report->cloud = state_of(r);
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

int cloud_consumers(struct cloud *cloud, const char *gpu,
		    struct allocation_consumers *ret_consumers, struct err *reterr)
{
	const struct published_gpu *seen = cloud ? find_gpu(cloud, gpu) : NULL;

	ret_consumers->n = 0;
	return seen ? allocation_read_consumers(cloud->placement, seen->uuid, ret_consumers, reterr)
		    : err_fail(reterr, ENOENT, "GPU %s: not published", gpu);
}

static int find_allocation(void *userdata, const char *uuid, char ret_slot[WANTED_CLASS_MAX],
			   char ret_gpu[ID_MAX], struct err *reterr)
{
	struct cloud *cloud = userdata;

	return allocation_find(cloud->placement, cloud->host, uuid, ret_slot, ret_gpu, reterr);
}

struct claim_source cloud_source(struct cloud *cloud)
{
	return (struct claim_source){.find = cloud ? find_allocation : NULL, .userdata = cloud};
}
