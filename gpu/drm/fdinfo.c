/* SPDX-License-Identifier: MIT */
/*
 * The rules are those of Documentation/gpu/drm-usage-stats.rst: one key and value in a line,
 * separated by a colon and white space, numbers with an optional unit. A table of prefixes connects
 * the keys with the members of struct fdinfo.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gpu/drm/fdinfo.h"

#define CAPACITY_MAX 1024

/* Memory is summed by kind; fdinfo_parse() selects one of the sums. */
enum memory_kind { RESIDENT, MEMORY, MEMORY_KINDS };

struct parser {
	struct fdinfo *info;
	/* sums of drm-resident-* and of its older name drm-memory-*; [1]: on the device */
	uint64_t bytes[MEMORY_KINDS][2];
	bool seen[MEMORY_KINDS][2];
};

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit no_units[] = {{"", 1}}, time_units[] = {{"ns", 1}},
			 frequency_units[] = {{"Hz", 1}, {"KHz", 1000}, {"MHz", 1000000}},
			 memory_units[] = {{"", 1},
					   {"KiB", 1024},
					   {"MiB", 1024 * 1024},
					   {"GiB", 1024 * 1024 * 1024}};

/* Parses digits and a unit, such as "192 KiB". */
static int parse_number(const char *value, const struct unit *units, size_t n_units,
			uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *at = value;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return -EINVAL;
	if (at == value)
		return -EINVAL;
	if (*at == ' ' && at[1] != '\0')
		at++;
	else if (*at != '\0')
		return -EINVAL;
	for (size_t i = 0; i < n_units; i++)
		if (strcmp(at, units[i].name) == 0)
			return __builtin_mul_overflow(number, units[i].factor, ret_number) ? -EINVAL
											   : 0;
	return -EINVAL;
}

static int parse_text(const char *value, char ret_text[FDINFO_NAME_MAX])
{
	size_t n = strlen(value);

	if (n == 0 || n >= FDINFO_NAME_MAX || strpbrk(value, " \t"))
		return -EINVAL;
	memcpy(ret_text, value, n + 1);
	return 0;
}

/* Returns the engine class with @name; NULL: the table is full, or the name is too long. */
static struct fdinfo_engine *find_engine(struct fdinfo *info, const char *name)
{
	struct fdinfo_engine *engine = info->engines;

	if (name[0] == '\0' || strlen(name) >= FDINFO_NAME_MAX)
		return NULL;
	for (int i = 0; i < info->n_engines; i++, engine++)
		if (strcmp(engine->name, name) == 0)
			return engine;
	if (info->n_engines == FDINFO_ENGINES_MAX)
		return NULL;
	info->n_engines++;
	*engine = (struct fdinfo_engine){.capacity = 1};
	strcpy(engine->name, name);
	return engine;
}

/* --- keys --- */

static int set_driver(struct parser *parser, const char *name, const char *value)
{
	return name[0] ? 0 : parse_text(value, parser->info->driver);
}

static int set_pdev(struct parser *parser, const char *name, const char *value)
{
	return name[0] ? 0 : parse_text(value, parser->info->pdev);
}

static int set_client(struct parser *parser, const char *name, const char *value)
{
	int r = name[0] ? 0 : parse_number(value, no_units, 1, &parser->info->client);

	parser->info->client_valid |= name[0] == '\0' && r == 0;
	return r;
}

static int set_capacity(struct parser *parser, const char *name, const char *value)
{
	struct fdinfo_engine *engine = find_engine(parser->info, name);
	uint64_t number;
	int r = parse_number(value, no_units, 1, &number);

	if (!engine)
		return -E2BIG;
	if (r < 0 || number < 1 || number > CAPACITY_MAX)
		return -EINVAL;
	engine->capacity = number;
	return 0;
}

/*
 * amdgpu has two kinds of engines with the name "dec". The larger value is used, because a sum
 * could count the same time twice.
 */
static int raise_number(const char *value, const struct unit *units, size_t n_units, bool *valid,
			uint64_t *number)
{
	uint64_t parsed;
	int r = parse_number(value, units, n_units, &parsed);

	if (r < 0)
		return r;
	if (!*valid || parsed > *number)
		*number = parsed;
	*valid = true;
	return 0;
}

