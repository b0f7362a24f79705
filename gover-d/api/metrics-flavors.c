/* SPDX-License-Identifier: MIT */
/* A contract or an offer without a flavour has the terms of [offer], and counts as that flavour. */
#include <string.h>

#include "gover-d/api/metrics-flavors.h"
#include "gover-d/config/flavor.h"
#include "gover-d/core/offers.h"
#include "gover-d/model/host.h"

static const char *or_standard(const struct view *view, const char *flavor)
{
	return flavor[0] ? flavor : view->config->offer.flavor;
}

static void write_vgpu(const struct metrics_out *out, const struct view *view, const struct vgpu *v)
{
	fputs("gover_vgpu_info", out->file);
	metrics_format_label(out, "{", "gpu", v->contract.gpu);
	metrics_format_label(out, ",", "vgpu", v->contract.id);
	metrics_format_label(out, ",", "vm", v->contract.vm);
	metrics_format_label(out, ",", "flavor", or_standard(view, v->contract.flavor));
	metrics_format_label(out, ",", "project", contract_label(&v->contract, CONTRACT_PROJECT));
	/* Prometheus uses the label "instance" for the host. */
	metrics_format_label(out, ",", "server", contract_label(&v->contract, CONTRACT_INSTANCE));
	fputs("} 1\n", out->file);
}

static bool lists(const struct view *view, const struct offer *offer, const char *flavor)
{
	for (int i = 0; i < offer->n_flavors; i++)
		if (strcmp(or_standard(view, offer->flavors[i].name), flavor) == 0)
			return true;
	return false;
}

static int count_open(const struct view *view, const char *gpu, const char *flavor)
{
	int n = 0;

	for (size_t i = 0; i < offers_count(view->offers); i++) {
		const struct offer *offer = offers_at(view->offers, i);

		n += offer->life.state == OFFER_OPEN && strcmp(offer->gpu, gpu) == 0 &&
		     lists(view, offer, flavor);
	}
	return n;
}

static void write_offers(const struct metrics_out *out, const struct view *view, const char *gpu)
{
	struct flavor flavor;

	for (int i = 0; flavor_at(view->config, i, &flavor); i++) {
		fputs("gover_open_offers", out->file);
		metrics_format_label(out, "{", "gpu", gpu);
		metrics_format_label(out, ",", "flavor", flavor.name);
		fprintf(out->file, "} %d\n", count_open(view, gpu, flavor.name));
	}
}

void metrics_flavors_write(const struct metrics_out *out, const struct view *view)
{
	const struct host *host = view->host;

	metrics_format_head(out, "gover_vgpu_info", "info",
			    "Flavour and owner of the vGPU, as labels.");
	for (int g = 0; g < host->n_gpus; g++)
		for (const struct vgpu *v = host->gpus[g].vgpus; v; v = v->next)
			write_vgpu(out, view, v);
	metrics_format_head(out, "gover_open_offers", "gauge",
			    "Number of open offers that list the flavour, by GPU and flavour.");
	for (int g = 0; g < host->n_gpus; g++)
		write_offers(out, view, host->gpus[g].config.name);
}
