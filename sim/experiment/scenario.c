/* SPDX-License-Identifier: MIT */
/* Reads and changes scenarios. The table keys[] contains all keys. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config/inifile.h"
#include "base/id.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "sim/experiment/scenario.h"

#define FILE_BYTES_MAX (1024 * 1024)
#define FLAVOR_SECTION "flavor NAME"
#define TENANT_SECTION "tenant NAME"

/* --- setting types --- */

static bool set_arrive(const struct setting *setting, void *at, const char *text, struct err *why)
{
	(void)why;
	if (strcmp(text, "offer") != 0)
		return parse_double(text, setting->min, setting->max, at) == 0;
	*(double *)at = SCENARIO_BY_OFFER;
	return true;
}

static void format_arrive(const void *at, char *ret_text, size_t size)
{
	if (*(const double *)at < 0)
		snprintf(ret_text, size, "offer");
	else
		setting_number.format(at, ret_text, size);
}

static const char *const draw_names[] = {
	[SCENARIO_INDEPENDENT] = "independent",
	[SCENARIO_SHUFFLE] = "shuffle",
	[SCENARIO_LISTED] = "listed",
};

static bool set_draw(const struct setting *setting, void *at, const char *text, struct err *why)
{
	(void)setting;
	(void)why;
	for (size_t i = 0; i < ARRAY_SIZE(draw_names); i++) {
		if (strcmp(draw_names[i], text) != 0)
			continue;
		*(enum scenario_draw *)at = (enum scenario_draw)i;
		return true;
	}
	return false;
}

static void format_draw(const void *at, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%s", draw_names[*(const enum scenario_draw *)at]);
}

static bool set_sharing(const struct setting *setting, void *at, const char *text, struct err *why)
{
	enum policy_sharing *sharing = at;

	(void)setting;
	(void)why;
	*sharing = strcmp(text, "guarantee") == 0 ? POLICY_SHARING_GUARANTEE : POLICY_SHARING_HARD;
	return strcmp(text, policy_sharing_name(*sharing)) == 0;
}

static void format_sharing(const void *at, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%s", policy_sharing_name(*(const enum policy_sharing *)at));
}

static const struct setting_type type_sharing = {set_sharing, format_sharing};
static const struct setting_type type_arrive = {set_arrive, format_arrive};
static const struct setting_type type_draw = {set_draw, format_draw};

static bool fits_policy(const char *text)
{
	return policy_find(text);
}

/* --- the table --- */

#define AT(section, key, type, field) section, false, key, offsetof(type, field)
#define OF(section, key)	      AT(section, #key, struct scenario, key)
#define PARAM(section, key)	      AT(section, #key, struct scenario, params.key)
#define FLAVOR(key)		      AT(FLAVOR_SECTION, #key, struct scenario_flavor, key)
#define TENANT(key)		      AT(TENANT_SECTION, #key, struct scenario_tenant, key)

/* policy/policy.h lists the keys of policies with these macros. */
#define KEY_INT(key, low, high, unit)	  SETTING_INT(PARAM("policy", key), low, high, unit)
#define KEY_NUMBER(key, low, high, unit)  SETTING_NUMBER(PARAM("policy", key), low, high, unit)
#define KEY_FLAG(key)			  SETTING_FLAG(PARAM("policy", key))
#define KEY_SECONDS(key, low, high, unit) SETTING_INT(OF("policy", key), low, high, unit)

