/* SPDX-License-Identifier: MIT */
/*
 * The control protocol between gover-d (and tools) and gover-arbiter: one request and one reply at
 * a time on a unix socket (SOCK_SEQPACKET), structures of fixed size, byte order of the host. The
 * arbiter creates its control socket with mode 0600. Requests are idempotent, except ADD.
 *
 * A tenant is a control group. Its processes are its clients. A tenant exists from ADD to REMOVE,
 * with or without clients. Programs of other control groups belong to the tenant with index 0 and
 * id "", which always exists and cannot be removed.
 */
#ifndef COMPUTE_CHANNEL_CONTROL_H
#define COMPUTE_CHANNEL_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#define COMPUTE_CONTROL_MAGIC	0x51766f67u /* "govQ" */
#define COMPUTE_CONTROL_VERSION 1u
/* The default socket for clients, in the folder that containers mount (base/unix-listener.h). */
#define COMPUTE_SERVED_SOCKET "/run/gover/tenant/compute.sock"
/* The path of the control socket is the name of the socket for clients with this suffix. */
#define COMPUTE_CONTROL_SUFFIX	 ".control"
#define COMPUTE_CONTROL_PATH_MAX 108 /* bytes of the path of a unix socket with its NUL */

#define COMPUTE_ID_MAX		512 /* bytes of a control group path with its NUL */
#define COMPUTE_TEXT_MAX	64  /* bytes of a name of a device or discipline with its NUL */
#define COMPUTE_LIST_MAX	16  /* tenants in one reply */
#define COMPUTE_WEIGHT_MAX	10000u
#define COMPUTE_TENANT_NONE	UINT32_MAX
#define COMPUTE_MEMORY_NO_LIMIT UINT64_MAX

enum compute_verb {
	COMPUTE_GET_DEVICE = 1,
	/* tenants with an index of at least @tenant, in order of the index */
	COMPUTE_LIST,
	/*
	 * Creates a tenant with @id, @weight, @cap_pct, @guarantee_pct and @memory_max_bytes. The
	 * reply contains it with its index, which no later tenant of this arbiter gets.
	 */
	COMPUTE_ADD,
	/* Its clients then belong to the tenant with index 0. */
	COMPUTE_REMOVE,
	COMPUTE_SET_CAP,	/* @tenant, @cap_pct */
	COMPUTE_SET_WEIGHT,	/* @tenant, @weight */
	COMPUTE_SET_GUARANTEE,	/* @tenant, @guarantee_pct */
	COMPUTE_SET_MEMORY,	/* @tenant, @memory_max_bytes */
	COMPUTE_SET_DISCIPLINE, /* @id contains the name */
	COMPUTE_SET_SLICE,	/* @slice_ns */
	COMPUTE_VERBS		/* number of verbs + 1 */
};

#define COMPUTE_SLICE_MIN_NS 100000u	 /* 0.1 ms */
#define COMPUTE_SLICE_MAX_NS 1000000000u /* 1 s */

/* A member that the verb does not name is 0, and @tenant is COMPUTE_TENANT_NONE. */
struct compute_request {
	uint32_t magic;
	uint16_t version;
	uint16_t verb;
	uint32_t serial; /* chosen by the client; the reply repeats it */
	uint32_t tenant;
	uint32_t weight;	   /* 1 to COMPUTE_WEIGHT_MAX */
	uint32_t cap_pct;	   /* 1 to 100; 0: no cap */
	uint32_t guarantee_pct;	   /* 0 to 100 */
	uint32_t slice_ns;	   /* COMPUTE_SLICE_MIN_NS to COMPUTE_SLICE_MAX_NS */
	uint64_t memory_max_bytes; /* at least 1; COMPUTE_MEMORY_NO_LIMIT: none */
	char id[COMPUTE_ID_MAX];   /* a control group path, from "/"; padded with NUL */
};

enum compute_state {
	COMPUTE_IDLE,	 /* no client waits for a turn or has work on the device */
	COMPUTE_WAITING, /* a client waits for a turn */
	COMPUTE_RUNNING, /* a client has the turn, or its work is on the device */
	COMPUTE_STATES
};

struct compute_tenant {
	uint32_t index;
	uint32_t state; /* enum compute_state */
	uint32_t clients;
	uint32_t weight;
	uint32_t cap_pct;
	uint32_t guarantee_pct;
	uint64_t memory_max_bytes;
	uint64_t memory_bytes;
	/* totals since ADD; they never decrease */
	uint64_t units;
	uint64_t busy_ns;    /* device time charged to the tenant */
	uint64_t granted_ns; /* time during which the tenant had the turn */
	uint64_t waited_ns;  /* time during which a client waited for a turn */
	uint64_t build_ns;
	uint64_t submissions;
	uint64_t memory_refused;
	uint64_t kernels_whole;
	uint64_t leases_lost; /* turns that ended because a client was stopped or killed */
	char id[COMPUTE_ID_MAX];
};

