/* SPDX-License-Identifier: MIT */
/*
 * Intel GPUs with SR-IOV: a vGPU is an enabled virtual function. Its cap is a time slice in the
 * round of all functions (quanta.h), its busy time comes from the PMU of the physical function
 * (usage.h). Never enables or disables a virtual function: the administrator writes sriov_numvfs.
 *
 * Stopping a GPU leaves quanta and priorities unchanged. docs/sriov.md lists all files.
 *
 * The caps and quanta that the daemon last wrote are in a small file of the state directory. A
 * quantum does not show its cap exactly, and the quantum of the physical function does not show its
 * own part; so a daemon that starts again reads them there. An entry counts only in the same life
 * of its function and while the driver has its quantum: newer drivers give each function 16 ms when
 * it is enabled, which may be the quantum of the entry. The file needs no fsync, because it does
 * not count after a reboot.
 *
 * What happens with the slice of a function that has no work: with priority normal the function
 * keeps it, so that caps are limits; with priority low the next function has its turn, so that caps
 * are guarantees. The driver has one setting for all functions (the physical function alone may
 * also have priority high). Older drivers have the policy sched_if_idle instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "gpu/gpu.h"
#include "gpu/xe/layout.h"
#include "gpu/xe/pmu.h"
#include "gpu/xe/quanta.h"
#include "gpu/xe/xe.h"

#define FILE_BYTES_MAX 32768
#define HEADER	       "gover-xe 1 %31s own %" SCNu32 " found %" SCNu32 "%n"
#define WRITTEN	       " at %" SCNu64 "%n" /* optional end of the header */
#define LIFE	       " link %ju%n"	   /* optional end of an entry */

/* Values of the driver that mean "no limit". It may give a new function another value. */
#define NO_QUANTUM_MS 0
#define NO_TIMEOUT_US 0

#define OWN_LEAST_MS 1 /* of the physical function, if no program has chosen its quantum */

#define SHARING_MAX	 16
#define SHARING_TEXT_MAX 64

/* In a longer time, total ticks must grow. A shorter one may be within a step of the counters. */
#define STILL_NS 50000000

/*
 * A cap is remembered with the quantum that was written for it. While the driver has this quantum,
 * the cap is in force. Another quantum was set by another program; its cap is its part of the
 * round.
 */
struct function {
	char id[ID_MAX];
	ino_t link; /* identifies this life of the function; 0: not enabled */
	struct xe_files quantum;
	uint32_t quantum_ms; /* last value read or written */
	int cap_pct;	     /* cap of this quantum; 0: no limit */
	/* cap that it had when it was enabled while the daemon ran; 0: no limit, or unknown */
	int first_cap_pct;
	bool mixed;   /* the GTs of the device have different quanta */
	bool guarded; /* it has a preemption timeout */
};

/* What was known of a function before and after the last write. */
struct remembered {
	bool known;
	int cap_pct[2];
	uint32_t quantum_ms[2];
	ino_t link; /* life of the function, see struct function; 0: unknown */
};

struct memory {
	bool valid;
	uint64_t written_s; /* CLOCK_BOOTTIME; 0: unknown */
	uint32_t own_ms, found_ms;
	struct remembered of[XE_VFS_MAX + 1];
};

struct functions {
	struct xe_place place;
	struct xe_quanta_limits limits;
	uint32_t preempt_timeout_us;
	char memory[PATH_MAX]; /* file of caps and quanta; "": none */
	/* [0] is the physical function, the others are the virtual functions by their numbers */
	struct function all[XE_VFS_MAX + 1];
	int n;	     /* virtual functions 1 to n are enabled */
	bool opened; /* functions that are found now were enabled while the daemon ran */
	/* Set by the first cap: the quantum of the physical function is ours. */
	bool steered;
	/* the enabled functions or a quantum have changed since the last plan was written */
	bool unbalanced;
	/* the driver has reset all quanta since the last plan: all functions were enabled anew */
	bool renewed;
	/* of the physical function; not known before the first cap */
	struct {
		bool known;
		uint32_t own_ms;   /* its own quantum in each round */
		uint32_t found_ms; /* as it is restored */
	} pf;
};

/*
 * True if the physical function has the quantum of each virtual function: it is the default of the
 * driver, and no program has chosen it for the physical function.
 */
static bool is_default(const struct functions *functions)
{
	int vf = 1;

	while (vf <= functions->n && functions->all[vf].quantum_ms == functions->all[0].quantum_ms)
		vf++;
	return functions->n > 0 && vf > functions->n;
}

/* Before the first cap: the present quantum of the physical function becomes its own one. */
static void take_over(struct functions *functions)
{
	uint32_t is_ms = functions->all[0].quantum_ms;
	bool chosen = !is_default(functions);

	if (functions->pf.known && !chosen && is_ms != NO_QUANTUM_MS)
		return; /* the driver has replaced the quantum that was restored */
	functions->pf.known = true;
	functions->pf.found_ms = is_ms;
	functions->pf.own_ms = chosen && is_ms != NO_QUANTUM_MS ? is_ms : OWN_LEAST_MS;
}

static bool parse_header(const char *line, const char *pci, struct memory *memory)
{
	char of[XE_PCI_MAX];
	int length = -1, end = 0;

	if (sscanf(line, HEADER, of, &memory->own_ms, &memory->found_ms, &length) != 3 ||
	    length < 0 || strcmp(of, pci) != 0)
		return false;
	if (line[length] != '\0' &&
	    (sscanf(line + length, WRITTEN, &memory->written_s, &end) != 1 || end == 0))
		return false;
	return line[length + end] == '\0' && memory->own_ms >= OWN_LEAST_MS &&
	       memory->own_ms <= XE_QUANTUM_MAX_MS && memory->found_ms <= XE_QUANTUM_MAX_MS;
}

