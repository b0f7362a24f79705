/* SPDX-License-Identifier: MIT */
/*
 * Sliced launches, and the records of programs, kernels and events that they need. The calling
 * thread submits all parts of a launch before it returns, as it would wait for its turn with a
 * whole launch. In a queue that executes out of order, each part waits for the one before, so that
 * the last part is complete after all others.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/preload/debug.h"
#include "compute/cl/slice-plan.h"
#include "compute/cl/slice-text.h"
#include "compute/cl/slice.h"
#include "compute/cl/submit.h"
#include "compute/cl/target.h"
#include "compute/tenant/batch.h"
#include "compute/tenant/clock.h"
#include "compute/tenant/gate.h"

#define ENTRIES 4096u /* a power of two */
#define PROBES	16u

#define ARGUMENTS_MAX 1024

static bool is_on;	   /* written once */
static unsigned int parts; /* the same; 0: as many as needed */

/* --- tables of records --- */

#define RECORD_BUCKETS 256

/*
 * The first member of a record of an object of the program. It counts the references that the
 * program and other records hold.
 */
struct record {
	struct record *next;
	const void *handle;
	unsigned int references;
};

/* Records by handle. */
struct record_table {
	pthread_mutex_t mutex;
	struct record *buckets[RECORD_BUCKETS];
};

/* Returns the link to the record, or to NULL. The caller holds the lock. */
static struct record **link_of(struct record_table *table, const void *handle)
{
	uintptr_t hash = ((uintptr_t)handle >> 4) * 2654435761u >> 8;
	struct record **link = &table->buckets[hash % RECORD_BUCKETS];

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	return link;
}

/* Adds a record with one reference. */
static void record_add(struct record_table *table, struct record *record, const void *handle)
{
	struct record **link;

	record->handle = handle;
	record->references = 1;
	record->next = NULL;
	(void)pthread_mutex_lock(&table->mutex);
	link = link_of(table, handle);
	record->next = *link;
	*link = record;
	(void)pthread_mutex_unlock(&table->mutex);
}

/* Returns the record, or NULL. It exists as long as the caller may use the object. */
static struct record *record_find(struct record_table *table, const void *handle)
{
	struct record *record;

	(void)pthread_mutex_lock(&table->mutex);
	record = *link_of(table, handle);
	(void)pthread_mutex_unlock(&table->mutex);
	return record;
}

/* Adds a reference, if there is such a record. */
static void record_retain(struct record_table *table, const void *handle)
{
	struct record *record;

	(void)pthread_mutex_lock(&table->mutex);
	record = *link_of(table, handle);
	if (record)
		record->references++;
	(void)pthread_mutex_unlock(&table->mutex);
}

/*
 * Gives a reference back, before the target releases the object: afterwards a new object may have
 * the same handle. If it was the last one, returns the record, which is no longer in the table and
 * belongs to the caller. Otherwise returns NULL.
 */
static struct record *record_release(struct record_table *table, const void *handle)
{
	struct record **link, *record;

	(void)pthread_mutex_lock(&table->mutex);
	link = link_of(table, handle);
	record = *link;
	if (record && --record->references == 0)
		*link = record->next;
	else
		record = NULL;
	(void)pthread_mutex_unlock(&table->mutex);
	return record;
}

/* --- kernels, programs and launches --- */

/*
 * All kernels of a build of a program with the same name. Many programs create a kernel for each
 * launch. What was measured for one of them predicts the others, and a new kernel with the handle
 * of a released one is of its own kind.
 */
struct kind {
	struct kind *next; /* of the same program */
	char *name;
	uintptr_t program;
	/* Objects of estimate_find() for whole launches and for parts. */
	const void *id, *parts_id;
	pthread_mutex_t mutex; /* protects the members below */
	bool is_counted;       /* the layer has reported that it is launched whole */
	bool is_reported;      /* the layer has reported that it is sliced */
	/* The first launch whose time was to be measured: predicts launches of other sizes. */
	const struct estimate *first;
	uint64_t first_items;
	/* The parts of the last sliced launch. NULL: none. */
	struct estimate *parts;
	uint64_t part_groups;
};

/*
 * A program that the application has created from source: the source and the parameters of the last
 * build. The program of the application remains as it is: its binaries, its build log and its whole
 * launches are those of the target. The twin is built when a kernel is sliced for the first time.
 */
struct program {
	struct record record;
	char *text;
	size_t size;
	pthread_mutex_t mutex; /* protects the members below */
	char *options;	       /* of the last build; NULL: the program was not built */
	cl_device_id *devices;
	cl_uint n_devices;  /* 0: all of the context */
	cl_program twin;    /* NULL: not built */
	const char *reason; /* why there is no twin; NULL: not tried */
	uintptr_t number;   /* of the last build; no other build has it */
	struct kind *kinds; /* of all builds */
};

struct argument {
	bool is_set;
	bool is_new; /* the twin does not have it */
	bool is_local;
	size_t size, room;
	void *bytes; /* NULL if local */
};

