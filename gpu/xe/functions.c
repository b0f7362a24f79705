/* SPDX-License-Identifier: MIT */
/*
 * Finds enabled functions, writes the quanta of a plan, and keeps the caps and quanta that the
 * daemon last wrote in a small file of the state directory. A quantum does not show its cap
 * exactly, and the quantum of the physical function does not show its own part; so a daemon that
 * starts again reads them there. An entry counts only while the driver has its quantum. The file
 * needs no fsync: after a reboot the driver has no quanta.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "gpu/gpu.h"
#include "gpu/xe/functions.h"

#define FILE_BYTES_MAX 32768
#define HEADER	       "gover-xe 1 %31s own %" SCNu32 " found %" SCNu32 "%n"

/* What was known of a function before and after the last write. */
struct remembered {
	int cap_pct[2];
	uint32_t quantum_ms[2];
};

struct memory {
	bool valid;
	uint32_t own_ms, found_ms;
	struct remembered of[XE_VFS_MAX + 1];
};

static bool parse_header(const char *line, const char *pci, struct memory *memory)
{
	char of[XE_PCI_MAX];
	int length = -1;

	return sscanf(line, HEADER, of, &memory->own_ms, &memory->found_ms, &length) == 3 &&
	       length >= 0 && line[length] == '\0' && strcmp(of, pci) == 0 && memory->own_ms >= 1 &&
	       memory->own_ms <= XE_QUANTUM_MAX_MS && memory->found_ms <= XE_QUANTUM_MAX_MS;
}

static bool parse_function(const char *line, struct memory *memory)
{
	struct remembered is;
	int vf, length = -1;

	if (sscanf(line, "%d cap %d %" SCNu32 " before %d %" SCNu32 "%n", &vf, &is.cap_pct[1],
		   &is.quantum_ms[1], &is.cap_pct[0], &is.quantum_ms[0], &length) != 5 ||
	    length < 0 || line[length] != '\0' || vf < 0 || vf > XE_VFS_MAX)
		return false;
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
}

/* Prints the file into a text of FILE_BYTES_MAX, which is enough for all functions. */
static size_t print(char *text, const char *pci, const struct memory *memory)
{
	int at = snprintf(text, FILE_BYTES_MAX, "gover-xe 1 %s own %" PRIu32 " found %" PRIu32 "\n",
			  pci, memory->own_ms, memory->found_ms);

	for (int vf = 0; vf <= XE_VFS_MAX; vf++) {
		const struct remembered *is = &memory->of[vf];

		if (is->quantum_ms[0] || is->quantum_ms[1])
			at += snprintf(text + at, FILE_BYTES_MAX - (size_t)at,
				       "%d cap %d %" PRIu32 " before %d %" PRIu32 "\n", vf,
				       is->cap_pct[1], is->quantum_ms[1], is->cap_pct[0],
				       is->quantum_ms[0]);
	}
	return (size_t)at;
}

static int write_text(const char *path, const char *text, size_t length)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, length);
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

static int read_quantum(struct xe_function *function, uint32_t *ret_ms)
{
	return xe_files_read(&function->quantum, ret_ms);
}

/* Adds up the present quanta, which gives the length of the round. */
static uint32_t total_ms(const struct xe_functions *functions)
{
	uint32_t sum_ms = 0;

	for (int vf = 0; vf <= functions->n; vf++)
		sum_ms += functions->all[vf].quantum_ms;
	return sum_ms;
}

