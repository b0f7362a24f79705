/* SPDX-License-Identifier: MIT */
/*
 * Sliced launches. The calling thread submits all parts of a launch before it returns, as it would
 * wait for its turn with a whole launch. In a queue that executes out of order, each part waits for
 * the one before, so that the last part is complete after all others.
 */
#include <stddef.h>

#include "compute/cl/queue.h"
#include "compute/cl/slice-event.h"
#include "compute/cl/slice-kernel.h"
#include "compute/cl/slice-plan.h"
#include "compute/cl/slice-program.h"
#include "compute/cl/slice-text.h"
#include "compute/cl/slice.h"
#include "compute/cl/submit.h"
#include "fps-preload/debug.h"

static bool is_on;	   /* written once */
static unsigned int parts; /* the same; 0: as many as needed */

/* A launch in parts. */
struct job {
	const struct slice_call *call;
	struct slice_kernel *kernel;
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
	const struct slice_kernel *kernel = slice_kernel_find(handle);
	struct slice_kind *kind = kernel ? kernel->kind : NULL;
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

/* Reports once for each kind why it is launched whole. Returns false. */
static bool stay_whole(struct slice_kind *kind, const char *reason)
{
	bool is_first;

	(void)pthread_mutex_lock(&kind->mutex);
	is_first = !kind->is_counted;
	kind->is_counted = true;
	(void)pthread_mutex_unlock(&kind->mutex);
	if (is_first) {
		gate_count_whole();
		debug_log("kernel %s is not sliced: %s", kind->name, reason);
	}
	return false;
}

static void report_slicing(struct slice_kind *kind, uint64_t groups, uint64_t of)
{
	bool is_first;

	(void)pthread_mutex_lock(&kind->mutex);
	is_first = !kind->is_reported;
	kind->is_reported = true;
	(void)pthread_mutex_unlock(&kind->mutex);
	if (is_first)
		debug_log("kernel %s is sliced: %llu of %llu work-groups", kind->name,
			  (unsigned long long)groups, (unsigned long long)of);
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
	struct slice_kind *kind = job->kernel->kind;
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

static cl_int enqueue(void *userdata)
{
	const struct call_of_part *c = userdata;
	const struct job *job = c->job;

	if (job->is_declared)
		return target.clEnqueueNDRangeKernel(job->call->queue, job->handle,
						     job->call->dimensions, NULL, c->global,
						     c->local, c->n, c->list, c->event);
	return target.clEnqueueNDRangeKernel(job->call->queue, job->handle, 3, c->offset, c->global,
					     c->local, c->n, c->list, c->event);
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
	return c->job->is_declared ? slice_kernel_with(c->job->kernel, value, enqueue, c)
				   : enqueue(c);
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
	if (submit_begin_part(&s, call->queue, estimate, job->groups_ns * groups / job->groups,
			      part->is_last, c.n, c.list, &event)) {
		c.event = s.event;
		result = submit_end(&s, enqueue_part(&c, part));
	} else {
		c.event = &event;
		result = enqueue_part(&c, part);
	}
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
	const struct queue *queue = queue_find(job->call->queue);
	cl_event first = job->first != job->last ? job->first : NULL;
	bool is_given = result == CL_SUCCESS && job->call->event;

	if (is_given)
		*job->call->event = job->last;
	if (first && is_given && queue && queue->profiled)
		slice_event_add(job->last, first);
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
	struct slice_kind *kind = job->kernel->kind;
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
	if (parts > 0 || is_long(job->groups_ns))
		report_slicing(kind, groups, job->groups);
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
	const struct queue *queue = queue_find(call->queue);
	struct job job = {.call = call, .kernel = slice_kernel_find(call->kernel)};
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
		job.handle = slice_kernel_for_parts(job.kernel, &reason);
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

void slice_install(cl_icd_dispatch *table)
{
	slice_program_install(table);
	slice_kernel_install(table);
	slice_event_install(table);
}
