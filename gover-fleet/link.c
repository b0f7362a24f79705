/* SPDX-License-Identifier: MIT */
/* Connects the parts of cloud/ with the configuration, the report and the claims. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gover-fleet/cloud/allocation.h"
#include "gover-fleet/cloud/publisher.h"
#include "gover-fleet/link.h"

#define EVERY_MS 60000
#define VERSION	 "placement 1.36"

struct link {
	char host[FLEET_CONFIG_TEXT];
	char address[FLEET_CONFIG_TEXT]; /* for reports */
	struct keystone *keystone;
	struct publisher *publisher;
	struct service *placement; /* for allocations */
	struct published seen;	   /* by the last link_publish(); empty if it failed */
};

static enum keystone_auth auth_of(const char *name)
{
	if (strcmp(name, "password") == 0)
		return KEYSTONE_PASSWORD;
	return strcmp(name, "none") == 0 ? KEYSTONE_NONE : KEYSTONE_APPLICATION_CREDENTIAL;
}

#define COPY(to, from) snprintf(to, sizeof(to), "%s", from)

static int make_keystone(const struct fleet_config *config, int limit_ms, struct link *link,
			 struct err *reterr)
{
	const struct fleet_config_cloud *cloud = &config->cloud;
	struct keystone_config keystone = {.auth = auth_of(cloud->auth), .timeout_ms = limit_ms};
	int r = 0;

	COPY(keystone.auth_url, cloud->auth_url);
	COPY(keystone.region, cloud->region);
	COPY(keystone.username, cloud->username);
	COPY(keystone.user_domain, cloud->user_domain);
	COPY(keystone.project, cloud->project);
	COPY(keystone.project_domain, cloud->project_domain);
	COPY(keystone.application_credential_id, cloud->application_credential_id);
	COPY(keystone.cacert, cloud->cacert);
	COPY(keystone.placement_url, cloud->placement_url);
	if (keystone.auth != KEYSTONE_NONE)
		r = fleet_config_secret_path(config, keystone.secret_file,
					     sizeof(keystone.secret_file), reterr);
	COPY(link->address,
	     keystone.auth == KEYSTONE_NONE ? cloud->placement_url : cloud->auth_url);
	return r < 0 ? r : keystone_new(&keystone, &link->keystone, reterr);
}

static int make_parts(const struct fleet_config *config, struct link *link, struct err *reterr)
{
	const struct service_config service = {"placement", "Placement", VERSION};
	struct publisher_config publisher = PUBLISHER_CONFIG_DEFAULT;
	int r;

	COPY(link->host, config->host);
	COPY(publisher.host, config->host);
	r = publisher_new(&publisher, link->keystone, &link->publisher, reterr);
	return r < 0 ? r : service_new(&service, link->keystone, &link->placement, reterr);
}

int link_new(const struct fleet_config *config, int limit_ms, struct link **ret_link,
	     struct err *reterr)
{
	struct link *link;
	int r;

	*ret_link = NULL;
	if (!fleet_config_has_cloud(config))
		return 0;
	link = calloc(1, sizeof(*link));
	if (!link)
		return err_fail(reterr, ENOMEM, "out of memory");
	r = make_keystone(config, limit_ms, link, reterr);
	if (r == 0)
		r = make_parts(config, link, reterr);
	if (r < 0) {
		link_free(link);
		return r;
	}
	*ret_link = link;
	return 0;
}

struct link *link_free(struct link *link)
{
	if (!link)
		return NULL;
	service_free(link->placement);
	publisher_free(link->publisher);
	keystone_free(link->keystone);
	free(link);
	return NULL;
}

struct keystone *link_keystone(struct link *link)
{
	return link ? link->keystone : NULL;
}

/* --- publishing --- */

static void add_leaks(const struct published_gpu *gpu, struct report *report)
{
	for (size_t i = 0; i < gpu->n_classes; i++) {
		const struct published_class *class = &gpu->classes[i];
		struct report_leak *leak = &report->leaks[report->n_leaks];

		if (class->used <= class->sold || report->n_leaks == REPORT_LEAKS_MAX)
			continue;
		memcpy(leak->gpu, gpu->name, sizeof(leak->gpu));
		snprintf(leak->slot, sizeof(leak->slot), "%.*s", WANTED_CLASS_MAX - 1, class->name);
		leak->used = class->used;
		leak->sold = class->sold;
		report->n_leaks++;
	}
}

static enum report_cloud state_of(int result)
{
	if (result == 0)
		return REPORT_PUBLISHED;
	return result == PUBLISHER_NO_ROOT ? REPORT_WAITING : REPORT_UNREACHABLE;
}

int link_publish(struct link *link, const struct wanted *wanted, struct report *report)
{
	struct err err = {""};
	int r;

	report->cloud = REPORT_WITHDRAWN;
	if (!link)
		return EVERY_MS;
	r = publisher_publish(link->publisher, wanted, &link->seen, &err);
	if (r != 0)
		link->seen.n_gpus = 0;
	report->cloud = state_of(r);
	COPY(report->address, link->address);
	if (r != 0)
		snprintf(report->problem, sizeof(report->problem), "%.255s", err.msg);
	for (size_t i = 0; i < link->seen.n_gpus; i++)
		add_leaks(&link->seen.gpus[i], report);
	return r == 0 ? EVERY_MS : publisher_pause_ms(link->publisher);
}

int link_withdraw(struct link *link, struct err *reterr)
{
	int r = link ? publisher_withdraw(link->publisher, reterr) : 0;

	/* Without a provider of the host, nothing is offered. */
	return r == 0 || r == PUBLISHER_NO_ROOT ? 0 : -EIO;
}

/* --- allocations --- */

static const struct published_gpu *find_gpu(const struct link *link, const char *gpu)
{
	for (size_t i = 0; i < link->seen.n_gpus; i++)
		if (strcmp(link->seen.gpus[i].name, gpu) == 0)
			return &link->seen.gpus[i];
	return NULL;
}

int link_used(const struct link *link, const char *gpu, const char *slot)
{
	const struct published_gpu *seen = link ? find_gpu(link, gpu) : NULL;

	for (size_t i = 0; seen && i < seen->n_classes; i++)
		if (strcmp(seen->classes[i].name, slot) == 0)
			return seen->classes[i].used;
	return 0;
}

int link_consumers(struct link *link, const char *gpu, struct allocation_consumers *ret_consumers,
		   struct err *reterr)
{
	const struct published_gpu *seen = link ? find_gpu(link, gpu) : NULL;

	ret_consumers->n = 0;
	return seen ? allocation_read_consumers(link->placement, seen->uuid, ret_consumers, reterr)
		    : err_fail(reterr, ENOENT, "GPU %s: not published", gpu);
}

static int find_allocation(void *userdata, const char *uuid, char ret_slot[WANTED_CLASS_MAX],
			   char ret_gpu[ID_MAX], struct err *reterr)
{
	struct link *link = userdata;

	return allocation_find(link->placement, link->host, uuid, ret_slot, ret_gpu, reterr);
}

struct claim_source link_source(struct link *link)
{
	return (struct claim_source){.find = link ? find_allocation : NULL, .userdata = link};
}