static bool parse_function(const char *line, struct memory *memory)
{
	struct remembered is = {.known = true};
	uintmax_t link = 0;
	int vf, length = -1, end = 0;

	if (sscanf(line, "%d cap %d %" SCNu32 " before %d %" SCNu32 "%n", &vf, &is.cap_pct[1],
		   &is.quantum_ms[1], &is.cap_pct[0], &is.quantum_ms[0], &length) != 5 ||
	    length < 0 || vf < 0 || vf > XE_VFS_MAX)
		return false;
	if (line[length] != '\0' && (sscanf(line + length, LIFE, &link, &end) != 1 || end == 0))
		return false;
	if (line[length + end] != '\0')
		return false;
	is.link = (ino_t)link;
	for (int i = 0; i < 2; i++)
		if (is.cap_pct[i] < 0 || is.cap_pct[i] > 100)
			return false;
	memory->of[vf] = is;
	return true;
}

static void load_memory(const char *path, const char *pci, struct memory *ret_memory)
{
	CLEANUP_FREE char *text = NULL;
	char *rest = NULL, *line;

	*ret_memory = (struct memory){.valid = false};
	if (path[0] == '\0' || file_read(path, FILE_BYTES_MAX, &text, NULL) < 0)
		return;
	line = strtok_r(text, "\n", &rest);
	ret_memory->valid = line && parse_header(line, pci, ret_memory);
	while (ret_memory->valid && (line = strtok_r(NULL, "\n", &rest)))
		ret_memory->valid = parse_function(line, ret_memory);
	if (ret_memory->written_s > clock_now().boot_ns / NS_PER_S)
		ret_memory->valid = false; /* before a reboot */
}

/* True if a function with this life and quantum has a cap of the daemon. @ret_i: which one. */
static bool is_ours(const struct memory *memory, const struct remembered *is, ino_t link,
		    uint32_t quantum_ms, int *ret_i)
{
	if (!memory->valid || !is->known || (is->link && is->link != link))
		return false;
	*ret_i = is->quantum_ms[1] == quantum_ms;
	return is->quantum_ms[*ret_i] == quantum_ms;
}

/* Prints the file into a text of FILE_BYTES_MAX, which is enough for all functions. */
static size_t print(char *text, const char *pci, const struct memory *memory)
{
	int at = snprintf(text, FILE_BYTES_MAX,
			  "gover-xe 1 %s own %" PRIu32 " found %" PRIu32 " at %" PRIu64 "\n", pci,
			  memory->own_ms, memory->found_ms, memory->written_s);

	for (int vf = 0; vf <= XE_VFS_MAX; vf++) {
		const struct remembered *is = &memory->of[vf];

		if (is->known)
			at += snprintf(text + at, FILE_BYTES_MAX - (size_t)at,
				       "%d cap %d %" PRIu32 " before %d %" PRIu32 " link %ju\n", vf,
				       is->cap_pct[1], is->quantum_ms[1], is->cap_pct[0],
				       is->quantum_ms[0], (uintmax_t)is->link);
	}
	return (size_t)at;
}

static int write_text(const char *path, const char *text, size_t length)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n = fd < 0 ? -1 : write(fd, text, length);

	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -ENOSPC;
}