/*
 * A kernel of the application: a copy of its arguments, and if it is sliced a second kernel, its
 * twin, from the rectified program. The arguments of a twin are set when it is launched, not when
 * the application sets them: only then do all objects certainly exist, because the kernel itself is
 * launched with them.
 */
struct kernel {
	struct record record;
	cl_kernel handle;
	pthread_mutex_t mutex;	 /* protects the members below */
	struct program *program; /* NULL: not created from source, or from unknown source */
	struct kind *kind;	 /* of the program, if there is one; constant */
	cl_kernel twin;		 /* NULL: none yet */
	const char *reason;	 /* why it is never sliced, as a clause; NULL: not known */
	cl_uint n_arguments;	 /* arguments that were set at least once */
	struct argument *arguments;
	bool is_declared; /* see gover-slice.h */
	cl_uint declared; /* the argument that gets the offset of a part */
};

/*
 * From kernels to the ids of their kinds, read without locks at each launch. An entry without an id
 * is free. A kernel that finds no entry is its own kind.
 */
static struct {
	cl_kernel handle; /* NULL: the entry was never used */
	const void *id;
} table[ENTRIES];
static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER; /* for changes */

static uint64_t hash(uint64_t from, const char *text)
{
	for (from ^= 14695981039346656037u; *text; text++)
		from = (from ^ (unsigned char)*text) * 1099511628211u;
	return from;
}

static struct kind *new_kind(uintptr_t program, const char *name)
{
	struct kind *kind = calloc(1, sizeof(*kind));
	uint64_t id = hash(program * 0x9e3779b97f4a7c15u, name);

	if (kind)
		kind->name = strdup(name);
	if (!kind || !kind->name) {
		free(kind);
		return NULL;
	}
	kind->program = program;
	/* Odd, unlike the addresses of other objects. */
	kind->id = (const void *)(uintptr_t)(id | 1);
	kind->parts_id = (const void *)(uintptr_t)((id | 1) ^ 2);
	(void)pthread_mutex_init(&kind->mutex, NULL);
	return kind;
}

static void free_kind(struct kind *kind)
{
	if (!kind)
		return;
	(void)pthread_mutex_destroy(&kind->mutex);
	free(kind->name);
	free(kind);
}

static size_t entry_at(cl_kernel handle, size_t i)
{
	return (((uintptr_t)handle >> 4) * 2654435761u + i) % ENTRIES;
}

/* Returns the entry of a kernel, or ENTRIES. */
static size_t find_entry(cl_kernel handle)
{
	for (size_t i = 0; i < PROBES; i++) {
		size_t at = entry_at(handle, i);
		cl_kernel known = __atomic_load_n(&table[at].handle, __ATOMIC_ACQUIRE);

		if (known == handle)
			return at;
		if (!known)
			break;
	}
	return ENTRIES;
}

static size_t find_free(cl_kernel handle)
{
	for (size_t i = 0; i < PROBES; i++)
		if (!__atomic_load_n(&table[entry_at(handle, i)].id, __ATOMIC_RELAXED))
			return entry_at(handle, i);
	return ENTRIES;
}

static void note_kind(cl_kernel handle, const struct kind *kind)
{
	size_t at;

	(void)pthread_mutex_lock(&table_mutex);
	at = find_entry(handle);
	if (at == ENTRIES)
		at = find_free(handle);
	if (at != ENTRIES) {
		__atomic_store_n(&table[at].id, kind->id, __ATOMIC_RELAXED);
		__atomic_store_n(&table[at].handle, handle, __ATOMIC_RELEASE);
	}
	(void)pthread_mutex_unlock(&table_mutex);
}

static void forget_kind(cl_kernel handle)
{
	size_t at;

	(void)pthread_mutex_lock(&table_mutex);
	at = find_entry(handle);
	if (at != ENTRIES)
		__atomic_store_n(&table[at].id, NULL, __ATOMIC_RELAXED);
	(void)pthread_mutex_unlock(&table_mutex);
}

const void *slice_id(cl_kernel handle)
{
	size_t at = handle ? find_entry(handle) : ENTRIES;
	const void *id = at != ENTRIES ? __atomic_load_n(&table[at].id, __ATOMIC_RELAXED) : NULL;

	return id ? id : handle;
}

/*
 * A sliced launch by the event of its last part, which completes when all parts have completed, and
 * which the program gets. Its times begin with those of the first part.
 */
struct timed {
	struct record record;
	cl_event first;
};

static struct record_table events = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static unsigned int n_events; /* the table is not searched while it is empty */

static bool has_no_events(void)
{
	return __atomic_load_n(&n_events, __ATOMIC_ACQUIRE) == 0;
}

static void add_event(cl_event last, cl_event first)
{
	struct timed *timed = malloc(sizeof(*timed));

	if (!timed) {
		(void)target.clReleaseEvent(first);
		return;
	}
	timed->first = first;
	record_add(&events, &timed->record, last);
	(void)__atomic_add_fetch(&n_events, 1, __ATOMIC_RELEASE);
}