/* A text has at most 180 characters, because a line of an INI file has at most 198. */
static const struct setting keys[] = {
	SETTING_INT(OF("scenario", seconds), 1, 10000000, " s"),
	SETTING_INT(OF("scenario", period_ms), 100, 10000, " ms"),
	SETTING_INT(OF("scenario", seed), 0, 2147483647, ""),
	SETTING_FLAG(OF("scenario", migrate)),
	SETTING_INT(OF("scenario", migrate_s), 0, 86400, " s"),
	SETTING_NUMBER(OF("scenario", migrate_blackout_s), 0, 3600, " s"),
	SETTING_INT(OF("scenario", migrate_capacity), 0, 1024, " vGPUs"),

	SETTING_WORD(OF("host", discipline), "cap or weight"),
	SETTING_ROW(OF("host", sharing), type_sharing, 0, 0, "hard or guarantee", NULL),
	SETTING_INT(OF("host", step_pct), 1, 50, " percent"),
	SETTING_INT(OF("host", floor_pct), 1, 100, " percent"),

	SETTING_ROW(AT("policy", "name", struct scenario, policy), setting_text, 1, 15,
		    "the name of a policy", fits_policy),
	POLICY_KEYS(KEY_INT, KEY_NUMBER, KEY_FLAG, KEY_SECONDS),

	SETTING_NUMBER(PARAM("price", price_per_cap_hour), 0, 1000000, ""),
	SETTING_NUMBER(PARAM("price", penalty_per_broken_s), 0, 1000000, ""),
	SETTING_NUMBER(PARAM("price", price_per_move), 0, 1000000, ""),

	SETTING_INT(OF("offer", flavor_cap_pct), 1, 100, " percent"),
	SETTING_NUMBER(OF("offer", flavor_target_fps), 0, 10000, " frames per second"),
	SETTING_INT(OF("offer", max_vgpus), 1, 256, " vGPUs"),
	SETTING_INT(OF("offer", probation_s), 1, 86400, " s"),
	SETTING_NUMBER(OF("offer", probation_broken_pct), 0, 100, " percent"),
	SETTING_NUMBER(OF("offer", customer_s), 0, 86400, " s"),

	SETTING_INT(FLAVOR(cap_pct), 1, 100, " percent"),
	SETTING_NUMBER(FLAVOR(target_fps), 0, 10000, " frames per second"),
	SETTING_NUMBER(FLAVOR(price_per_cap_hour), 0, 1000000, ""),
	SETTING_NUMBER(FLAVOR(penalty_per_broken_s), 0, 1000000, ""),

	SETTING_TEXT(AT(TENANT_SECTION, "workload", struct scenario_tenant, workload_text), 1, 180,
		     "a workload", NULL),
	SETTING_TEXT(AT(TENANT_SECTION, "flavor", struct scenario_tenant, flavor_name), 1, 31,
		     "the name of a flavor", id_valid),
	SETTING_INT(TENANT(contract_pct), 1, 100, " percent"),
	SETTING_INT(TENANT(min_cap_pct), 0, 100, " percent"),
	SETTING_NUMBER(TENANT(target_fps), 0, 10000, " frames per second"),
	SETTING_NUMBER(TENANT(weight), 0.01, 100, ""),
	SETTING_FLAG(TENANT(burst)),
	SETTING_FLAG(TENANT(shared_clock)),
	SETTING_ROW(TENANT(arrive_s), type_arrive, 0, 1e7, "0..1e7 s, or offer", NULL),
	SETTING_NUMBER(TENANT(stay_s), 0, 10000000, " s, 0 for ever"),
	SETTING_INT(TENANT(count), 1, 256, " tenants"),

	SETTING_INT(OF("arrivals", start), 0, 256, " tenants"),
	SETTING_ROW(OF("arrivals", draw), type_draw, 0, 0, "independent, shuffle or listed", NULL),
	SETTING_TEXT(OF("arrivals", from), 1, 180, "names of tenants", NULL),
};
_Static_assert(ARRAY_SIZE(keys) <= INIFILE_KEYS_MAX,
	       "base/config/inifile.c cannot store more keys");
_Static_assert(SCENARIO_COUNT_MAX == 256, "the table limits key count to 256");
_Static_assert(SCENARIO_MOVES_MAX == 1024, "the table limits key migrate_capacity to 1024");
_Static_assert(SCENARIO_TEXT_MAX == 180, "the table limits keys workload and from to 180");

const struct setting *scenario_key_at(size_t index)
{
	return index < ARRAY_SIZE(keys) ? &keys[index] : NULL;
}

