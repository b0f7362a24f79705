/* SPDX-License-Identifier: MIT */
/*
 * Parses the text of /proc/PID/fdinfo/N of a DRM file, as Documentation/gpu/drm-usage-stats.rst of
 * Linux describes it, and converts the counters of a client into the time that it has used. Pure.
 */
#ifndef GPU_DRM_FDINFO_H
#define GPU_DRM_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDINFO_TEXT_MAX	   8192 /* size of a text with its NUL; a longer text is rejected */
#define FDINFO_NAME_MAX	   32	/* size of the name of an engine or driver with its NUL */
#define FDINFO_ENGINES_MAX 12

/* A class of engines. A driver reports busy time, cycles, or both. */
struct fdinfo_engine {
	char name[FDINFO_NAME_MAX];
	bool busy_valid;
	uint64_t busy_ns; /* time of the client on all engines of the class */
	bool cycles_valid;
	uint64_t cycles; /* busy cycles of the client on all engines of the class */
	bool total_valid;
	uint64_t total_cycles; /* cycles of one engine since an unknown time, busy or not */
	uint64_t max_hz;       /* 0: not reported */
	uint64_t capacity;     /* engines in the class, 1..1024 */
};

struct fdinfo {
	char driver[FDINFO_NAME_MAX];
	char pdev[FDINFO_NAME_MAX]; /* PCI address; "": not a PCI device */
	bool client_valid;
	uint64_t client; /* unique for each device, or on the host if there is no PCI address */
	struct fdinfo_engine engines[FDINFO_ENGINES_MAX];
	int n_engines; /* engine classes whose use can be computed: from busy time, or from cycles
			* with their total or frequency */
	bool memory_valid;
	/* resident memory of the client: on the device, or in the system if the driver reports no
	 * memory on the device */
	uint64_t memory_bytes;
};

/*
 * Parses @length bytes of @text. Returns -ENODATA if the text is not that of a DRM file (without
 * the key drm-driver), -EINVAL if the value of a known key is malformed or out of range, or if the
 * text contains a NUL, and -E2BIG if it is too long, has too many engine classes, or one whose
 * name is empty or too long. Unknown keys are ignored.
 */
int fdinfo_parse(const char *text, size_t length, struct fdinfo *ret_info);

/* State of one client between its readings; zero-initialised. */
struct meter {
	bool primed;
	int n_engines;
	struct meter_engine {
		char name[FDINFO_NAME_MAX];
		/* largest values so far */
		uint64_t busy_ns, cycles, total_cycles;
	} engines[FDINFO_ENGINES_MAX];
};

struct meter_growth {
	int n_engines;
	struct {
		const char *name; /* in the struct fdinfo */
		/* time used since the last reading, divided by the engines of the class */
		double ns;
	} engines[FDINFO_ENGINES_MAX];
};

/*
 * Writes the growth since the last reading of the same client, which was @passed_ns ago. If this is
 * the first reading: with @is_new, the client did not exist @passed_ns ago, and its whole busy time
 * counts, but at most @passed_ns; otherwise the growth is 0.
 */
void meter_advance(struct meter *meter, const struct fdinfo *info, uint64_t passed_ns, bool is_new,
		   struct meter_growth *ret_growth);

#endif