cl_event slice_timed_event(cl_event event, cl_profiling_info name)
{
	const struct timed *timed;

	if (has_no_events() || name == CL_PROFILING_COMMAND_END ||
	    name == CL_PROFILING_COMMAND_COMPLETE)
		return event;
	timed = (const struct timed *)record_find(&events, event);
	return timed ? timed->first : event;
}

static cl_int CL_API_CALL retain_event(cl_event event)
{
	cl_int result = target.clRetainEvent(event);

	if (result == CL_SUCCESS && !has_no_events())
		record_retain(&events, event);
	return result;
}

static cl_int CL_API_CALL release_event(cl_event event)
{
	struct timed *timed =
		has_no_events() ? NULL : (struct timed *)record_release(&events, event);

	if (timed) {
		(void)__atomic_sub_fetch(&n_events, 1, __ATOMIC_RELEASE);
		(void)target.clReleaseEvent(timed->first);
		free(timed);
	}
	return target.clReleaseEvent(event);
}

static struct record_table programs = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static uintptr_t numbers; /* so far */

static void destroy_program(struct program *program)
{
	if (!program)
		return;
	if (program->twin)
		(void)target.clReleaseProgram(program->twin);
	while (program->kinds) {
		struct kind *kind = program->kinds;

		program->kinds = kind->next;
		free_kind(kind);
	}
	(void)pthread_mutex_destroy(&program->mutex);
	free(program->options);
	free(program->devices);
	free(program->text);
	free(program);
}

static struct program *hold_program(cl_program handle)
{
	record_retain(&programs, handle);
	return (struct program *)record_find(&programs, handle);
}

static void drop_program(struct program *program)
{
	if (program)
		destroy_program(
			(struct program *)record_release(&programs, program->record.handle));
}

static struct kind *kind_of(struct program *program, const char *name)
{
	struct kind *kind;
	uintptr_t number;

	(void)pthread_mutex_lock(&program->mutex);
	number = 2 * program->number + 1; /* odd, unlike handles */
	kind = program->kinds;
	while (kind && (kind->program != number || strcmp(kind->name, name) != 0))
		kind = kind->next;
	if (!kind) {
		kind = new_kind(number, name);
		if (kind) {
			kind->next = program->kinds;
			program->kinds = kind;
		}
	}
	(void)pthread_mutex_unlock(&program->mutex);
	return kind;
}

static size_t length_of(const char *text, const size_t *lengths, cl_uint i)
{
	return lengths && lengths[i] > 0 ? lengths[i] : strlen(text);
}

/* Returns the joined source, or NULL if memory is short. */
static char *join(cl_uint n, const char **texts, const size_t *lengths, size_t *ret_size)
{
	size_t size = 0;
	char *text, *at;

	for (cl_uint i = 0; i < n; i++)
		size += length_of(texts[i], lengths, i);
	text = at = malloc(size + 1);
	for (cl_uint i = 0; text && i < n; i++) {
		size_t length = length_of(texts[i], lengths, i);

		memcpy(at, texts[i], length);
		at += length;
	}
	*ret_size = size;
	return text;
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint n, const char **texts,
					     const size_t *lengths, cl_int *ret_err)
{
	cl_program handle = target.clCreateProgramWithSource(context, n, texts, lengths, ret_err);
	struct program *program;

	program = handle ? calloc(1, sizeof(*program)) : NULL;
	if (!program)
		return handle;
	program->text = join(n, texts, lengths, &program->size);
	program->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
	(void)pthread_mutex_init(&program->mutex, NULL);
	if (program->text)
		record_add(&programs, &program->record, handle);
	else
		destroy_program(program);
	return handle;
}

static cl_int CL_API_CALL retain_program(cl_program handle)
{
	cl_int result = target.clRetainProgram(handle);

	if (result == CL_SUCCESS)
		record_retain(&programs, handle);
	return result;
}

static cl_int CL_API_CALL release_program(cl_program handle)
{
	destroy_program((struct program *)record_release(&programs, handle));
	return target.clReleaseProgram(handle);
}

void slice_note_build(cl_program handle, cl_uint n, const cl_device_id *devices,
		      const char *options)
{
	struct program *program = (struct program *)record_find(&programs, handle);
	cl_device_id *copy;

	if (!program)
		return;
	copy = n > 0 && devices ? malloc(n * sizeof(*copy)) : NULL;
	if (copy)
		memcpy(copy, devices, n * sizeof(*copy));
	(void)pthread_mutex_lock(&program->mutex);
	if (program->twin)
		(void)target.clReleaseProgram(program->twin);
	program->twin = NULL;
	program->reason = NULL;
	program->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
	free(program->options);
	program->options = strdup(options ? options : "");
	free(program->devices);
	program->devices = copy;
	program->n_devices = copy ? n : 0;
	(void)pthread_mutex_unlock(&program->mutex);
}