void scenario_default(struct scenario *ret_scenario)
{
	struct scenario *scenario = ret_scenario;

	memset(scenario, 0, sizeof(*scenario));
	scenario->seconds = 200;
	scenario->period_ms = 1000;
	scenario->seed = 1;
	scenario->migrate_s = 10;
	scenario->migrate_capacity = SCENARIO_MOVES_MAX;
	strcpy(scenario->discipline, "cap");
	scenario->step_pct = 1;
	scenario->floor_pct = 1;
	strcpy(scenario->policy, "gover");
	policy_params_default(&scenario->params);
	scenario->fund_window_s = 30;
	scenario->flavor_cap_pct = 50;
	scenario->max_vgpus = 16;
	scenario->probation_s = 30;
	scenario->probation_broken_pct = 10;
}

/* --- reading --- */

struct loader {
	struct scenario *scenario;
	char dir[PATH_MAX]; /* folder of the scenario file */
	/* file names of scenario->traces */
	char files[SCENARIO_TENANTS_MAX][SCENARIO_TEXT_MAX + 1];
};

/* Checks the name of the next section of a kind, of which there are @n. @known: one has this name.
 */
static int check_name(const char *kind, const char *name, bool known, int n, int max,
		      struct err *reterr)
{
	if (!id_valid(name) || strlen(name) >= SCENARIO_NAME_MAX)
		return err_fail(reterr, EINVAL,
				"[%s %.70s]: not a valid name (allowed: 1 to 31 characters A-Z a-z "
				"0-9 . _ -, not starting with . or -)",
				kind, name);
	if (known)
		return err_fail(reterr, EINVAL, "[%s %s] is given twice", kind, name);
	if (n == max)
		return err_fail(reterr, EINVAL, "[%s %s]: too many %ss (limit %d)", kind, name,
				kind, max);
	return 0;
}

static int find_flavor(const struct scenario *scenario, const char *name)
{
	for (int i = 0; i < scenario->n_flavors; i++)
		if (strcmp(scenario->flavors[i].name, name) == 0)
			return i;
	return -1;
}

static int find_tenant(const struct scenario *scenario, const char *name)
{
	for (int i = 0; i < scenario->n_tenants; i++)
		if (strcmp(scenario->tenants[i].name, name) == 0)
			return i;
	return -1;
}

static int enter_flavor(struct scenario *scenario, const char *name, int line, void **ret_base,
			struct err *reterr)
{
	struct scenario_flavor *flavor = &scenario->flavors[scenario->n_flavors];
	int r = check_name("flavor", name, find_flavor(scenario, name) >= 0, scenario->n_flavors,
			   SCENARIO_FLAVORS_MAX, reterr);

	if (r < 0)
		return r;
	scenario->n_flavors++;
	*flavor = (struct scenario_flavor){
		.line = line,
		.cap_pct = 50,
		.price_per_cap_hour = -1,
		.penalty_per_broken_s = -1,
	};
	strcpy(flavor->name, name);
	*ret_base = flavor;
	return 0;
}

struct scenario_tenant *scenario_add_tenant(struct scenario *scenario, const char *name)
{
	struct scenario_tenant *tenant = &scenario->tenants[scenario->n_tenants++];

	*tenant = (struct scenario_tenant){
		.flavor = -1,
		.target_fps = -1,
		.weight = 1,
		.arrive_s = SCENARIO_BY_OFFER,
		.count = 1,
	};
	strcpy(tenant->name, name);
	return tenant;
}

static int enter_tenant(struct scenario *scenario, const char *name, int line, void **ret_base,
			struct err *reterr)
{
	struct scenario_tenant *tenant;
	int r = check_name("tenant", name, find_tenant(scenario, name) >= 0, scenario->n_tenants,
			   SCENARIO_TENANTS_MAX, reterr);

	if (r < 0)
		return r;
	tenant = scenario_add_tenant(scenario, name);
	tenant->line = line;
	*ret_base = tenant;
	return 0;
}

