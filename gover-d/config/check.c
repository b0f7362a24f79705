/* SPDX-License-Identifier: MIT */
/* Rules of the configuration that concern more than one key. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "compute/channel/control.h"
#include "gover-d/config/flavor.h"
#include "gover-d/config/table.h"
#include "gpu/drm.h"

static int check_gpu_names(const struct config *config, struct err *reterr)
{
	for (int a = 0; a < config->n_gpus; a++) {
		const char *name = config->gpus[a].gpu.name;

		if (!id_valid(name))
			return err_fail(reterr, EINVAL, "[gpu %.70s]: not a valid name of a GPU",
					name);
		for (int b = 0; b < a; b++)
			if (strcmp(config->gpus[b].gpu.name, name) == 0)
				return err_fail(reterr, EINVAL, "[gpu %s] is given twice", name);
	}
	return 0;
}

/* The GPU is a device of sysfs, which the keys "root" and "parent" name. */
static bool is_named_by_sysfs(const struct gpu_config *gpu)
{
	return strcmp(gpu->backend, "gvt") == 0 || strcmp(gpu->backend, "xe") == 0 ||
	       strcmp(gpu->backend, "auto") == 0;
}

/* All GPUs must have the same speed, because one period applies to all GPUs of the host. */
static int check_speeds(const struct config *config, struct err *reterr)
{
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (gpu->speed > 1 && strcmp(gpu->backend, "sim") != 0 &&
		    (!is_named_by_sysfs(gpu) || strcmp(gpu->backend, "auto") == 0 ||
		     gpu->root[0] == '\0'))
			return err_fail(reterr, EINVAL,
					"[gpu %s] speed = %g: not allowed with this backend "
					"(allowed: 1; above 1 only with backend = sim, or with "
					"backend = gvt or xe and a root created by gover-sim)",
					gpu->name, gpu->speed);
		if (fabs(gpu->speed - config->gpus[0].gpu.speed) > 0)
			return err_fail(
				reterr, EINVAL,
				"[gpu %s] speed = %g: all GPUs must have the same speed (allowed: "
				"%g, the speed of [gpu %s])",
				gpu->name, gpu->speed, config->gpus[0].gpu.speed,
				config->gpus[0].gpu.name);
	}
	return 0;
}

static int check_period(const struct config *config, struct err *reterr)
{
	double window = config->fund_window_s / config_table_period_s(config);

	if (config->period_ms < 100 && (config->n_gpus == 0 || config->gpus[0].gpu.speed <= 1))
		return err_fail(
			reterr, EINVAL,
			"[daemon] period_ms = %d: too short (allowed: 100..10000 ms; 1..10000 ms "
			"if the speed of every GPU is above 1)",
			config->period_ms);
	if (window > POLICY_WINDOW_MAX)
		return err_fail(reterr, EINVAL,
				"[policy] fund_window_s = %d: too long, contains %.0f periods "
				"(allowed: up to %d periods)",
				config->fund_window_s, window, POLICY_WINDOW_MAX);
	return 0;
}

/*
 * Each tick renews the leases. A lease is at least two periods long, so that a late tick does not
 * let the lease expire.
 */
static int check_leases(const struct config *config, struct err *reterr)
{
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (gpu->lease_ms > 0 && gpu->lease_ms < 2 * config->period_ms)
			return err_fail(reterr, EINVAL,
					"[gpu %s] lease_ms = %d: too short (allowed: 0, or at "
					"least two periods of %d ms)",
					gpu->name, gpu->lease_ms, config->period_ms);
	}
	return 0;
}

/* A longer slice would make the smallest cap larger than half of the GPU. */
static int check_slices(const struct config *config, struct err *reterr)
{
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (gpu->least_slice_ms > gpu->longest_round_ms / 2)
			return err_fail(reterr, EINVAL,
					"[gpu %s] least_slice_ms = %d: too long (allowed: up to "
					"half of longest_round_ms = %d)",
					gpu->name, gpu->least_slice_ms, gpu->longest_round_ms);
	}
	return 0;
}