/* Returns true if the target reports that variables of the program outlive a launch. */
static bool has_variables(cl_program twin)
{
	cl_device_id device;
	size_t size = 0;

	return target.clGetProgramInfo(twin, CL_PROGRAM_DEVICES, 0, NULL, &size) == CL_SUCCESS &&
	       size == sizeof(device) &&
	       target.clGetProgramInfo(twin, CL_PROGRAM_DEVICES, size, &device, NULL) ==
		       CL_SUCCESS &&
	       target.clGetProgramBuildInfo(twin, device,
					    CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
					    sizeof(size), &size, NULL) == CL_SUCCESS &&
	       size > 0;
}

/* Builds the twin from @text. Returns NULL, or the reason for a failure. */
static const char *build_twin(struct program *program, const char *text)
{
	cl_context context;
	cl_program twin;

	if (target.clGetProgramInfo((cl_program)(uintptr_t)program->record.handle,
				    CL_PROGRAM_CONTEXT, sizeof(context), &context,
				    NULL) != CL_SUCCESS)
		return "its context is not known";
	twin = target.clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	if (!twin)
		return "its rectified source was refused";
	if (target.clBuildProgram(twin, program->n_devices, program->devices, program->options,
				  NULL, NULL) != CL_SUCCESS) {
		(void)target.clReleaseProgram(twin);
		return "its rectified source does not compile";
	}
	if (has_variables(twin)) {
		(void)target.clReleaseProgram(twin);
		return slice_text_reason(SLICE_TEXT_VARIABLE);
	}
	program->twin = twin;
	return NULL;
}

static const char *make_twin_program(struct program *program)
{
	uint64_t begin_ns = tenant_clock_ns();
	enum slice_text check;
	const char *reason;
	char *text;

	if (!program->options)
		return "its program was compiled and linked in parts";
	check = slice_text_check(program->text, program->size);
	if (check != SLICE_TEXT_OK && check != SLICE_TEXT_VARIABLE)
		return slice_text_reason(check);
	text = slice_text_rectify(program->text, program->size, check);
	if (!text)
		return "memory is short";
	reason = build_twin(program, text);
	if (reason && check == SLICE_TEXT_VARIABLE)
		reason = slice_text_reason(check);
	free(text);
	gate_count_build(tenant_clock_ns() - begin_ns);
	return reason;
}

static cl_program twin_of(struct program *program, const char **ret_reason)
{
	cl_program twin;

	(void)pthread_mutex_lock(&program->mutex);
	if (!program->twin && !program->reason)
		program->reason = make_twin_program(program);
	twin = program->twin;
	*ret_reason = program->reason;
	(void)pthread_mutex_unlock(&program->mutex);
	return twin;
}

static struct record_table kernels = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct kernel *find_kernel(cl_kernel handle)
{
	return (struct kernel *)record_find(&kernels, handle);
}

static void destroy_kernel(struct kernel *kernel)
{
	if (!kernel)
		return;
	if (kernel->twin)
		(void)target.clReleaseKernel(kernel->twin);
	for (cl_uint i = 0; i < kernel->n_arguments; i++)
		free(kernel->arguments[i].bytes);
	free(kernel->arguments);
	if (!kernel->program)
		free_kind(kernel->kind);
	drop_program(kernel->program);
	(void)pthread_mutex_destroy(&kernel->mutex);
	free(kernel);
}

/* Returns the name of a kernel, which the caller frees, or NULL. */
static char *name_of(cl_kernel handle)
{
	size_t size = 0;
	char *name;

	if (target.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size) != CL_SUCCESS ||
	    size == 0)
		return NULL;
	name = malloc(size);
	if (name &&
	    target.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, size, name, NULL) == CL_SUCCESS)
		return name;
	free(name);
	return NULL;
}

/* Finds the program and the kind of a new kernel. Returns false if one of them is not known. */
static bool add_kind(struct kernel *kernel)
{
	cl_program program;
	char *name;

	if (target.clGetKernelInfo(kernel->handle, CL_KERNEL_PROGRAM, sizeof(program), &program,
				   NULL) != CL_SUCCESS)
		return false;
	name = name_of(kernel->handle);
	if (!name)
		return false;
	kernel->program = hold_program(program);
	if (kernel->program) {
		kernel->kind = kind_of(kernel->program, name);
	} else {
		kernel->kind = new_kind((uintptr_t)program, name);
		kernel->reason =
			"its program was not created from source, or was compiled and linked";
	}
	free(name);
	return kernel->kind;
}

/* Adds a record. Without memory for it, the kernel is launched whole. */
static struct kernel *add_kernel(cl_kernel handle)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->handle = handle;
	(void)pthread_mutex_init(&kernel->mutex, NULL);
	if (!add_kind(kernel)) {
		destroy_kernel(kernel);
		return NULL;
	}
	note_kind(handle, kernel->kind);
	record_add(&kernels, &kernel->record, handle);
	return kernel;
}

/* Makes room for the argument @index. */
static bool reserve(struct kernel *kernel, cl_uint index)
{
	struct argument *more;

	if (index < kernel->n_arguments)
		return true;
	more = index < ARGUMENTS_MAX ? realloc(kernel->arguments, (index + 1) * sizeof(*more))
				     : NULL;
	if (!more)
		return false;
	memset(&more[kernel->n_arguments], 0, (index + 1 - kernel->n_arguments) * sizeof(*more));
	kernel->arguments = more;
	kernel->n_arguments = index + 1;
	return true;
}