static int find_one(struct xe_functions *functions, int vf, ino_t link)
{
	struct xe_function *function = &functions->all[vf];
	char pci[XE_PCI_MAX];
	int r;

	xe_files_close(&function->quantum);
	*function = (struct xe_function){.link = 0};
	r = xe_place_vf(&functions->place, vf, pci);
	if (r == 0)
		r = xe_files_open(&functions->place, vf, "exec_quantum_ms", &function->quantum);
	if (r == 0)
		r = read_quantum(function, &function->quantum_ms);
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

static void lose(struct xe_function *function)
{
	xe_files_close(&function->quantum);
	*function = (struct xe_function){.link = 0};
}

/* After an error. The next call finds these functions again, because they have no caps yet. */
static void lose_fresh(struct xe_functions *functions, const bool *fresh)
{
	for (int vf = 1; vf <= XE_VFS_MAX; vf++)
		if (fresh[vf])
			lose(&functions->all[vf]);
}

/* Takes the caps of the functions in @fresh from the memory, or from their parts of the round. */
static void value_caps(struct xe_functions *functions, const bool *fresh)
{
	CLEANUP_FREE struct memory *memory = xcalloc(1, sizeof(*memory));
	uint32_t round_ms = total_ms(functions);

	load_memory(functions->memory, functions->place.pci, memory);
	for (int vf = 1; vf <= functions->n; vf++) {
		struct xe_function *function = &functions->all[vf];
		const struct remembered *is = &memory->of[vf];

		if (!fresh[vf])
			continue;
		function->cap_pct = xe_quanta_cap_pct(function->quantum_ms, round_ms);
		for (int i = 0; i < 2 && memory->valid && function->quantum_ms; i++)
			if (is->quantum_ms[i] == function->quantum_ms)
				function->cap_pct = is->cap_pct[i];
		function->first_cap_pct = functions->opened ? function->cap_pct : 0;
	}
}

int xe_functions_find(struct xe_functions *functions)
{
	bool fresh[XE_VFS_MAX + 1] = {false};
	int vf, last = functions->n, r, changed = 0;
	ino_t link;

	for (vf = 1; vf <= XE_VFS_MAX; vf++) {
		r = xe_place_link(&functions->place, vf, &link);
		if (r == 0 && link == functions->all[vf].link)
			continue;
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
		value_caps(functions, fresh);
		functions->unbalanced = true;
	}
	return changed;
}

int xe_functions_index(const struct xe_functions *functions, const char *id)
{
	for (int vf = 1; vf <= functions->n; vf++)
		if (strcmp(functions->all[vf].id, id) == 0)
			return vf;
	return 0;
}

static void recall_pf(struct xe_functions *functions)
{
	CLEANUP_FREE struct memory *memory = xcalloc(1, sizeof(*memory));
	uint32_t is_ms = functions->all[0].quantum_ms;

	functions->found_ms = is_ms;
	functions->own_ms = is_ms ? is_ms : 1;
	load_memory(functions->memory, functions->place.pci, memory);
	if (!memory->valid || is_ms == 0 ||
	    (is_ms != memory->of[0].quantum_ms[0] && is_ms != memory->of[0].quantum_ms[1]))
		return;
	functions->found_ms = memory->found_ms;
	functions->own_ms = memory->own_ms;
	functions->steered = true;
}

int xe_functions_open(struct xe_functions *functions, struct err *reterr)
{
	struct xe_function *pf = &functions->all[0];
	int r = xe_files_open(&functions->place, 0, "exec_quantum_ms", &pf->quantum);

	if (r == 0)
		r = read_quantum(pf, &pf->quantum_ms);
	if (r == -EUCLEAN)
		r = 0;
	if (r == 0) {
		recall_pf(functions);
		r = xe_functions_find(functions);
	}
	functions->opened = r >= 0;
	functions->unbalanced = false; /* nothing is written before the vGPUs are known */
	if (functions->opened)
		return 0;
	xe_functions_close(functions);
	return err_fail(reterr, -r, "GPU %s: exec_quantum_ms: %s", functions->place.pci,
			xe_error_text(r));
}

bool xe_functions_exist(const struct xe_functions *functions)
{
	return xe_files_exist(&functions->place, 0, "exec_quantum_ms", &functions->all[0].quantum);
}

void xe_functions_close(struct xe_functions *functions)
{
	for (int vf = 0; vf <= XE_VFS_MAX; vf++)
		xe_files_close(&functions->all[vf].quantum);
}

/* --- caps --- */

/*
 * Reads the quantum of a function. Another quantum than the last one was set by another program:
 * then its cap is its part of the round, and the quantum of the physical function is its own one,
 * unless the driver has reset it to 0 because all virtual functions were disabled.
 */
static int refresh(struct xe_functions *functions, int vf)
{
	struct xe_function *function = &functions->all[vf];
	uint32_t is_ms;
	int r = read_quantum(function, &is_ms);

	function->mixed = r == -EUCLEAN;
	if (r < 0 || is_ms == function->quantum_ms)
		return r;
	function->quantum_ms = is_ms;
	functions->unbalanced = true;
	if (vf > 0)
		function->cap_pct = xe_quanta_cap_pct(is_ms, total_ms(functions));
	else if (functions->steered)
		functions->own_ms = is_ms ? is_ms : functions->own_ms;
	else
		functions->found_ms = is_ms, functions->own_ms = is_ms ? is_ms : 1;
	return 0;
}

static int check_life(const struct xe_functions *functions, int vf, ino_t link)
{
	ino_t is;
	int r = xe_place_link(&functions->place, vf, &is);

	if (r == -ENOENT || (r == 0 && is != link))
		return -ENODEV;
	return r < 0 ? gpu_gone_or(r) : 0;
}

int xe_functions_read_cap(struct xe_functions *functions, int vf, ino_t link, int *ret_cap_pct)
{
	uint32_t was_ms = functions->all[vf].quantum_ms;
	int r = check_life(functions, vf, link);

	if (r == 0 && functions->all[vf].link != link)
		return -ENODEV; /* it was enabled again */
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

int xe_functions_reopen(struct xe_functions *functions, const struct xe_place *place)
{
	struct xe_files quantum = {.n = 0};
	int r = xe_files_open(place, 0, "exec_quantum_ms", &quantum);

	if (r < 0)
		return r;
	for (int vf = 1; vf <= functions->n; vf++)
		lose(&functions->all[vf]);
	xe_files_close(&functions->all[0].quantum);
	functions->place = *place;
	functions->all[0].quantum = quantum;
	functions->all[0].guarded = false;
	r = refresh(functions, 0);
	return r == -EUCLEAN ? 0 : r;
}

static int refresh_all(struct xe_functions *functions)
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

void xe_functions_round(const struct xe_functions *functions, struct xe_round *ret_round)
{
	struct xe_slice slices[XE_VFS_MAX];

	for (int vf = 1; vf <= functions->n; vf++)
		slices[vf - 1] = (struct xe_slice){
			.cap_pct = functions->all[vf].cap_pct,
			.quantum_ms = functions->all[vf].quantum_ms,
		};
	xe_quanta_measure(functions->all[0].quantum_ms, slices, functions->n, ret_round);
}

/* Stores the caps before and after the change. */
static int remember(const struct xe_functions *functions, const struct xe_slice *slices,
		    uint32_t pf_ms)
{
	CLEANUP_FREE struct memory *memory = xcalloc(1, sizeof(*memory));

	memory->own_ms = functions->own_ms;
	memory->found_ms = functions->found_ms;
	for (int vf = 0; vf <= functions->n; vf++) {
		const struct xe_function *was = &functions->all[vf];

		memory->of[vf] = (struct remembered){
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
static int write_quantum(struct xe_function *function, uint32_t quantum_ms, bool repairs)
{
	int r;

	if (function->quantum_ms == quantum_ms && !(repairs && function->mixed))
		return 0;
	r = xe_files_write(&function->quantum, quantum_ms);
	if (r == 0)
		r = read_quantum(function, &function->quantum_ms);
	return r;
}

/*
 * A function without a preemption timeout can keep the GPU for as long as one of its programs runs.
 * A timeout that the administrator has set stays.
 */
static void guard(struct xe_functions *functions, int vf)
{
	struct xe_function *function = &functions->all[vf];
	struct xe_files files = {.n = 0};
	uint32_t is_us;
	int r;

	if (function->guarded)
		return;
	r = xe_files_open(&functions->place, vf, "preempt_timeout_us", &files);
	if (r == 0)
		r = xe_files_read(&files, &is_us);
	if (r == -EUCLEAN || (r == 0 && is_us == 0))
		r = xe_files_write(&files, functions->preempt_timeout_us);
	xe_files_close(&files);
	function->guarded = r == 0; /* otherwise the next cap tries again, and doctor warns */
}

/*
 * Writes the quanta of a plan: smaller ones first, so that no function gets more than its old and
 * new share meanwhile. Only the function whose cap changes is repaired: one that stays mixed must
 * not make the writes of the others fail.
 */
static int apply(struct xe_functions *functions, const struct xe_slice *slices, uint32_t pf_ms,
		 int changed_vf)
{
	int r = 0;

	for (int grows = 0; grows < 2; grows++)
		for (int vf = 0; vf <= functions->n && r == 0; vf++) {
			struct xe_function *function = &functions->all[vf];
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
static int plan(struct xe_functions *functions, int changed_vf, int cap_pct)
{
	struct xe_slice slices[XE_VFS_MAX];
	struct xe_round round;
	int r;

	for (int vf = 1; vf <= functions->n; vf++) {
		const struct xe_function *function = &functions->all[vf];

		slices[vf - 1] = (struct xe_slice){
			.cap_pct = vf == changed_vf ? cap_pct : function->cap_pct,
			.changed = vf == changed_vf && cap_pct != function->cap_pct,
			.quantum_ms = function->quantum_ms,
		};
	}
	xe_quanta_plan(&functions->limits, functions->own_ms,
		       functions->steered ? functions->all[0].quantum_ms : 0, slices, functions->n,
		       &round);
	r = remember(functions, slices, round.pf_ms);
	if (r < 0)
		return r;
	functions->steered = true;
	r = apply(functions, slices, round.pf_ms, changed_vf);
	functions->unbalanced = r < 0;
	return r;
}

int xe_functions_write_cap(struct xe_functions *functions, int vf, ino_t link, int cap_pct)
{
	int r = check_life(functions, vf, link);

	if (r == 0 && functions->all[vf].link != link)
		return -ENODEV;
	if (r == 0)
		r = refresh_all(functions);
	if (r < 0)
		return r;
	guard(functions, vf);
	return plan(functions, vf, cap_pct);
}

int xe_functions_balance(struct xe_functions *functions)
{
	int r;

	if (!functions->steered)
		return 0;
	if (functions->n > 0) {
		/* No vGPU reads the quantum of the physical function. */
		r = functions->unbalanced ? refresh_all(functions) : refresh(functions, 0);
		return r < 0 || !functions->unbalanced ? r : plan(functions, 0, 0);
	}
	r = write_quantum(&functions->all[0], functions->found_ms, /* repairs= */ true);
	functions->steered = r < 0;
	return r;
}