/* The kernel can count frames only for processes in a vGPU's control group. */
static int check_fps_sources(const struct config *config, struct err *reterr)
{
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (strcmp(config->gpus[g].fps_source, "bpf") == 0 &&
		    strcmp(gpu->backend, "softgpu") != 0)
			return err_fail(reterr, EINVAL,
					"[gpu %s] fps_source = bpf: requires backend = softgpu, "
					"whose vGPUs are control groups (allowed with this "
					"backend: preload)",
					gpu->name);
	}
	return 0;
}

static bool is_drm(const struct gpu_config *gpu)
{
	return strcmp(gpu->backend, "drm") == 0;
}

/* A name that no GPU has would be a GPU that no program uses. */
static int check_parents(const struct config *config, struct err *reterr)
{
	char parent[GPU_PARENT_MAX];

	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (is_drm(gpu) && gpu->parent[0] && drm_device_parse(gpu->parent, parent) < 0)
			return err_fail(reterr, EINVAL,
					"[gpu %s] parent = %s: unknown (allowed: %s)", gpu->name,
					gpu->parent, DRM_DEVICE_ALLOWED);
	}
	return 0;
}

/* Every other backend counts one unit only. */
static int check_units(const struct config *config, struct err *reterr)
{
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (strcmp(gpu->unit, "work") == 0 && strcmp(gpu->backend, "sim") != 0)
			return err_fail(reterr, EINVAL,
					"[gpu %s] unit = work: only allowed with backend = sim "
					"(allowed with this backend: frames)",
					gpu->name);
	}
	return 0;
}

/* backend = auto is checked when the GPU is open, because its backend is known only then. */
static int check_sharing(const struct config *config, struct err *reterr)
{
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;
		const struct gpu_ops *ops = gpu_find(gpu->backend);

		if (!gpu_wants_guarantees(gpu))
			continue;
		if (ops && !ops->set_sharing)
			return err_fail(reterr, EINVAL,
					"[gpu %s] sharing = guarantee: not possible with backend = "
					"%s (allowed with this backend: auto or hard)",
					gpu->name, gpu->backend);
		if (config->params.paper_mode)
			return err_fail(reterr, EINVAL,
					"[gpu %s] sharing = guarantee: not possible with [policy] "
					"paper_mode = on, because the caps of the paper are hard "
					"limits (allowed: auto or hard)",
					gpu->name);
	}
	return 0;
}

static int check_sockets(const struct config *config, struct err *reterr)
{
	if (strcmp(config->socket, config->fps_socket) == 0)
		return err_fail(reterr, EINVAL,
				"[fps] socket = %s: must differ from the socket of [daemon]",
				config->fps_socket);
	return 0;
}

/* An arbiter serves one GPU, on this socket and its control socket. */
static bool sockets_clash(const char *arbiter, const char *other)
{
	size_t n = strlen(arbiter);

	return strncmp(arbiter, other, n) == 0 &&
	       (other[n] == '\0' || strcmp(other + n, COMPUTE_CONTROL_SUFFIX) == 0);
}

static int check_arbiters(const struct config *config, struct err *reterr)
{
	for (int a = 0; a < config->n_gpus; a++) {
		const struct gpu_config *gpu = &config->gpus[a].gpu;

		if (strcmp(gpu->backend, "lib") != 0)
			continue;
		if (sockets_clash(gpu->socket, config->socket) ||
		    sockets_clash(gpu->socket, config->fps_socket))
			return err_fail(reterr, EINVAL,
					"[gpu %s] socket = %s: must differ from the sockets of "
					"[daemon] and [fps]",
					gpu->name, gpu->socket);
		for (int b = 0; b < config->n_gpus; b++)
			if (a != b && strcmp(config->gpus[b].gpu.backend, "lib") == 0 &&
			    sockets_clash(gpu->socket, config->gpus[b].gpu.socket))
				return err_fail(reterr, EINVAL,
						"[gpu %s] socket = %s: also used by [gpu %s] "
						"(allowed: another socket)",
						gpu->name, gpu->socket, config->gpus[b].gpu.name);
	}
	return 0;
}