/* Copies an argument. The caller holds the lock. */
static bool keep_argument(struct kernel *kernel, cl_uint index, size_t size, const void *value)
{
	struct argument *argument;

	if (!reserve(kernel, index))
		return false;
	argument = &kernel->arguments[index];
	if (value && argument->room < size) {
		void *bytes = realloc(argument->bytes, size);

		if (!bytes)
			return false;
		argument->bytes = bytes;
		argument->room = size;
	}
	if (value)
		memcpy(argument->bytes, value, size);
	argument->is_local = !value;
	argument->size = size;
	argument->is_set = argument->is_new = true;
	return true;
}

static cl_int CL_API_CALL set_argument(cl_kernel handle, cl_uint index, size_t size,
				       const void *value)
{
	cl_int result = target.clSetKernelArg(handle, index, size, value);
	struct kernel *kernel = result == CL_SUCCESS ? find_kernel(handle) : NULL;

	if (!kernel)
		return result;
	(void)pthread_mutex_lock(&kernel->mutex);
	if (!keep_argument(kernel, index, size, value))
		kernel->reason = "memory is short";
	(void)pthread_mutex_unlock(&kernel->mutex);
	return result;
}

static void never_slice(cl_kernel handle, const char *reason)
{
	struct kernel *kernel = find_kernel(handle);

	if (!kernel)
		return;
	(void)pthread_mutex_lock(&kernel->mutex);
	kernel->reason = reason;
	(void)pthread_mutex_unlock(&kernel->mutex);
}

/* Host and kernel may use shared virtual memory at the same time. */
static cl_int CL_API_CALL set_pointer(cl_kernel handle, cl_uint index, const void *value)
{
	never_slice(handle, "it uses shared virtual memory");
	return target.clSetKernelArgSVMPointer(handle, index, value);
}

static cl_int CL_API_CALL set_exec_info(cl_kernel handle, cl_kernel_exec_info name, size_t size,
					const void *value)
{
	never_slice(handle, "it uses shared virtual memory");
	return target.clSetKernelExecInfo(handle, name, size, value);
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *ret_err)
{
	cl_kernel handle = target.clCreateKernel(program, name, ret_err);

	if (handle)
		(void)add_kernel(handle);
	return handle;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint n, cl_kernel *handles,
					 cl_uint *ret_n)
{
	cl_uint found = 0;
	cl_int result = target.clCreateKernelsInProgram(program, n, handles, &found);

	for (cl_uint i = 0; result == CL_SUCCESS && handles && i < found; i++)
		(void)add_kernel(handles[i]);
	if (result == CL_SUCCESS && ret_n)
		*ret_n = found;
	return result;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel from, cl_int *ret_err)
{
	cl_kernel handle = target.clCloneKernel(from, ret_err);
	struct kernel *old = handle ? find_kernel(from) : NULL;
	struct kernel *kernel = old ? add_kernel(handle) : NULL;

	if (!kernel)
		return handle;
	(void)pthread_mutex_lock(&old->mutex);
	kernel->reason = old->reason;
	kernel->is_declared = old->is_declared;
	kernel->declared = old->declared;
	for (cl_uint i = 0; i < old->n_arguments; i++) {
		const struct argument *a = &old->arguments[i];

		if (a->is_set && !keep_argument(kernel, i, a->size, a->is_local ? NULL : a->bytes))
			kernel->reason = "memory is short";
	}
	(void)pthread_mutex_unlock(&old->mutex);
	return handle;
}

static cl_int CL_API_CALL retain_kernel(cl_kernel handle)
{
	cl_int result = target.clRetainKernel(handle);

	if (result == CL_SUCCESS)
		record_retain(&kernels, handle);
	return result;
}

static cl_int CL_API_CALL release_kernel(cl_kernel handle)
{
	struct kernel *kernel = (struct kernel *)record_release(&kernels, handle);

	if (kernel)
		forget_kind(handle);
	destroy_kernel(kernel);
	return target.clReleaseKernel(handle);
}

/* Creates the twin. The caller holds the lock. */
static const char *make_twin_kernel(struct kernel *kernel)
{
	const char *reason = NULL;
	cl_program program = twin_of(kernel->program, &reason);

	if (!program)
		return reason;
	kernel->twin = target.clCreateKernel(program, kernel->kind->name, NULL);
	return kernel->twin ? NULL : "its rectified program does not contain it";
}

static bool set_new_arguments(struct kernel *kernel)
{
	for (cl_uint i = 0; i < kernel->n_arguments; i++) {
		struct argument *a = &kernel->arguments[i];

		if (!a->is_new)
			continue;
		if (target.clSetKernelArg(kernel->twin, i, a->size,
					  a->is_local ? NULL : a->bytes) != CL_SUCCESS)
			return false;
		a->is_new = false;
	}
	return true;
}