static int save_memory(const char *path, const char *pci, const struct memory *memory)
{
	CLEANUP_FREE char *text = NULL;
	char fresh[PATH_MAX + sizeof(".new")];
	int r;

	if (path[0] == '\0')
		return 0;
	text = xmalloc(FILE_BYTES_MAX);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	r = write_text(fresh, text, print(text, pci, memory));
	if (r == 0 && rename(fresh, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(fresh);
	return r;
}

/* --- which functions are enabled --- */

/* Adds up the present quanta, which gives the length of the round. */
static uint32_t total_ms(const struct functions *functions)
{
	uint32_t sum_ms = 0;

	for (int vf = 0; vf <= functions->n; vf++)
		sum_ms += functions->all[vf].quantum_ms;
	return sum_ms;
}

static void lose(struct function *function)
{
	xe_files_close(&function->quantum);
	*function = (struct function){.link = 0};
}

static int find_one(struct functions *functions, int vf, ino_t link)
{
	struct function *function = &functions->all[vf];
	char pci[XE_PCI_MAX];
	int r;

	lose(function);
	r = xe_place_vf(&functions->place, vf, pci);
	if (r == 0)
		r = xe_files_open(&functions->place, vf, "exec_quantum_ms", &function->quantum);
	if (r == 0)
		r = xe_files_read(&function->quantum, &function->quantum_ms);
	if (r == -EUCLEAN) /* the next write repairs it */
		r = 0;
	if (r < 0) {
		xe_files_close(&function->quantum);
		return r;
	}
	xe_place_id(pci, function->id);
	function->link = link;
	return 1;
}

/* After an error. The next call finds these functions again, because they have no caps yet. */
static void lose_fresh(struct functions *functions, const bool *fresh)
{
	for (int vf = 1; vf <= XE_VFS_MAX; vf++)
		if (fresh[vf])
			lose(&functions->all[vf]);
}

/* Takes the caps of the functions in @fresh from the memory, or from their parts of the round. */
static void value_caps(struct functions *functions, const bool *fresh)
{
	CLEANUP_FREE struct memory *memory = xcalloc(1, sizeof(*memory));
	uint32_t round_ms = total_ms(functions);

	load_memory(functions->memory, functions->place.pci, memory);
	for (int vf = 1; vf <= functions->n; vf++) {
		struct function *function = &functions->all[vf];
		const struct remembered *is = &memory->of[vf];
		int i;

		if (!fresh[vf])
			continue;
		function->cap_pct = xe_quanta_cap_pct(function->quantum_ms, round_ms);
		if (function->quantum_ms != NO_QUANTUM_MS &&
		    is_ours(memory, is, function->link, function->quantum_ms, &i))
			function->cap_pct = is->cap_pct[i];
		function->first_cap_pct = functions->opened ? function->cap_pct : 0;
	}
}

/*
 * Reads the quantum of a function. Another quantum than the last one was set by another program:
 * then its cap is its part of the round, and the quantum of the physical function is its own one,
 * unless the driver has reset it because all virtual functions were disabled: to no limit or, if
 * they are enabled again, to its default.
 */
static int refresh(struct functions *functions, int vf)
{
	struct function *function = &functions->all[vf];
	uint32_t is_ms;
	int r = xe_files_read(&function->quantum, &is_ms);

	function->mixed = r == -EUCLEAN;
	if (r < 0 || is_ms == function->quantum_ms)
		return r;
	function->quantum_ms = is_ms;
	functions->unbalanced = true;
	if (vf > 0)
		function->cap_pct = xe_quanta_cap_pct(is_ms, total_ms(functions));
	else if (functions->steered && is_ms != NO_QUANTUM_MS &&
		 !(functions->renewed && is_default(functions)))
		functions->pf.own_ms = is_ms;
	return 0;
}

/* Returns 1 if the set of enabled functions has changed, 0 if it has not, or a negative errno. */
static int find_functions(struct functions *functions)
{
	bool fresh[XE_VFS_MAX + 1] = {false};
	int vf, last = functions->n, r, changed = 0;
	bool kept = false;
	ino_t link;

	for (vf = 1; vf <= XE_VFS_MAX; vf++) {
		r = xe_place_link(&functions->place, vf, &link);
		if (r == 0 && link == functions->all[vf].link) {
			kept = true;
			continue;
		}
		if (r == 0)
			r = find_one(functions, vf, link);
		if (r == -ENOENT || r == -ENODEV)
			break;
		if (r < 0) {
			lose_fresh(functions, fresh);
			return r;
		}
		fresh[vf] = true;
		changed = 1;
	}
	functions->n = vf - 1;
	for (; vf <= last; vf++) {
		lose(&functions->all[vf]);
		changed = 1;
	}
	if (changed) {
		functions->renewed |= functions->opened && !kept;
		(void)refresh(functions, 0); /* the next plan reports an error */
		value_caps(functions, fresh);
		functions->unbalanced = true;
	}
	return changed;
}

static int index_of(const struct functions *functions, const char *id)
{
	for (int vf = 1; vf <= functions->n; vf++)
		if (strcmp(functions->all[vf].id, id) == 0)
			return vf;
	return 0;
}

static void recall_pf(struct functions *functions)
{
	CLEANUP_FREE struct memory *memory = xcalloc(1, sizeof(*memory));
	uint32_t is_ms = functions->all[0].quantum_ms;
	int i;

	load_memory(functions->memory, functions->place.pci, memory);
	if (is_ms == NO_QUANTUM_MS || !is_ours(memory, &memory->of[0], 0, is_ms, &i))
		return;
	functions->pf.known = true;
	functions->pf.found_ms = memory->found_ms;
	functions->pf.own_ms = memory->own_ms;
	functions->steered = true;
}

static void close_functions(struct functions *functions)
{
	for (int vf = 0; vf <= XE_VFS_MAX; vf++)
		xe_files_close(&functions->all[vf].quantum);
}

static int open_functions(struct functions *functions, struct err *reterr)
{
	struct function *pf = &functions->all[0];
	int r = xe_files_open(&functions->place, 0, "exec_quantum_ms", &pf->quantum);

	if (r == 0)
		r = xe_files_read(&pf->quantum, &pf->quantum_ms);
	if (r == -EUCLEAN)
		r = 0;
	if (r == 0) {
		recall_pf(functions);
		r = find_functions(functions);
	}
	functions->opened = r >= 0;
	functions->unbalanced = false; /* nothing is written before the vGPUs are known */
	if (functions->opened)
		return 0;
	close_functions(functions);
	return err_fail(reterr, -r, "GPU %s: exec_quantum_ms: %s", functions->place.pci,
			xe_error_text(r));
}

/* --- caps --- */

static int check_life(const struct functions *functions, int vf, ino_t link)
{
	ino_t is;
	int r = xe_place_link(&functions->place, vf, &is);

	if (r == -ENOENT || (r == 0 && (is != link || functions->all[vf].link != link)))
		return -ENODEV; /* it was disabled, or enabled again */
	return r < 0 ? gpu_gone_or(r) : 0;
}

/* @link: as when the caller found the function. -ENODEV: it was disabled since then. */
static int read_function_cap(struct functions *functions, int vf, ino_t link, int *ret_cap_pct)
{
	uint32_t was_ms = functions->all[vf].quantum_ms;
	int r = check_life(functions, vf, link);

	if (r == 0)
		r = refresh(functions, vf);
	/* The driver removes the link before it resets the quantum of a function that is disabled.
	 */
	if (r == 0 && functions->all[vf].quantum_ms != was_ms)
		r = check_life(functions, vf, link);
	if (r == 0)
		*ret_cap_pct = functions->all[vf].cap_pct;
	return r;
}

static int reopen_functions(struct functions *functions, const struct xe_place *place)
{
	struct xe_files quantum = {.n = 0};
	uint32_t is_ms;
	int r = xe_files_open(place, 0, "exec_quantum_ms", &quantum);

	if (r < 0)
		return r;
	for (int vf = 1; vf <= functions->n; vf++)
		lose(&functions->all[vf]);
	xe_files_close(&functions->all[0].quantum);
	functions->place = *place;
	functions->all[0].quantum = quantum;
	functions->all[0].guarded = false;
	/* find_functions() takes the value, when the virtual functions are known */
	r = xe_files_read(&quantum, &is_ms);
	return r == -EUCLEAN ? 0 : r;
}

static int refresh_all(struct functions *functions)
{
	int r = 0;

	for (int vf = 0; vf <= functions->n; vf++) {
		int r_one = refresh(functions, vf);

		/* a function with different values in its GTs gets one by its next cap */
		if (r_one < 0 && r_one != -EUCLEAN && r == 0)
			r = r_one;
	}
	return r;
}

/* Stores the caps before and after the change. */
static int remember(const struct functions *functions, const struct xe_slice *slices,
		    uint32_t pf_ms)
{
	CLEANUP_FREE struct memory *memory = xcalloc(1, sizeof(*memory));

	memory->written_s = clock_now().boot_ns / NS_PER_S;
	memory->own_ms = functions->pf.own_ms;
	memory->found_ms = functions->pf.found_ms;
	for (int vf = 0; vf <= functions->n; vf++) {
		const struct function *was = &functions->all[vf];

		memory->of[vf] = (struct remembered){
			.known = true,
			.link = was->link,
			.cap_pct = {was->cap_pct, vf ? slices[vf - 1].cap_pct : 0},
			.quantum_ms = {was->quantum_ms, vf ? slices[vf - 1].quantum_ms : pf_ms},
		};
	}
	return save_memory(functions->memory, functions->place.pci, memory);
}

/*
 * The driver may round a quantum, so the value in force is read back. @repairs: write a mixed
 * quantum even if it is the last known one.
 */
static int write_quantum(struct function *function, uint32_t quantum_ms, bool repairs)
{
	int r;

	if (function->quantum_ms == quantum_ms && !(repairs && function->mixed))
		return 0;
	r = xe_files_write(&function->quantum, quantum_ms);
	if (r == 0)
		r = xe_files_read(&function->quantum, &function->quantum_ms);
	return r;
}

/*
 * A function without a preemption timeout can keep the GPU for as long as one of its programs runs.
 * A timeout that the administrator has set stays.
 */
static void guard(struct functions *functions, int vf)
{
	struct function *function = &functions->all[vf];
	struct xe_files files = {.n = 0};
	uint32_t is_us;
	int r;

	if (function->guarded)
		return;
	r = xe_files_open(&functions->place, vf, "preempt_timeout_us", &files);
	if (r == 0)
		r = xe_files_read(&files, &is_us);
	if (r == -EUCLEAN || (r == 0 && is_us == NO_TIMEOUT_US))
		r = xe_files_write(&files, functions->preempt_timeout_us);
	xe_files_close(&files);
	function->guarded = r == 0; /* otherwise the next cap tries again, and doctor warns */
}

/*
 * Writes the quanta of a plan: smaller ones first, so that no function gets more than its old and
 * new share meanwhile. Only the function whose cap changes is repaired: one that stays mixed must
 * not make the writes of the others fail.
 */
static int apply(struct functions *functions, const struct xe_slice *slices, uint32_t pf_ms,
		 int changed_vf)
{
	int r = 0;

	for (int grows = 0; grows < 2; grows++)
		for (int vf = 0; vf <= functions->n && r == 0; vf++) {
			struct function *function = &functions->all[vf];
			uint32_t to_ms = vf ? slices[vf - 1].quantum_ms : pf_ms;
			bool larger = to_ms > function->quantum_ms && function->quantum_ms > 0;

			if (vf > 0 && slices[vf - 1].cap_pct == 0)
				continue;
			if (larger == (grows > 0))
				r = write_quantum(function, to_ms, vf > 0 && vf == changed_vf);
			if (r == 0 && vf > 0 && larger == (grows > 0))
				function->cap_pct = slices[vf - 1].cap_pct;
		}
	return r;
}

/* Plans the round with @cap_pct for function @vf (0: no cap changes), and writes it. */
static int plan(struct functions *functions, int changed_vf, int cap_pct)
{
	struct xe_slice slices[XE_VFS_MAX];
	struct xe_round round;
	int r;

	for (int vf = 1; vf <= functions->n; vf++) {
		const struct function *function = &functions->all[vf];

		slices[vf - 1] = (struct xe_slice){
			.cap_pct = vf == changed_vf ? cap_pct : function->cap_pct,
			.changed = vf == changed_vf && cap_pct != function->cap_pct,
			.quantum_ms = function->quantum_ms,
		};
	}
	if (!functions->steered)
		take_over(functions);
	xe_quanta_plan(&functions->limits, functions->pf.own_ms,
		       functions->steered ? functions->all[0].quantum_ms : 0, slices, functions->n,
		       &round);
	r = remember(functions, slices, round.pf_ms);
	if (r < 0)
		return r;
	functions->steered = true;
	r = apply(functions, slices, round.pf_ms, changed_vf);
	functions->unbalanced = r < 0;
	functions->renewed = functions->renewed && r < 0;
	return r;
}

static int write_function_cap(struct functions *functions, int vf, ino_t link, int cap_pct)
{
	int r = check_life(functions, vf, link);

	if (r == 0)
		r = refresh_all(functions);
	if (r < 0)
		return r;
	guard(functions, vf);
	return plan(functions, vf, cap_pct);
}

/*
 * Adapts the round if the enabled functions have changed or another program has written a quantum,
 * and if caps were set before: each function then has the share of its cap again, and the physical
 * function the rest. Without an enabled function, restores the quantum that the physical function
 * had before the first cap. After an error, the next call tries again.
 */
static int balance(struct functions *functions)
{
	int r;

	if (!functions->steered)
		return 0;
	if (functions->n > 0) {
		/* No vGPU reads the quantum of the physical function. */
		r = functions->unbalanced ? refresh_all(functions) : refresh(functions, 0);
		return r < 0 || !functions->unbalanced ? r : plan(functions, 0, 0);
	}
	r = write_quantum(&functions->all[0], functions->pf.found_ms, /* repairs= */ true);
	functions->steered = r < 0;
	return r;
}

/* The words of the driver for each sharing. */
static const struct {
	const char *sharing;
	const char *priority; /* sched_priority */
	const char *if_idle;  /* sched_if_idle */
} words[] = {
	{"guarantee", "low", "0"},
	{"hard", "normal", "1"},
	{"high", "high", NULL},
};

/* Cuts the text to the word in brackets: "[low] normal" becomes "low". */
static int cut_choice(char *text)
{
	char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (!end)
		return -EINVAL;
	*end = '\0';
	memmove(text, begin + 1, strlen(begin + 1) + 1);
	return 0;
}

static int name_of(enum xe_sharing_form form, const char *text, const char **ret_name)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *word =
			form == XE_SHARING_PRIORITY ? words[i].priority : words[i].if_idle;

		if (word && strcmp(word, text) == 0) {
			*ret_name = words[i].sharing;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_priority(const struct xe_place *place, int vf, const char **ret_name)
{
	struct xe_files files = {.n = 0};
	char text[SHARING_TEXT_MAX];
	int r = xe_files_open(place, vf, "sched_priority", &files);

	if (r == 0)
		r = xe_files_read_text(&files, text, sizeof(text));
	xe_files_close(&files);
	if (r == 0)
		r = cut_choice(text);
	return r < 0 ? r : name_of(XE_SHARING_PRIORITY, text, ret_name);
}

static int read_if_idle(const struct xe_place *place, const char **ret_name)
{
	struct xe_files files = {.n = 0};
	char text[SHARING_TEXT_MAX];
	int r = xe_files_open_sharing(place, &files);

	if (r == 0)
		r = xe_files_read_text(&files, text, sizeof(text));
	xe_files_close(&files);
	return r < 0 ? r : name_of(XE_SHARING_IF_IDLE, text, ret_name);
}

/*
 * Reads the setting of functions 0 to @n_vfs as "hard", "guarantee", "high" (the physical function
 * has priority over all others) or "mixed". Returns a negative errno; -EOPNOTSUPP: the driver has
 * no such setting.
 */
static int read_sharing(const struct xe_place *place, int n_vfs, char ret_word[SHARING_MAX])
{
	const char *name = "", *other;
	bool if_idle = place->layout->form == XE_SHARING_IF_IDLE;
	int r = if_idle ? read_if_idle(place, &name) : read_priority(place, 0, &name);

	for (int vf = 1; vf <= n_vfs && r == 0 && !if_idle; vf++) {
		r = read_priority(place, vf, &other);
		if (r == 0 && strcmp(name, other) != 0 && strcmp(name, "high") != 0)
			name = "mixed";
	}
	if (r == -ENOENT)
		return -EOPNOTSUPP;
	if (r == -EUCLEAN) {
		name = "mixed"; /* a write repairs it */
		r = 0;
	}
	if (r == 0)
		snprintf(ret_word, SHARING_MAX, "%s", name);
	return r;
}

static int write_sharing(const struct xe_place *place, bool guarantee)
{
	size_t row = guarantee ? 0 : 1;
	struct xe_files files = {.n = 0};
	int r = xe_files_open_sharing(place, &files);

	if (r == 0)
		r = xe_files_write_text(&files, place->layout->form == XE_SHARING_PRIORITY
							? words[row].priority
							: words[row].if_idle);
	xe_files_close(&files);
	return r == -ENOENT ? -EOPNOTSUPP : r;
}

struct gpu {
	struct functions functions;
	char root[GPU_ROOT_MAX]; /* of sysfs */
	struct err lost;	 /* why the driver cannot be found again; "": it is bound */
	char device[PATH_MAX];	 /* path of the device in sysfs; "": unknown */
	double speed;
	bool dry_run;
	bool guarantees;
	const char *word;   /* the sharing that this daemon has set; NULL: none */
	struct xe_pmu *pmu; /* NULL: no busy times */
	/* why counters of some or all functions are not read; 0: all are read */
	int pmu_errno;
	struct backoff pmu_opening;
	/* Counters of all functions are read together, so that their sums are of one instant. */
	struct xe_usage usage[XE_VFS_MAX + 1];
	struct xe_counts counts[XE_VFS_MAX + 1]; /* of the last reading */
	bool counted[XE_VFS_MAX + 1];		 /* xe_pmu_add() has succeeded */
	uint64_t read_ns;			 /* time of the last reading; 0: none */
	bool counting;
	struct xe_rate rate;
};

struct gpu_vgpu {
	struct gpu *gpu;
	int vf;
	ino_t link;
	uint64_t taken_ns; /* time of the last reading that was given out */
};

/* --- counters --- */

static void drop_events(struct gpu *gpu, int vf)
{
	xe_pmu_remove(gpu->pmu, vf);
	gpu->counted[vf] = false;
	gpu->usage[vf].valid = gpu->usage[vf].known = false;
}

/*
 * Opens the events of new functions, and closes those of functions that are gone. Returns the first
 * error.
 */
static int follow_functions(struct gpu *gpu)
{
	int r = 0;

	for (int vf = 0; gpu->pmu && vf <= XE_VFS_MAX; vf++) {
		bool wanted = vf <= gpu->functions.n;
		int r_one = 0;

		if (wanted == gpu->counted[vf])
			continue;
		if (wanted)
			r_one = xe_pmu_add(gpu->pmu, vf);
		else
			drop_events(gpu, vf);
		gpu->counted[vf] = wanted && r_one == 0;
		r = r == 0 ? r_one : r;
	}
	return r;
}

static void close_counters(struct gpu *gpu)
{
	for (int vf = 0; gpu->pmu && vf <= XE_VFS_MAX; vf++)
		drop_events(gpu, vf);
	xe_pmu_close(gpu->pmu);
	gpu->pmu = NULL;
}

/*
 * Opens the counters that are not open. The next attempt is later, even if this one succeeds,
 * because the first reading may fail. The counters of the physical function fail only if those of
 * the device do.
 */
static void open_counters(struct gpu *gpu, uint64_t now_ns)
{
	int r = 0;

	if (!backoff_is_due(&gpu->pmu_opening, now_ns))
		return;
	backoff_fail(&gpu->pmu_opening, now_ns);
	if (gpu->pmu && !gpu->counted[0])
		close_counters(gpu);
	if (!gpu->pmu)
		r = xe_pmu_open(&gpu->functions.place, &xe_perf_kernel, &gpu->pmu);
	if (r == 0)
		r = follow_functions(gpu);
	gpu->pmu_errno = -r;
}

/* Reads the counters of all functions, and adds the time since the last reading to each. */
static void count(struct gpu *gpu, uint64_t now_ns)
{
	static const struct xe_counts none;
	struct xe_usage *usages[XE_VFS_MAX + 1];
	double dt_ns = gpu->counting ? (double)(now_ns - gpu->read_ns) * gpu->speed : 0;
	int n = gpu->functions.n + 1, error = 0, r;

	if (gpu->pmu_errno)
		open_counters(gpu, now_ns);
	if (!gpu->pmu || (gpu->counting && now_ns <= gpu->read_ns))
		return;
	for (int vf = 0; vf < n; vf++) {
		usages[vf] = &gpu->usage[vf];
		gpu->counts[vf] = none;
		r = gpu->counted[vf] ? xe_pmu_read(gpu->pmu, vf, &gpu->counts[vf]) : 0;
		if (r < 0)
			drop_events(gpu, vf);
		error = r < 0 ? -r : error;
	}
	if (!xe_usage_advance(usages, gpu->counts, n, dt_ns, &gpu->rate) && dt_ns >= STILL_NS) {
		close_counters(gpu);
		error = ENODATA;
	}
	if (error)
		gpu->pmu_errno = error;
	else if (!gpu->pmu_errno && dt_ns >= STILL_NS)
		backoff_reset(&gpu->pmu_opening);
	gpu->read_ns = now_ns;
	gpu->counting = true;
}

/* The driver was unbound. Finds it again if it was bound again meanwhile. */
static int find_driver(struct gpu *gpu)
{
	CLEANUP_FREE struct xe_place *place = xmalloc(sizeof(*place));
	int r = xe_place_find(gpu->root, gpu->functions.place.pci, place, &gpu->lost);

	if (r == 0) {
		r = reopen_functions(&gpu->functions, place);
		if (r < 0)
			(void)err_fail(&gpu->lost, -r, "exec_quantum_ms: %s", xe_error_text(r));
	}
	if (r < 0)
		return -ENODEV;
	gpu->lost.msg[0] = '\0';
	close_counters(gpu);
	gpu->pmu_errno = ENODEV;
	backoff_reset(&gpu->pmu_opening);
	return 0;
}

/* Finds the enabled functions. The time until now belongs to the earlier set. */
static int find(struct gpu *gpu)
{
	const struct functions *functions = &gpu->functions;
	bool bound =
		xe_files_exist(&functions->place, 0, "exec_quantum_ms", &functions->all[0].quantum);
	int r = bound ? 0 : find_driver(gpu);

	if (r == 0)
		r = find_functions(&gpu->functions);
	if (r > 0 && !gpu->pmu_errno)
		gpu->pmu_errno = -follow_functions(gpu);
	return r;
}

/* What the errors of the counters mean; others have the text of strerror(). */
static const struct {
	int error;
	const char *text;
} pmu_texts[] = {
	{ENOENT, "this kernel or driver counts no ticks of functions (Linux 6.16 or later does)"},
	{EACCES, "the permission is missing (CAP_PERFMON, or kernel.perf_event_paranoid = 0)"},
	{ENODATA, "they do not grow"},
};

static void describe_problem(const struct gpu *gpu, struct err *ret_problem)
{
	const char *text = strerror(gpu->pmu_errno);

	if (gpu->lost.msg[0]) {
		*ret_problem = gpu->lost;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(pmu_texts); i++)
		if (pmu_texts[i].error == gpu->pmu_errno)
			text = pmu_texts[i].text;
	if (gpu->pmu_errno)
		(void)err_fail(ret_problem, gpu->pmu_errno, "the counters of ticks: %s", text);
}

/* --- opening --- */

static bool xe_present(const struct gpu_config *config)
{
	CLEANUP_FREE struct xe_place *place = xmalloc(sizeof(*place));
	bool present = xe_place_all(gpu_sysfs(config), place, 1) > 0;

	if (present && config->parent[0])
		present = xe_place_find(gpu_sysfs(config), config->parent, place, NULL) == 0;
	return present;
}

static int or_default(int value, int other)
{
	return value > 0 ? value : other;
}

static int set_up(struct gpu *gpu, const struct gpu_config *config, struct err *reterr)
{
	struct functions *functions = &gpu->functions;
	int r = xe_place_find(gpu_sysfs(config), config->parent, &functions->place, reterr);

	if (r < 0)
		return r;
	functions->limits = (struct xe_quanta_limits){
		.least_ms = or_default(config->least_slice_ms, XE_LEAST_SLICE_MS),
		.longest_ms = or_default(config->longest_round_ms, XE_LONGEST_ROUND_MS),
		.tolerance_pt = XE_TOLERANCE_PT,
	};
	functions->preempt_timeout_us =
		(uint32_t)or_default(config->preempt_timeout_ms, XE_PREEMPT_TIMEOUT_MS) * 1000;
	if (config->state_dir[0] &&
	    snprintf(functions->memory, sizeof(functions->memory), "%s/xe-%s.caps",
		     config->state_dir, functions->place.pci) >= (int)sizeof(functions->memory))
		return err_fail(reterr, ENAMETOOLONG, "state_dir: too long");
	return open_functions(functions, reterr);
}

static int open_gpu(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	struct gpu *gpu = xcalloc(1, sizeof(*gpu));
	int r;

	gpu->speed = gpu_speed(config);
	gpu->dry_run = config->dry_run;
	snprintf(gpu->root, sizeof(gpu->root), "%s", gpu_sysfs(config));
	r = set_up(gpu, config, reterr);
	if (r < 0) {
		free(gpu);
		return r;
	}
	if (!realpath(gpu->functions.place.device, gpu->device))
		gpu->device[0] = '\0';
	open_counters(gpu, 0);
	*ret_gpu = gpu;
	return 0;
}

static void close_gpu(struct gpu *gpu)
{
	if (!gpu)
		return;
	xe_pmu_close(gpu->pmu);
	close_functions(&gpu->functions);
	free(gpu);
}

static void get_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	const struct xe_quanta_limits *limits = &gpu->functions.limits;

	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = (100 * limits->least_ms + limits->longest_ms - 1) / limits->longest_ms,
		.min_interval_ms = limits->longest_ms, /* a cap is in effect within one round */
		.share = GPU_HARD_CAP,
		.guarantees = gpu->guarantees,
		.no_ceiling = true,
		.sysfs_device = gpu->device[0] ? gpu->device : NULL,
	};
}

/* --- sharing --- */

/* As keep_sharing() of gvt.c: takes the sharing in force. Returns 1 with a message, or 0. */
static int keep_sharing(struct gpu *gpu, const char *is, struct err *reterr)
{
	bool guarantee = strcmp(is, "guarantee") == 0;

	if (!gpu->dry_run && (guarantee || strcmp(is, "hard") == 0 || strcmp(is, "mixed") == 0))
		return 0;
	gpu->guarantees = guarantee;
	(void)err_fail(reterr, EBUSY,
		       "%s: the functions have sharing %s, and %s does not change it",
		       gpu->functions.place.pci, is, gpu->dry_run ? "a dry run" : "sharing = auto");
	return 1;
}

static int set_sharing(struct gpu *gpu, bool guarantee, bool by_default, struct err *reterr)
{
	const char *word = gpu_sharing_name(guarantee);
	const struct xe_place *place = &gpu->functions.place;
	char is[SHARING_MAX];
	int r = read_sharing(place, gpu->functions.n, is);

	gpu->word = NULL;
	if (r == 0 && strcmp(is, word) != 0 && (by_default || gpu->dry_run) &&
	    keep_sharing(gpu, is, reterr) > 0)
		return 1;
	if (r == 0 && strcmp(is, word) != 0)
		r = write_sharing(place, guarantee);
	if (r < 0)
		return err_fail(reterr, -r, "sharing = %s: %s of GPU %s cannot be set: %s", word,
				place->layout->sharing, place->pci,
				r == -EOPNOTSUPP ? "the driver has no such file"
						 : xe_error_text(r));
	gpu->guarantees = guarantee;
	gpu->word = gpu->dry_run ? NULL : word;
	return 0;
}

static int renew_sharing(struct gpu *gpu, char ret_was[GPU_SHARING_MAX])
{
	char is[SHARING_MAX];
	int r;

	if (!gpu->word)
		return 0;
	r = read_sharing(&gpu->functions.place, gpu->functions.n, is);
	if (r < 0 || strcmp(is, gpu->word) == 0)
		return r;
	snprintf(ret_was, GPU_SHARING_MAX, "%s", is);
	r = write_sharing(&gpu->functions.place, gpu->guarantees);
	return r < 0 ? r : 1;
}

/* --- list --- */

static int list_vgpus(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	int r = find(gpu);

	if (r < 0)
		return gpu_gone_or(r);
	if (!gpu->dry_run)
		(void)balance(&gpu->functions); /* the next listing tries again */
	for (int vf = 1; vf <= gpu->functions.n; vf++)
		found(userdata, gpu->functions.all[vf].id, 0);
	return 0;
}

static int create_vgpu(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	(void)cap_pct;
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s: gover cannot create virtual functions (write their number to "
			"/sys/bus/pci/devices/%s/sriov_numvfs)",
			id, gpu->functions.place.pci);
}

static int destroy_vgpu(struct gpu *gpu, const char *id, struct err *reterr)
{
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s: gover cannot remove virtual functions (write 0 to "
			"/sys/bus/pci/devices/%s/sriov_numvfs)",
			id, gpu->functions.place.pci);
}

/* --- one vGPU --- */

static int attach_vgpu(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct gpu_vgpu *vgpu;
	int cap_pct, vf, r = find(gpu);

	vf = index_of(&gpu->functions, id);
	if (r >= 0 && vf == 0)
		return err_fail(reterr, ENOENT,
				"vGPU %s is not an enabled virtual function of GPU %s", id,
				gpu->functions.place.pci);
	if (r >= 0)
		r = read_function_cap(&gpu->functions, vf, gpu->functions.all[vf].link, &cap_pct);
	if (r < 0)
		return err_fail(reterr, r == -ENODEV ? ENOENT : -r,
				"vGPU %s: exec_quantum_ms cannot be read: %s", id,
				xe_error_text(r));
	vgpu = xmalloc(sizeof(*vgpu));
	*vgpu = (struct gpu_vgpu){
		.gpu = gpu, .vf = vf, .link = gpu->functions.all[vf].link, .taken_ns = now_mono_ns};
	count(gpu, now_mono_ns); /* the first reading then has a busy time */
	*ret_vgpu = vgpu;
	return 0;
}

static void detach_vgpu(struct gpu_vgpu *vgpu)
{
	free(vgpu);
}

static uint64_t get_identity(const struct gpu_vgpu *vgpu)
{
	return vgpu->link;
}

static int read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	return read_function_cap(&vgpu->gpu->functions, vgpu->vf, vgpu->link, ret_cap_pct);
}

