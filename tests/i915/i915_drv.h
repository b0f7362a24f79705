/* SPDX-License-Identifier: MIT */
/*
 * A user-space version of the parts of the kernel that the scheduling policy uses, for
 * test-sched-policy* only. The locks check that the policy does not sleep in atomic context. The
 * test advances the clock and runs the timer.
 */
#ifndef TESTS_I915_I915_DRV_H
#define TESTS_I915_I915_DRV_H

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define u32 uint32_t
#define u64 uint64_t

#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL
#define PAGE_SIZE	4096
#define min_t(t, a, b)	((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max_t(t, a, b)	((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define div_u64(a, b)	((a) / (b))
#define WARN_ON_ONCE(x) (assert(!(x)), false)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define container_of(pointer, type, member) \
	((type *)((char *)(uintptr_t)(pointer)-offsetof(type, member)))

/* --- lists --- */

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	entry->next = head;
	entry->prev = head->prev;
	head->prev->next = entry;
	head->prev = entry;
}

static inline void list_del(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
}

#define list_for_each_entry(v, head, member)                                                     \
	for ((v) = container_of((head)->next, __typeof__(*(v)), member); &(v)->member != (head); \
	     (v) = container_of((v)->member.next, __typeof__(*(v)), member))

/* --- locks: only one thread, so they check the rules --- */

struct lock {
	bool held;
};
struct mutex {
	bool held;
};
typedef struct lock spinlock_t;

extern unsigned int spins_held;

static inline void might_sleep(void)
{
	assert(spins_held == 0);
}

static inline void mutex_lock(struct mutex *mutex)
{
	might_sleep();
	assert(!mutex->held);
	mutex->held = true;
}

static inline void mutex_unlock(struct mutex *mutex)
{
	assert(mutex->held);
	mutex->held = false;
}

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = false;
}

static inline void spin_lock(spinlock_t *lock)
{
	assert(!lock->held);
	lock->held = true;
	spins_held++;
}

static inline void spin_unlock(spinlock_t *lock)
{
	assert(lock->held);
	lock->held = false;
	spins_held--;
}

#define spin_lock_bh		spin_lock
#define spin_unlock_bh		spin_unlock
#define lockdep_assert_held(l)	assert((l)->held)
#define smp_mb__after_atomic()	((void)0)
#define READ_ONCE(x)		(x)
#define set_bit(bit, address)	(*(address) |= 1UL << (bit))
#define clear_bit(bit, address) (*(address) &= ~(1UL << (bit)))

/* --- waiting --- */

typedef struct {
	bool woken;
} wait_queue_head_t;

static inline void wake_up(wait_queue_head_t *queue)
{
	queue->woken = true;
}

/* --- memory --- */

#define GFP_KERNEL 0

static inline void *kzalloc(size_t size, int flags)
{
	(void)flags;
	might_sleep();
	return calloc(1, size);
}

#define kfree free

/* --- time --- */

typedef int64_t ktime_t;
enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum { CLOCK_OF_TEST, HRTIMER_MODE_ABS };
#define CLOCK_MONOTONIC CLOCK_OF_TEST

struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	u64 at_ns; /* 0: stopped */
};

u64 ktime_get_ns(void);

static inline ktime_t ns_to_ktime(u64 ns)
{
	return (ktime_t)ns;
}

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer), int clock,
				 int mode)
{
	(void)clock;
	(void)mode;
	timer->function = function;
	timer->at_ns = 0;
}

static inline void hrtimer_start(struct hrtimer *timer, ktime_t at, int mode)
{
	(void)mode;
	timer->at_ns = (u64)at;
}

static inline void hrtimer_cancel(struct hrtimer *timer)
{
	timer->at_ns = 0;
}

/* --- parameters of the module, files in sysfs --- */

struct kernel_param;
struct kernel_param_ops {
	int (*set)(const char *value, const struct kernel_param *param);
	int (*get)(char *buffer, const struct kernel_param *param);
};

#define module_param_cb(name, ops, arg, mode)                     \
	extern const struct kernel_param_ops *const param_##name; \
	const struct kernel_param_ops *const param_##name = ops
#define MODULE_PARM_DESC(name, text) struct kernel_param
#define scnprintf		     snprintf

static inline ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size);

	if (length == size)
		return -E2BIG;
	memcpy(to, from, length + 1);
	return (ssize_t)length;
}

static inline char *strim(char *text)
{
	text[strcspn(text, "\n")] = '\0';
	return text;
}

struct device {
	void *data;
};

struct attribute {
	const char *name;
	unsigned int mode;
};

struct device_attribute {
	struct attribute attr;
	ssize_t (*show)(struct device *dev, struct device_attribute *attr, char *buf);
	ssize_t (*store)(struct device *dev, struct device_attribute *attr, const char *buf,
			 size_t count);
};

#define __ATTR_RO(n)                       \
	{                                  \
		{#n, 0444}, n##_show, NULL \
	}
#define __ATTR_RW(n)                            \
	{                                       \
		{#n, 0644}, n##_show, n##_store \
	}
#define dev_get_drvdata(dev) ((dev)->data)

int sysfs_emit(char *buf, const char *format, ...);
int kstrtou32(const char *text, unsigned int base, u32 *ret_number);

#endif