static int enter_section(void *userdata, const struct setting *first, const char *name, int line,
			 void **ret_base, struct err *reterr)
{
	struct scenario *scenario = ((struct loader *)userdata)->scenario;

	if (strcmp(first->section, FLAVOR_SECTION) == 0)
		return enter_flavor(scenario, name, line, ret_base, reterr);
	if (strcmp(first->section, TENANT_SECTION) == 0)
		return enter_tenant(scenario, name, line, ret_base, reterr);
	*ret_base = scenario;
	return 0;
}

static int take_from(struct scenario *scenario, struct err *reterr)
{
	char names[SCENARIO_TEXT_MAX + 1], *rest = names;

	strcpy(names, scenario->from);
	memset(scenario->drawn, 0, sizeof(scenario->drawn));
	while (rest) {
		const char *name = strsep(&rest, ", ");
		int tenant = find_tenant(scenario, name);

		if (name[0] == '\0')
			continue;
		if (tenant < 0)
			return err_fail(reterr, EINVAL,
					"[arrivals] from: [tenant %.40s] is not defined above",
					name);
		if (scenario->tenants[tenant].arrive_s >= 0)
			return err_fail(reterr, EINVAL,
					"[arrivals] from: [tenant %s] does not take offers "
					"(allowed: tenants with arrive_s = offer)",
					name);
		scenario->drawn[tenant] = true;
	}
	return 0;
}

/* Returns the trace of the workload @text if this trace is already loaded, otherwise NULL. */
static const struct trace *find_trace(const struct loader *l, const char *text, char *ret_file)
{
	const char *file = strncmp(text, "trace:", 6) == 0 ? strstr(text, "file=") : NULL;

	ret_file[0] = '\0';
	if (file)
		snprintf(ret_file, SCENARIO_TEXT_MAX + 1, "%.*s", (int)strcspn(file, ","), file);
	for (int i = 0; file && i < l->scenario->n_traces; i++)
		if (strcmp(l->files[i], ret_file) == 0)
			return l->scenario->traces[i];
	return NULL;
}

static int take_workload(struct loader *l, struct scenario_tenant *tenant, struct err *reterr)
{
	struct scenario *scenario = l->scenario;
	const char *text = tenant->workload_text;
	char file[SCENARIO_TEXT_MAX + 1];
	const struct trace *known = find_trace(l, text, file);
	struct trace *trace = NULL;
	struct err inner = {""};
	int r;

	if (known)
		r = workload_from_trace(text, known, &tenant->workload, &inner);
	else
		r = workload_load(text, l->dir, &tenant->workload, &trace, &inner);
	if (r < 0)
		return err_fail(reterr, -r, "[tenant %s] %s", tenant->name, inner.msg);
	if (trace) {
		strcpy(l->files[scenario->n_traces], file);
		scenario->traces[scenario->n_traces++] = trace;
	}
	return 0;
}

/* Resolves keys whose value names another section or a file. */
static int check_value(void *userdata, const struct setting *setting, void *base,
		       struct err *reterr)
{
	struct loader *l = userdata;
	struct scenario_tenant *tenant = base;

	if (strcmp(setting->key, "from") == 0)
		return take_from(l->scenario, reterr);
	if (strcmp(setting->key, "workload") == 0)
		return take_workload(l, tenant, reterr);
	if (strcmp(setting->key, "flavor") != 0)
		return 0;
	tenant->flavor = find_flavor(l->scenario, tenant->flavor_name);
	if (tenant->flavor < 0)
		return err_fail(reterr, EINVAL,
				"[tenant %s] flavor: [flavor %s] is not defined above",
				tenant->name, tenant->flavor_name);
	return 0;
}

/* --- checks of several keys --- */

static bool can_share_clock(const struct workload *workload)
{
	return workload->period_s > 0 || workload->playback.loop;
}