static cl_kernel kernel_for_parts(struct kernel *kernel, const char **ret_reason)
{
	cl_kernel found = NULL;

	(void)pthread_mutex_lock(&kernel->mutex);
	if (kernel->is_declared) {
		*ret_reason = "its declared argument is not set";
		if (kernel->declared < kernel->n_arguments &&
		    kernel->arguments[kernel->declared].is_set)
			found = kernel->handle;
	} else {
		if (!kernel->twin && !kernel->reason)
			kernel->reason = make_twin_kernel(kernel);
		*ret_reason = kernel->reason;
		if (!kernel->reason && set_new_arguments(kernel))
			found = kernel->twin;
		else if (!kernel->reason)
			*ret_reason = "an argument was refused";
	}
	(void)pthread_mutex_unlock(&kernel->mutex);
	return found;
}

/* A launch in parts. */
struct job {
	const struct slice_call *call;
	struct kernel *kernel;
	cl_kernel handle; /* of the parts */
	bool is_declared; /* the offset is an argument */
	bool is_chained;
	bool is_new; /* the kernel was never measured */
	struct slice_plan plan;
	uint64_t groups, groups_ns; /* of the whole launch, predicted; groups_ns 0: not known */
	uint64_t least_groups;	    /* of a part, so that it uses the whole device */
	cl_event first, last;	    /* of the parts so far; owned */
};

/* The parameters of one part for the target. */
struct call_of_part {
	const struct job *job;
	size_t offset[3], global[3], local[3];
	cl_uint n;
	const cl_event *list;
	cl_event *event;
};

static cl_int enqueue(const struct call_of_part *c)
{
	const struct job *job = c->job;

	if (job->is_declared)
		return target.clEnqueueNDRangeKernel(job->call->queue, job->handle,
						     job->call->dimensions, NULL, c->global,
						     c->local, c->n, c->list, c->event);
	return target.clEnqueueNDRangeKernel(job->call->queue, job->handle, 3, c->offset, c->global,
					     c->local, c->n, c->list, c->event);
}

/* The declared argument has the value @value during the launch. */
static cl_int enqueue_with(const struct call_of_part *c, const cl_uint value[4])
{
	struct kernel *kernel = c->job->kernel;
	const struct argument *old;
	cl_int result;

	(void)pthread_mutex_lock(&kernel->mutex);
	old = &kernel->arguments[kernel->declared];
	result = target.clSetKernelArg(kernel->handle, kernel->declared, 4 * sizeof(*value), value);
	if (result == CL_SUCCESS)
		result = enqueue(c);
	(void)target.clSetKernelArg(kernel->handle, kernel->declared, old->size, old->bytes);
	(void)pthread_mutex_unlock(&kernel->mutex);
	return result;
}

cl_int CL_API_CALL slice_declare(cl_kernel handle, cl_uint index)
{
	struct kernel *kernel = find_kernel(handle);
	cl_uint n = 0;

	if (!kernel)
		return CL_INVALID_KERNEL;
	if (target.clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL) != CL_SUCCESS ||
	    index >= n)
		return CL_INVALID_ARG_INDEX;
	(void)pthread_mutex_lock(&kernel->mutex);
	kernel->is_declared = true;
	kernel->declared = index;
	(void)pthread_mutex_unlock(&kernel->mutex);
	return CL_SUCCESS;
}

void slice_setup(const struct tenant_setup *setup)
{
	is_on = setup->slice;
	parts = setup->slice_parts;
}

bool slice_is_on(void)
{
	return is_on;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Predicts the time of a launch from that of a launch of another size. */
static uint64_t scale(const struct estimate *known, uint64_t known_size, uint64_t size)
{
	double ns = (double)estimate_predict(known) * (double)size / (double)known_size;

	return ns < (double)ESTIMATE_MAX_NS ? (uint64_t)ns : ESTIMATE_MAX_NS;
}

/* Predicts the time of a launch of a size that was never measured. */
static uint64_t predict_new(cl_kernel handle, const struct estimate *estimate, uint64_t items)
{
	const struct kernel *kernel = find_kernel(handle);
	struct kind *kind = kernel ? kernel->kind : NULL;
	uint64_t ns = 0;

	if (!kind || items == 0)
		return 0;
	(void)pthread_mutex_lock(&kind->mutex);
	if (!kind->first) {
		kind->first = estimate;
		kind->first_items = items;
	} else if (!estimate_is_new(kind->first)) {
		ns = scale(kind->first, kind->first_items, items);
	}
	(void)pthread_mutex_unlock(&kind->mutex);
	return ns;
}

/* Predicts the time of a whole launch from whole launches. 0: not known. */
static uint64_t predict_whole(const struct slice_call *call, uint64_t items)
{
	const struct estimate *estimate = estimate_find(call->id, items);

	return estimate_is_new(estimate) ? predict_new(call->kernel, estimate, items)
					 : estimate_predict(estimate);
}

/* Returns true if a launch that takes @ns must be cut. */
static bool is_long(uint64_t ns)
{
	uint64_t slice_ns = gate_slice_ns();

	return slice_ns > 0 && ns > least(slice_ns, SLICE_LAUNCH_NS);
}

bool slice_is_wanted(const struct slice_call *call, uint64_t items)
{
	uint64_t ns;

	if (!is_on || !gate_is_controlled())
		return false;
	if (parts > 0)
		return true;
	ns = predict_whole(call, items);
	return ns > 0 ? is_long(ns) : gate_is_contended();
}

/* Sets @flag of @kind. Returns true if it was not set. */
static bool is_first(struct kind *kind, bool *flag)
{
	bool first;

	(void)pthread_mutex_lock(&kind->mutex);
	first = !*flag;
	*flag = true;
	(void)pthread_mutex_unlock(&kind->mutex);
	return first;
}

/* Reports once for each kind why it is launched whole. Returns false. */
static bool stay_whole(struct kind *kind, const char *reason)
{
	if (is_first(kind, &kind->is_counted)) {
		gate_count_whole();
		debug_log("kernel %s is not sliced: %s", kind->name, reason);
	}
	return false;
}

/* The work-groups that a part needs to use the whole device. */
static uint64_t least_groups(cl_command_queue queue)
{
	cl_device_id device;
	cl_uint units = 0;

	if (target.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL) !=
		    CL_SUCCESS ||
	    target.clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units,
				   NULL) != CL_SUCCESS)
		return 1;
	return (uint64_t)units * SLICE_GROUPS_OF_UNIT;
}