struct compute_device {
	uint64_t now_ns;   /* CLOCK_MONOTONIC of the reply; all totals are of this instant */
	uint64_t begin_ns; /* start of the arbiter */
	uint64_t busy_ns;  /* device time of all tenants */
	uint64_t memory_bytes;
	uint32_t slice_ns;
	uint32_t tenants; /* with the tenant 0 */
	uint32_t clients;
	uint32_t reserved;
	char name[COMPUTE_TEXT_MAX];
	char discipline[COMPUTE_TEXT_MAX];
};

/*
 * Every reply begins with this head. @error is 0 or a positive errno: ENOENT: no such tenant;
 * EEXIST: a tenant has this id; ENOSPC: too many tenants; EINVAL: a member is out of its range, or
 * the discipline is unknown; EBUSY: tenant 0 cannot be removed; ENOTSUP: the discipline has no such
 * setting; EPROTO: the packet is no valid request (the arbiter then closes the connection).
 * A reply with an error has no body.
 */
struct compute_reply {
	uint32_t magic;
	uint16_t version;
	uint16_t verb;
	uint32_t serial;
	uint32_t error;
	/* number of tenants that follow: 0 to COMPUTE_LIST_MAX (LIST), 1 (ADD, SET_*), else 0 */
	uint32_t tenants;
	/* first index of the next LIST; COMPUTE_TENANT_NONE: the list is complete */
	uint32_t next;
	struct compute_device device; /* every reply contains the device */
	struct compute_tenant tenant[COMPUTE_LIST_MAX];
};

#define COMPUTE_REPLY_BYTES(n) \
	(offsetof(struct compute_reply, tenant) + (n) * sizeof(struct compute_tenant))

_Static_assert(sizeof(struct compute_request) == 40 + COMPUTE_ID_MAX &&
		       sizeof(struct compute_tenant) == 112 + COMPUTE_ID_MAX &&
		       sizeof(struct compute_device) == 48 + 2 * COMPUTE_TEXT_MAX &&
		       offsetof(struct compute_reply, tenant) == 24 + sizeof(struct compute_device),
	       "messages have no padding");

/* Starts a request: magic, version, @verb and @serial are set, and no member is. */
void compute_control_make_request(enum compute_verb verb, uint32_t serial,
				  struct compute_request *ret_request);

/*
 * Check a received packet. Return 0, -EPROTO (wrong size, magic, version, verb, serial or count, a
 * text that is not printable or not padded) or -EINVAL (a member that is out of its range or that
 * the verb does not name). With -EINVAL, @ret_request has verb and serial for the reply.
 */
int compute_control_parse_request(const void *bytes, size_t size,
				  struct compute_request *ret_request);
/* @request: what the reply must belong to. Writes only the tenants that the reply contains. */
int compute_control_parse_reply(const void *bytes, size_t size,
				const struct compute_request *request,
				struct compute_reply *ret_reply);

/* --- the client: one connection, one request at a time --- */

struct compute_control {
	int fd; /* -1: not connected */
	uint32_t serial;
};

#define COMPUTE_CONTROL_NULL ((struct compute_control){.fd = -1})

/*
 * Writes the path of the control socket that belongs to the socket for clients @socket. It is never
 * in the folder that containers mount. Returns 0 or -ENAMETOOLONG.
 */
int compute_control_path(const char *socket, char ret_path[COMPUTE_CONTROL_PATH_MAX]);

/*
 * Connects to the control socket at @path. Does not wait. Returns 0 or a negative errno: -EAGAIN:
 * the arbiter has too many unaccepted connections; -ENAMETOOLONG: @path does not fit.
 */
int compute_control_open(struct compute_control *control, const char *path);

/* Closes the connection, if there is one. */
void compute_control_close(struct compute_control *control);

/*
 * Sends @request, whose serial is set here, and waits for its reply at most @limit_ms. Returns 0
 * and the reply, which may contain an error of the arbiter; or a negative errno: -ENOTCONN,
 * -ETIMEDOUT, -EPROTO (invalid reply), -ECONNRESET (the arbiter has ended). After a negative errno
 * the connection is closed, so that a late reply cannot be taken for the next.
 */
int compute_control_call(struct compute_control *control, struct compute_request *request,
			 int limit_ms, struct compute_reply *ret_reply);

/*
 * Reads all tenants in order of their indices. Stores the first @max of them in @tenants. Returns 0
 * and the number of existing tenants, or the errors of compute_control_call(). -EPROTO: the arbiter
 * reports more than 65,536 tenants. @limit_ms is the
 * limit of each request; there is at most one for every COMPUTE_LIST_MAX tenants.
 */
int compute_control_list(struct compute_control *control, int limit_ms,
			 struct compute_tenant *tenants, unsigned int max,
			 struct compute_device *ret_device, unsigned int *ret_n);

#endif