static int check_tenant(const char *path, const struct scenario *scenario,
			const struct scenario_tenant *tenant, struct err *reterr)
{
	struct policy_terms terms = scenario_terms(scenario, tenant);

	if (tenant->workload_text[0] == '\0')
		return err_fail(reterr, EINVAL, "%s:%d: [tenant %s] workload: required", path,
				tenant->line, tenant->name);
	if (tenant->shared_clock && !can_share_clock(&tenant->workload))
		return err_fail(reterr, EINVAL,
				"%s:%d: [tenant %s] shared_clock = on: not possible with this "
				"workload (allowed: square, or trace with loop=on)",
				path, tenant->line, tenant->name);
	if (terms.min_cap_pct > terms.initial_cap_pct)
		return err_fail(
			reterr, EINVAL,
			"%s:%d: [tenant %s] min_cap_pct = %d: above the contract (allowed: up "
			"to %d)",
			path, tenant->line, tenant->name, terms.min_cap_pct, terms.initial_cap_pct);
	return 0;
}

static int check_guarantee(const char *path, const struct scenario *scenario, struct err *reterr)
{
	if (strcmp(scenario->discipline, "weight") == 0)
		return err_fail(reterr, EINVAL,
				"%s: [host] sharing = guarantee: not possible with discipline = "
				"weight (allowed: discipline = cap)",
				path);
	if (scenario->params.paper_mode)
		return err_fail(reterr, EINVAL,
				"%s: [host] sharing = guarantee: not possible with [policy] "
				"paper_mode = on, because the caps of the paper are hard limits "
				"(allowed: hard)",
				path);
	return 0;
}

static int check_values(const char *path, struct scenario *scenario, struct err *reterr)
{
	double window = scenario->fund_window_s * 1000.0 / scenario->period_ms;
	int r = 0;

	if (scenario->n_tenants == 0)
		return err_fail(reterr, EINVAL,
				"%s: no tenants (required: a section [tenant NAME])", path);
	for (int i = 0; r == 0 && i < scenario->n_tenants; i++)
		r = check_tenant(path, scenario, &scenario->tenants[i], reterr);
	if (r == 0 && window > POLICY_WINDOW_MAX)
		r = err_fail(reterr, EINVAL,
			     "%s: [policy] fund_window_s = %d: too long (%.0f periods, limit %d)",
			     path, scenario->fund_window_s, window, POLICY_WINDOW_MAX);
	if (r == 0 && scenario->sharing == POLICY_SHARING_GUARANTEE)
		r = check_guarantee(path, scenario, reterr);
	if (r == 0 && scenario->floor_pct % scenario->step_pct)
		r = err_fail(reterr, EINVAL,
			     "%s: [host] floor_pct = %d: not a multiple of step_pct = %d", path,
			     scenario->floor_pct, scenario->step_pct);
	if (scenario->from[0] == '\0')
		for (int i = 0; i < scenario->n_tenants; i++)
			scenario->drawn[i] = scenario->tenants[i].arrive_s < 0;
	return r;
}

/*
 * Like gover-d, also compares [policy] with the flavor on sale. scenario_set() does not, because
 * its caller may set both, one after the other.
 */
static int check_whole(const char *path, struct scenario *scenario, struct err *reterr)
{
	int cap_pct = scenario->flavor_cap_pct, pct, r = check_values(path, scenario, reterr);
	const char *key = policy_params_above_flavor(&scenario->params, cap_pct, &pct);

	if (r < 0 || !key)
		return r;
	return err_fail(
		reterr, EINVAL,
		"%s: [policy] %s = %d: too large (allowed: up to [offer] flavor_cap_pct = %d)",
		path, key, pct, cap_pct);
}

static void set_folder(struct loader *l, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		snprintf(l->dir, sizeof(l->dir), "%.*s", slash > path ? (int)(slash - path) : 1,
			 path);
	else
		strcpy(l->dir, ".");
}