/* Tokens must not cross a network unencrypted. */
static int check_tls(const struct config *config, struct err *reterr)
{
	const char *listen = config->listen;

	if ((config->tls_certificate[0] == '\0') != (config->tls_key[0] == '\0'))
		return err_fail(reterr, EINVAL,
				"[daemon] %s is set without %s (allowed: both or neither)",
				config->tls_key[0] ? "tls_key" : "tls_certificate",
				config->tls_key[0] ? "tls_certificate" : "tls_key");
	if (listen[0] == '\0' || config->tls_certificate[0] || strncmp(listen, "127.", 4) == 0 ||
	    strncmp(listen, "[::1]:", 6) == 0)
		return 0;
	return err_fail(reterr, EINVAL,
			"[daemon] listen = %s: an address other than loopback requires TLS (set "
			"tls_certificate and tls_key, or listen on 127.0.0.1 or [::1])",
			listen);
}

/* Client certificates need the CAs, TLS, and at least one section that gives rights. */
static int check_client_ca(const struct config *config, struct err *reterr)
{
	const char *ca = config->tls_client_ca;

	if (ca[0] && !config->tls_certificate[0])
		return err_fail(reterr, EINVAL,
				"[daemon] tls_client_ca = %s: requires TLS (set tls_certificate "
				"and tls_key)",
				ca);
	if (ca[0] && config->n_clients == 0)
		return err_fail(reterr, EINVAL,
				"[daemon] tls_client_ca = %s: no certificate has rights (add a "
				"section [client NAME] with its subject)",
				ca);
	if (!ca[0] && config->n_clients > 0)
		return err_fail(reterr, EINVAL,
				"[client %s]: requires tls_client_ca of [daemon], the CAs of the "
				"client certificates",
				config->clients[0].name);
	return 0;
}

static int check_clients(const struct config *config, struct err *reterr)
{
	for (int a = 0; a < config->n_clients; a++) {
		const struct client_section *client = &config->clients[a];

		if (client->subject[0] == '\0')
			return err_fail(reterr, EINVAL,
					"[client %s] subject: required (allowed: a name such as "
					"CN=prometheus,O=Example)",
					client->name);
		for (int b = 0; b < a; b++)
			if (strcmp(client->subject, config->clients[b].subject) == 0)
				return err_fail(
					reterr, EINVAL,
					"[client %s] subject = %s: also used by [client %s]",
					client->name, client->subject, config->clients[b].name);
	}
	return 0;
}

static int check_flavor(const struct config *config, struct err *reterr)
{
	int cap_pct = config->offer.flavor_cap_pct, pct;
	const char *key = policy_params_above_flavor(&config->params, cap_pct, &pct);

	if (!key)
		return 0;
	return err_fail(reterr, EINVAL,
			"[policy] %s = %d: too large (allowed: up to [offer] flavor_cap_pct = %d)",
			key, pct, cap_pct);
}

/* The GPU is a control group that contains the groups of its vGPUs. */
static bool is_group(const struct gpu_config *gpu)
{
	return strcmp(gpu->backend, "softgpu") == 0 || strcmp(gpu->backend, "lib") == 0;
}

/* Writes the path of the control group of a GPU: ROOT/NAME. */
static void group_of(const struct gpu_config *gpu, char ret_group[PATH_MAX + ID_MAX])
{
	snprintf(ret_group, PATH_MAX + ID_MAX, "%s/%s", gpu->root[0] ? gpu->root : "gover",
		 gpu->name);
}

/* A GPU has one driver, so it belongs to one of the backends gvt and xe. */
static bool may_have_same_driver(const struct gpu_config *one, const struct gpu_config *other)
{
	return strcmp(one->backend, other->backend) == 0 || strcmp(one->backend, "auto") == 0 ||
	       strcmp(other->backend, "auto") == 0;
}