/* Returns the work-groups of a part of a launch whose time is known. */
static uint64_t groups_of_part(const struct job *job)
{
	uint64_t part_ns = least(gate_slice_ns() / SLICE_PARTS_OF_TURN, SLICE_LAUNCH_NS);

	return slice_plan_groups(job->groups, job->groups_ns, part_ns, job->least_groups);
}

/* Predicts the launch from its parts or from whole launches. */
static uint64_t predict(const struct job *job, uint64_t items)
{
	struct kind *kind = job->kernel->kind;
	uint64_t ns = 0;

	(void)pthread_mutex_lock(&kind->mutex);
	if (kind->parts && !estimate_is_new(kind->parts))
		ns = scale(kind->parts, kind->part_groups, job->groups);
	(void)pthread_mutex_unlock(&kind->mutex);
	return ns ? ns : predict_whole(job->call, items);
}

/*
 * Predicts the launch and plans its parts. Returns false if it is short enough: its arguments may
 * differ from those of the launch that was measured. The first parts of a launch whose time is not
 * known are as small as possible: see resize().
 */
static bool plan(struct job *job, uint64_t items, const struct slice_launch *launch)
{
	uint64_t groups;

	job->groups = (uint64_t)launch->groups[0] * launch->groups[1];
	job->groups_ns = predict(job, items);
	job->least_groups = least_groups(job->call->queue);
	job->is_new = parts == 0 && job->groups_ns == 0;
	if (parts > 0)
		groups = (job->groups + parts - 1) / parts;
	else if (job->is_new && job->groups >= SLICE_NEW_PARTS * job->least_groups)
		groups = job->least_groups;
	else if (is_long(job->groups_ns))
		groups = groups_of_part(job);
	else
		return false;
	slice_plan_begin(&job->plan, launch, groups);
	return job->plan.part[0] < launch->groups[0] || job->plan.part[1] < launch->groups[1];
}

static cl_int enqueue_part(struct call_of_part *c, const struct slice_part *part)
{
	const struct slice_launch *launch = &c->job->plan.launch;
	const cl_uint value[4] = {part->first[0], part->first[1], launch->groups[0],
				  launch->groups[1]};

	for (int i = 0; i < 2; i++) {
		c->offset[i] = (size_t)part->first[i] * launch->local[i];
		c->global[i] = (size_t)part->groups[i] * launch->local[i];
		c->local[i] = launch->local[i];
	}
	c->offset[2] = slice_text_word(launch->dimensions, launch->groups[0], launch->groups[1]);
	c->global[2] = c->local[2] = 1;
	return c->job->is_declared ? enqueue_with(c, value) : enqueue(c);
}

/* The estimate of parts of @groups work-groups. It is not that of whole launches. */
static struct estimate *estimate_of_part(const struct job *job, uint64_t groups)
{
	const struct slice_launch *launch = &job->plan.launch;

	return estimate_find(job->kernel->kind->parts_id,
			     groups * launch->local[0] * launch->local[1]);
}

/* Submits one part. On success, job->last is its event. */
static cl_int submit_part(struct job *job, const struct slice_part *part)
{
	const struct slice_call *call = job->call;
	uint64_t groups = (uint64_t)part->groups[0] * part->groups[1];
	struct estimate *estimate = estimate_of_part(job, groups);
	struct call_of_part c = {.job = job};
	cl_event event = NULL;
	struct submission s;
	cl_int result;

	if (!job->last) {
		c.n = call->n;
		c.list = call->list;
	} else if (job->is_chained) {
		c.n = 1;
		c.list = &job->last;
	}
	submit_begin_part(&s, call->queue, estimate, job->groups_ns * groups / job->groups,
			  part->is_last, c.n, c.list, &event);
	c.event = s.event;
	result = submit_end(&s, enqueue_part(&c, part));
	if (result != CL_SUCCESS)
		return result;
	if (!job->first)
		job->first = event;
	else if (job->last != job->first)
		(void)target.clReleaseEvent(job->last);
	job->last = event;
	return CL_SUCCESS;
}

