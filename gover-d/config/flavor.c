/* SPDX-License-Identifier: MIT */
/* Lookup of flavours in a configuration. */
#include <errno.h>
#include <string.h>

#include "gover-d/config/flavor.h"

static struct flavor on_sale(const struct config *config)
{
	const struct offer_config *offer = &config->offer;
	struct flavor flavor = {
		.cap_pct = offer->flavor_cap_pct,
		.target_fps = offer->flavor_target_fps,
		.target_rate = offer->flavor_target_rate,
		.price_per_cap_hour = offer->price_per_cap_hour,
		.penalty_per_broken_s = offer->penalty_per_broken_s,
	};

	flavor.offered = true;
	memcpy(flavor.name, offer->flavor, sizeof(flavor.name));
	return flavor;
}

bool flavor_at(const struct config *config, int index, struct flavor *ret_flavor)
{
	if (index > config->n_flavors)
		return false;
	*ret_flavor = index == 0 ? on_sale(config) : config->flavors[index - 1];
	return true;
}

bool flavor_find(const struct config *config, const char *name, struct flavor *ret_flavor)
{
	struct flavor flavor;

	for (int i = 0; flavor_at(config, i, &flavor); i++) {
		if (name[0] != '\0' && strcmp(flavor.name, name) != 0)
			continue;
		*ret_flavor = flavor;
		return true;
	}
	return false;
}

struct flavor flavor_of(const struct config *config, const char *name)
{
	struct flavor flavor;

	return flavor_find(config, name, &flavor) ? flavor : on_sale(config);
}

int flavor_list_offered(const struct config *config, struct flavor ret_flavors[OFFERED_MAX])
{
	struct flavor flavor;
	int n = 0;

	for (int i = 0; n < OFFERED_MAX && flavor_at(config, i, &flavor); i++) {
		int at = n;

		if (!flavor.offered)
			continue;
		for (; at > 0 && ret_flavors[at - 1].cap_pct < flavor.cap_pct; at--)
			ret_flavors[at] = ret_flavors[at - 1];
		ret_flavors[at] = flavor;
		n++;
	}
	return n;
}

int flavor_refuse(const struct config *config, const char *name, struct err *reterr)
{
	struct flavor flavor;
	char list[256] = "";
	size_t n = 0;

	for (int i = 0; flavor_at(config, i, &flavor) && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      flavor.name);
	return err_fail(reterr, EINVAL, "flavor: %.63s is not allowed (allowed: %s)", name, list);
}

static int check_offered(const struct config *config, struct err *reterr)
{
	int n = 1; /* the flavour of [offer] */

	for (int i = 0; i < config->n_flavors; i++) {
		const struct flavor *flavor = &config->flavors[i];
		const char *key;
		int pct;

		if (!flavor->offered)
			continue;
		key = policy_params_above_flavor(&config->params, flavor->cap_pct, &pct);
		if (key)
			return err_fail(reterr, EINVAL,
					"[policy] %s = %d: too large (allowed: up to [flavor %s] "
					"cap_pct = %d, which is offered)",
					key, pct, flavor->name, flavor->cap_pct);
		if (++n > OFFERED_MAX)
			return err_fail(reterr, EINVAL,
					"[flavor %s] offered: too many flavours are offered (limit "
					"%d, with the flavour of [offer])",
					flavor->name, OFFERED_MAX);
	}
	return 0;
}

int flavor_check(const struct config *config, struct err *reterr)
{
	for (int a = 0; a < config->n_flavors; a++) {
		const char *name = config->flavors[a].name;

		if (!id_valid(name))
			return err_fail(reterr, EINVAL,
					"[flavor %.70s]: not a valid name of a flavour", name);
		if (strcmp(name, config->offer.flavor) == 0)
			return err_fail(reterr, EINVAL,
					"[flavor %s]: is the flavour of [offer] (set the cap and "
					"prices of this flavour in [offer])",
					name);
		for (int b = 0; b < a; b++)
			if (strcmp(config->flavors[b].name, name) == 0)
				return err_fail(reterr, EINVAL, "[flavor %s] is given twice", name);
	}
	return check_offered(config, reterr);
}