int scenario_load(const char *path, struct scenario *ret_scenario, struct err *reterr)
{
	CLEANUP_FREE struct loader *l = xcalloc(1, sizeof(*l));
	const struct inifile_reader reader = {
		.at = scenario_key_at, .userdata = l, .enter = enter_section, .check = check_value};
	int r;

	l->scenario = ret_scenario;
	set_folder(l, path);
	scenario_default(ret_scenario);
	r = inifile_read(path, FILE_BYTES_MAX, &reader, reterr);
	if (r == 0)
		r = check_whole(path, ret_scenario, reterr);
	if (r < 0)
		scenario_fini(ret_scenario);
	return r;
}

int scenario_check(struct scenario *scenario, struct err *reterr)
{
	return check_whole("scenario", scenario, reterr);
}

void scenario_fini(struct scenario *scenario)
{
	while (scenario->n_traces > 0)
		trace_free(scenario->traces[--scenario->n_traces]);
}

/* --- single values --- */

/* A key of [policy] may be written without "policy.". */
static bool is_named(const struct setting *setting, const char *name)
{
	size_t length = strlen(setting->section);

	if (strchr(setting->section, ' ') || strcmp(setting->key, "from") == 0)
		return false;
	if (strcmp(setting->section, "policy") == 0 && strcmp(setting->key, name) == 0)
		return true;
	return strncmp(setting->section, name, length) == 0 && name[length] == '.' &&
	       strcmp(setting->key, name + length + 1) == 0;
}

int scenario_set(struct scenario *scenario, const char *key, const char *value, struct err *reterr)
{
	struct err inner = {""};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!is_named(&keys[i], key))
			continue;
		if (setting_set(&keys[i], scenario, value, &inner) < 0)
			return err_fail(reterr, EINVAL, "%s", inner.msg);
		return check_values("--set", scenario, reterr);
	}
	return err_fail(reterr, ENOENT,
			"\"%.60s\": unknown key (allowed: a key of [policy], or SECTION.KEY of a "
			"section without a name)",
			key);
}

/* --- derived values --- */

struct policy_params scenario_params(const struct scenario *scenario)
{
	struct policy_params params = scenario->params;
	double periods = round(scenario->fund_window_s * 1000.0 / scenario->period_ms);

	params.fund_window_periods = (int)fmax(1, fmin(periods, POLICY_WINDOW_MAX));
	return params;
}

static const struct scenario_flavor *flavor_of(const struct scenario *scenario,
					       const struct scenario_tenant *tenant)
{
	return tenant->flavor < 0 ? NULL : &scenario->flavors[tenant->flavor];
}

struct policy_terms scenario_terms(const struct scenario *scenario,
				   const struct scenario_tenant *tenant)
{
	const struct scenario_flavor *flavor = flavor_of(scenario, tenant);
	struct policy_terms terms = {
		.initial_cap_pct = flavor ? flavor->cap_pct : scenario->flavor_cap_pct,
		.min_cap_pct = tenant->min_cap_pct,
		.target_fps = flavor ? flavor->target_fps : scenario->flavor_target_fps,
		.weight = tenant->weight,
		.burst = tenant->burst,
	};

	if (tenant->contract_pct > 0)
		terms.initial_cap_pct = tenant->contract_pct;
	if (tenant->target_fps >= 0)
		terms.target_fps = tenant->target_fps;
	return terms;
}

double scenario_price_per_cap_hour(const struct scenario *scenario,
				   const struct scenario_tenant *tenant)
{
	const struct scenario_flavor *flavor = flavor_of(scenario, tenant);

	return flavor && flavor->price_per_cap_hour >= 0 ? flavor->price_per_cap_hour
							 : scenario->params.price_per_cap_hour;
}

double scenario_penalty_per_broken_s(const struct scenario *scenario,
				     const struct scenario_tenant *tenant)
{
	const struct scenario_flavor *flavor = flavor_of(scenario, tenant);

	return flavor && flavor->penalty_per_broken_s >= 0 ? flavor->penalty_per_broken_s
							   : scenario->params.penalty_per_broken_s;
}