/* An address can be written in several ways. */
static bool is_same_parent(const char *one, const char *other)
{
	char a[GPU_PARENT_MAX], b[GPU_PARENT_MAX];

	return strcmp(one, other) == 0 || (drm_device_parse(one, a) == 0 &&
					   drm_device_parse(other, b) == 0 && strcmp(a, b) == 0);
}

/*
 * Returns true if the values of the key "root" of two GPUs conflict. The control group of a GPU
 * must not be inside that of another GPU.
 */
static bool roots_clash(const struct gpu_config *inner, const struct gpu_config *outer)
{
	char in[PATH_MAX + ID_MAX], out[PATH_MAX + ID_MAX];

	/* two sections must not name the same GPU of the host */
	if (is_named_by_sysfs(inner) && is_named_by_sysfs(outer))
		return may_have_same_driver(inner, outer) &&
		       strcmp(inner->root, outer->root) == 0 &&
		       (!inner->parent[0] || !outer->parent[0] ||
			strcmp(inner->parent, outer->parent) == 0);
	if (strcmp(inner->backend, "sim") == 0 && strcmp(outer->backend, "sim") == 0)
		return inner->root[0] && /* each GPU needs its own directory */
		       strcmp(inner->root, outer->root) == 0;
	/* the same control groups on the same GPU */
	if (is_drm(inner) && is_drm(outer))
		return strcmp(inner->root, outer->root) == 0 &&
		       is_same_parent(inner->parent, outer->parent);
	if (!is_group(inner) || !is_group(outer))
		return false;
	group_of(inner, in);
	group_of(outer, out);
	return strncmp(in, out, strlen(out)) == 0 && in[strlen(out)] == '/';
}

static int check_roots(const struct config *config, struct err *reterr)
{
	for (int a = 0; a < config->n_gpus; a++) {
		const struct gpu_config *gpu = &config->gpus[a].gpu;

		if (is_group(gpu) && gpu->root[0] == '/')
			return err_fail(
				reterr, EINVAL,
				"[gpu %s] root = %s: not a relative path (allowed: a control group "
				"such as gover or a/b)",
				gpu->name, gpu->root);
		for (int b = 0; b < config->n_gpus; b++)
			if (a != b && roots_clash(gpu, &config->gpus[b].gpu))
				return err_fail(
					reterr, EINVAL,
					"[gpu %s] root = %s: also used by [gpu %s] (allowed: "
					"another root%s)",
					gpu->name, gpu->root, config->gpus[b].gpu.name,
					is_named_by_sysfs(gpu) || is_drm(gpu) ? " or parent" : "");
	}
	return 0;
}

static int check_promise_windows(const struct config *config, struct err *reterr)
{
	const struct promise_limits *limits = &config->promise;

	if (limits->slow_window_s >= limits->fast_window_s)
		return 0;
	return err_fail(reterr, EINVAL,
			"[alerts] promise_slow_window_s = %g: shorter than promise_fast_window_s "
			"(allowed: %g..86400 s)",
			limits->slow_window_s, limits->fast_window_s);
}

static int (*const checks[])(const struct config *config, struct err *reterr) = {
	config_table_check, check_gpu_names,	   check_speeds,  check_period,	     check_leases,
	check_slices,	    check_sockets,	   check_tls,	  check_client_ca,   check_clients,
	check_flavor,	    flavor_check,	   check_roots,	  check_fps_sources, check_units,
	check_arbiters,	    check_promise_windows, check_sharing, check_parents,
};

int config_check(const struct config *config, struct err *reterr)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(checks); i++)
		r = checks[i](config, reterr);
	return r;
}

void config_check_all(const struct config *config, void (*fault)(void *userdata, const char *text),
		      void *userdata)
{
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (checks[i](config, &err) < 0)
			fault(userdata, err.msg);
}