static int set_busy(struct parser *parser, const char *name, const char *value)
{
	struct fdinfo_engine *engine = find_engine(parser->info, name);

	return engine ? raise_number(value, time_units, 1, &engine->busy_valid, &engine->busy_ns)
		      : -E2BIG;
}

static int set_cycles(struct parser *parser, const char *name, const char *value)
{
	struct fdinfo_engine *engine = find_engine(parser->info, name);

	return engine ? raise_number(value, no_units, 1, &engine->cycles_valid, &engine->cycles)
		      : -E2BIG;
}

static int set_total(struct parser *parser, const char *name, const char *value)
{
	struct fdinfo_engine *engine = find_engine(parser->info, name);

	return engine ? raise_number(value, no_units, 1, &engine->total_valid,
				     &engine->total_cycles)
		      : -E2BIG;
}

static int set_max_hz(struct parser *parser, const char *name, const char *value)
{
	struct fdinfo_engine *engine = find_engine(parser->info, name);

	return engine ? parse_number(value, frequency_units, ARRAY_SIZE(frequency_units),
				     &engine->max_hz)
		      : -E2BIG;
}

/* The drivers name memory on the device "vram", "vram0" or "local0". */
static bool on_device(const char *region)
{
	return strncmp(region, "vram", 4) == 0 || strncmp(region, "local", 5) == 0;
}

static int add_memory(struct parser *parser, enum memory_kind kind, const char *region,
		      const char *value)
{
	uint64_t *sum = &parser->bytes[kind][on_device(region)], bytes;
	int r = parse_number(value, memory_units, ARRAY_SIZE(memory_units), &bytes);

	if (r < 0 || __builtin_add_overflow(*sum, bytes, sum))
		return -EINVAL;
	parser->seen[kind][on_device(region)] = true;
	return 0;
}

static int add_resident(struct parser *parser, const char *region, const char *value)
{
	return add_memory(parser, RESIDENT, region, value);
}

static int add_old_memory(struct parser *parser, const char *region, const char *value)
{
	return add_memory(parser, MEMORY, region, value);
}

/* A longer prefix precedes a shorter one. */
static const struct key {
	const char *prefix;
	int (*set)(struct parser *parser, const char *name, const char *value);
} keys[] = {
	{"drm-driver", set_driver},	 {"drm-pdev", set_pdev},
	{"drm-client-id", set_client},	 {"drm-engine-capacity-", set_capacity},
	{"drm-engine-", set_busy},	 {"drm-total-cycles-", set_total},
	{"drm-cycles-", set_cycles},	 {"drm-maxfreq-", set_max_hz},
	{"drm-resident-", add_resident}, {"drm-memory-", add_old_memory},
};

static int parse_line(struct parser *parser, char *line)
{
	char *colon = strchr(line, ':'), *value, *end;

	if (!colon || strncmp(line, "drm-", 4) != 0)
		return 0;
	*colon = '\0';
	value = colon + 1 + strspn(colon + 1, " \t");
	for (end = value + strlen(value); end > value && strchr(" \t\r", end[-1]);)
		*--end = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		size_t n = strlen(keys[i].prefix);

		if (strncmp(line, keys[i].prefix, n) == 0)
			return keys[i].set(parser, line + n, value);
	}
	return 0;
}

/* Cycles are a measure only beside those that have passed, or beside a frequency. */
static bool is_measured(const struct fdinfo_engine *engine)
{
	return engine->busy_valid ||
	       (engine->cycles_valid && (engine->total_valid || engine->max_hz > 0));
}

/* Removes classes whose use cannot be computed. */
static void drop_idle_engines(struct fdinfo *info)
{
	int n = 0;

	for (int i = 0; i < info->n_engines; i++)
		if (is_measured(&info->engines[i]))
			info->engines[n++] = info->engines[i];
	info->n_engines = n;
}