/*
 * Plans the other parts of a new kernel when a part of the last size was measured. The gate lets
 * the second part enter when the first one has finished, so that this is known from the third on.
 */
static void resize(struct job *job)
{
	uint64_t groups = (uint64_t)job->plan.part[0] * job->plan.part[1];
	const struct estimate *estimate = estimate_of_part(job, groups);

	if (!estimate_is_new(estimate))
		job->groups_ns = scale(estimate, groups, job->groups);
	if (job->groups_ns > 0)
		slice_plan_resize(&job->plan, groups_of_part(job));
}

/* Gives the events to the program, if it wants one, or back. */
static void end_events(struct job *job, cl_int result)
{
	const struct queue *queue = submit_find_queue(job->call->queue);
	cl_event first = job->first != job->last ? job->first : NULL;
	bool is_given = result == CL_SUCCESS && job->call->event;

	if (is_given)
		*job->call->event = job->last;
	if (first && is_given && queue && queue->profiled)
		add_event(job->last, first);
	else if (first)
		(void)target.clReleaseEvent(first);
	if (!is_given && job->last)
		(void)target.clReleaseEvent(job->last);
}

/* Returns true if the whole launch may succeed although its first part was refused. */
static bool is_refused_by_device(cl_int result)
{
	return result == CL_INVALID_WORK_GROUP_SIZE || result == CL_INVALID_WORK_ITEM_SIZE ||
	       result == CL_INVALID_GLOBAL_OFFSET || result == CL_OUT_OF_RESOURCES;
}

/* Submits all parts. Returns false if the first one was refused: then the launch stays whole. */
static bool submit_parts(struct job *job, cl_int *ret_result)
{
	struct kind *kind = job->kernel->kind;
	cl_int result = CL_SUCCESS;
	struct slice_part part;
	uint64_t groups;

	while (result == CL_SUCCESS && slice_plan_next(&job->plan, &part)) {
		result = submit_part(job, &part);
		if (job->is_new && !part.is_last)
			resize(job);
	}
	if (!job->last)
		return is_refused_by_device(result) &&
		       stay_whole(kind, "the device refused a part");
	groups = (uint64_t)job->plan.part[0] * job->plan.part[1];
	if ((parts > 0 || is_long(job->groups_ns)) && is_first(kind, &kind->is_reported))
		debug_log("kernel %s is sliced: %llu of %llu work-groups", kind->name,
			  (unsigned long long)groups, (unsigned long long)job->groups);
	(void)pthread_mutex_lock(&kind->mutex);
	kind->parts = estimate_of_part(job, groups);
	kind->part_groups = groups;
	(void)pthread_mutex_unlock(&kind->mutex);
	end_events(job, result);
	*ret_result = result;
	return true;
}

bool slice_launch(const struct slice_call *call, uint64_t items, cl_int *ret_result)
{
	const struct queue *queue = submit_find_queue(call->queue);
	struct job job = {.call = call, .kernel = find_kernel(call->kernel)};
	struct slice_launch launch;
	enum slice_shape shape;
	const char *reason = NULL;

	if (!queue || !job.kernel || submit_depends(call->queue, call->n, call->list))
		return false;
	shape = slice_plan_check(call->dimensions, call->offset, call->global, call->local,
				 &launch);
	if (shape == SLICE_SHAPE_OK) {
		if (!plan(&job, items, &launch))
			return false;
		job.handle = kernel_for_parts(job.kernel, &reason);
	} else {
		reason = slice_plan_reason(shape);
		job.is_new = parts == 0 && predict_whole(call, items) == 0;
	}
	if (!job.handle) /* a new kernel may be short */
		return !job.is_new && stay_whole(job.kernel->kind, reason);
	job.is_declared = job.handle == call->kernel;
	job.is_chained = queue->out_of_order;
	return submit_parts(&job, ret_result);
}

void slice_install(cl_icd_dispatch *layer)
{
	INSTALL(layer, clCreateProgramWithSource, create_program);
	INSTALL(layer, clRetainProgram, retain_program);
	INSTALL(layer, clReleaseProgram, release_program);
	INSTALL(layer, clCreateKernel, create_kernel);
	INSTALL(layer, clCreateKernelsInProgram, create_kernels);
	INSTALL(layer, clCloneKernel, clone_kernel);
	INSTALL(layer, clRetainKernel, retain_kernel);
	INSTALL(layer, clReleaseKernel, release_kernel);
	INSTALL(layer, clSetKernelArg, set_argument);
	INSTALL(layer, clSetKernelArgSVMPointer, set_pointer);
	INSTALL(layer, clSetKernelExecInfo, set_exec_info);
	INSTALL(layer, clRetainEvent, retain_event);
	INSTALL(layer, clReleaseEvent, release_event);
}