/*
 * The first vGPU of a sweep reads the counters of all; the others take their part of this reading.
 */
static int read_vgpu(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading)
{
	struct gpu *gpu = vgpu->gpu;
	const struct xe_usage *usage = &gpu->usage[vgpu->vf];
	struct gpu_reading reading = {.cap_valid = false};
	int r = read_cap(vgpu, &reading.cap_pct);

	if (r == -ENODEV)
		return r;
	reading.cap_valid = r == 0;
	reading.cap_errno = -r;
	if (gpu->read_ns <= vgpu->taken_ns || now_mono_ns > gpu->read_ns + XE_READING_NS)
		count(gpu, now_mono_ns);
	vgpu->taken_ns = gpu->pmu ? gpu->read_ns : now_mono_ns;
	reading.at_ns = (uint64_t)((double)vgpu->taken_ns * gpu->speed);
	reading.busy_valid = usage->valid;
	reading.busy_ns = (uint64_t)usage->busy_ns;
	reading.sched_ns = (uint64_t)usage->sched_ns;
	*ret_reading = reading;
	return 0;
}

static int write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	(void)now_mono_ns;
	if (cap_pct < 1 || cap_pct > 100)
		return -EINVAL;
	return write_function_cap(&vgpu->gpu->functions, vgpu->vf, vgpu->link, cap_pct);
}