static void select_memory(const struct parser *parser)
{
	/* amdgpu prints both names with the same value. */
	static const struct {
		enum memory_kind kind;
		bool device;
	} order[] = {{RESIDENT, true}, {MEMORY, true}, {RESIDENT, false}, {MEMORY, false}};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (!parser->seen[order[i].kind][order[i].device])
			continue;
		parser->info->memory_valid = true;
		parser->info->memory_bytes = parser->bytes[order[i].kind][order[i].device];
		return;
	}
}

int fdinfo_parse(const char *text, size_t length, struct fdinfo *ret_info)
{
	char copy[FDINFO_TEXT_MAX], *rest = copy, *line;
	struct fdinfo info = {.n_engines = 0};
	struct parser parser = {.info = &info};
	int r = 0;

	if (length >= sizeof(copy))
		return -E2BIG;
	if (memchr(text, '\0', length))
		return -EINVAL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	while (r == 0 && (line = strsep(&rest, "\n")))
		r = parse_line(&parser, line);
	if (r < 0)
		return r;
	if (info.driver[0] == '\0')
		return -ENODATA;
	drop_idle_engines(&info);
	select_memory(&parser);
	*ret_info = info;
	return 0;
}

/* Returns the entry of a class, and writes whether it is new. The table cannot be full for long:
 * a driver has a fixed set of classes. NULL: it is full. */
static struct meter_engine *find_class(struct meter *meter, const char *name, bool *ret_new)
{
	struct meter_engine *engine = meter->engines;

	*ret_new = false;
	for (int i = 0; i < meter->n_engines; i++, engine++)
		if (strcmp(engine->name, name) == 0)
			return engine;
	if (meter->n_engines == FDINFO_ENGINES_MAX)
		return NULL;
	meter->n_engines++;
	*ret_new = true;
	*engine = (struct meter_engine){.busy_ns = 0};
	strcpy(engine->name, name);
	return engine;
}

/* Raises *@largest to @value. Returns the difference; 0: the value has decreased. */
static uint64_t raise_to(uint64_t *largest, uint64_t value)
{
	uint64_t grown = value > *largest ? value - *largest : 0;

	*largest += grown;
	return grown;
}

static double grown_ns(struct meter_engine *last, const struct fdinfo_engine *now,
		       uint64_t passed_ns)
{
	uint64_t busy_ns = now->busy_valid ? raise_to(&last->busy_ns, now->busy_ns) : 0,
		 cycles = now->cycles_valid ? raise_to(&last->cycles, now->cycles) : 0,
		 total = now->total_valid ? raise_to(&last->total_cycles, now->total_cycles) : 0;
	double capacity = (double)now->capacity;

	if (now->busy_valid)
		return (double)busy_ns / capacity;
	if (now->total_valid)
		return total ? (double)cycles / (double)total / capacity * (double)passed_ns : 0;
	return now->max_hz ? (double)cycles / (double)now->max_hz / capacity * 1e9 : 0;
}

/* Busy time of a client that has just been created; its cycles have no earlier total. */
static double first_ns(const struct fdinfo_engine *now, uint64_t passed_ns)
{
	double ns = now->busy_valid ? (double)now->busy_ns / (double)now->capacity : 0;

	return ns < (double)passed_ns ? ns : (double)passed_ns;
}

void meter_advance(struct meter *meter, const struct fdinfo *info, uint64_t passed_ns, bool is_new,
		   struct meter_growth *ret_growth)
{
	bool first = !meter->primed;

	*ret_growth = (struct meter_growth){.n_engines = 0};
	for (int i = 0; i < info->n_engines; i++) {
		const struct fdinfo_engine *now = &info->engines[i];
		bool new_class;
		struct meter_engine *last = find_class(meter, now->name, &new_class);
		double ns;

		if (!last)
			continue;
		ns = grown_ns(last, now, passed_ns);
		if (first)
			ns = is_new ? first_ns(now, passed_ns) : 0;
		else if (new_class)
			/* amdgpu prints an engine only after its first use */
			ns = first_ns(now, passed_ns);
		ret_growth->engines[ret_growth->n_engines].name = now->name;
		ret_growth->engines[ret_growth->n_engines++].ns = ns;
	}
	meter->primed = true;
}