/*
 * The driver resets a function that is disabled: it then has no limit. An administrator may write a
 * quantum before the function is enabled again, which is not an external change of its cap.
 */
static int read_initial_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	const struct function *function = &vgpu->gpu->functions.all[vgpu->vf];

	if (function->link != vgpu->link)
		return -ENODEV;
	*ret_cap_pct = function->first_cap_pct;
	return 0;
}

/* The busy time of all functions together. */
static int physical(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
		    uint64_t *ret_busy_ns)
{
	double busy_ns = 0;

	(void)now_mono_ns;
	if (!gpu->pmu || !gpu->usage[0].valid)
		return -ENODATA;
	for (int vf = 0; vf <= gpu->functions.n; vf++)
		busy_ns += gpu->usage[vf].busy_ns;
	*ret_at_ns = (uint64_t)((double)gpu->read_ns * gpu->speed);
	*ret_busy_ns = (uint64_t)busy_ns;
	return 0;
}

static void get_round(const struct gpu *gpu, struct gpu_round *ret_round)
{
	const struct functions *functions = &gpu->functions;
	struct gpu_round round = {.round_ms = 0};
	struct xe_slice slices[XE_VFS_MAX];
	struct xe_round is;

	for (int vf = 1; vf <= functions->n; vf++)
		slices[vf - 1] = (struct xe_slice){
			.cap_pct = functions->all[vf].cap_pct,
			.quantum_ms = functions->all[vf].quantum_ms,
		};
	xe_quanta_measure(functions->all[0].quantum_ms, slices, functions->n, &is);
	if (functions->steered && is.total_ms > 0)
		round = (struct gpu_round){
			.round_ms = (int)is.total_ms,
			.longest_wait_ms = (int)is.wait_ms,
			.host_share_pct = 100.0 * is.pf_ms / is.total_ms,
		};
	*ret_round = round;
}

const struct gpu_ops gpu_xe_ops = {
	.name = "xe",
	.checks = gpu_xe_checks,
	.present = xe_present,
	.open = open_gpu,
	.close = close_gpu,
	.traits = get_traits,
	.list = list_vgpus,
	.create = create_vgpu,
	.destroy = destroy_vgpu,
	.attach = attach_vgpu,
	.detach = detach_vgpu,
	.identity = get_identity,
	.read = read_vgpu,
	.write_cap = write_cap,
	.read_cap = read_cap,
	.sharing.set = set_sharing,
	.sharing.renew = renew_sharing,
	/* not supported: with guarantees, the driver gives idle time to any function with work */
	.sharing.write_ceiling = NULL,
	.lease.read_initial_cap = read_initial_cap,
	.observe.physical = physical,
	.observe.problem = describe_problem,
	.observe.round = get_round,
};
