/* SPDX-License-Identifier: MIT */
/*
 * Loads the BPF program, finds the functions that present frames in library files, attaches the
 * program to them, assigns control groups to vGPUs, and reads the counters from mapped memory. A
 * library file may belong to a tenant, may be malformed, and may change while it is read.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/linux/cgroup.h"
#include "base/xalloc.h"
#include "monitor/bpf/bpf.h"
#include "monitor/bpf/count.h"
#include "monitor/bpf/scan.h"
#include "monitor/fps/fps.h"
#include "monitor/fps/totals.h"

#define SYMBOLS_MAX 8

/* File offsets of the functions that present, where a uprobe can be attached. */
struct symbols {
	uint64_t offset[SYMBOLS_MAX];
	int n;
};

#define FILE_MAX_BYTES	(64u << 20)
#define TABLE_MAX_BYTES (8u << 20) /* of one table of symbols or names; Mesa needs 2 MB */
#define SEGMENTS_MAX	256

static const char *const functions[] = {
	"glXSwapBuffers",
	"glXSwapBuffersMscOML",
	"eglSwapBuffers",
	"eglSwapBuffersWithDamageKHR",
	"eglSwapBuffersWithDamageEXT",
	"vkQueuePresentKHR",
};
_Static_assert(ARRAY_SIZE(functions) <= SYMBOLS_MAX, "each function has an offset");

/*
 * libGL of libglvnd forwards this function to libGLX. The BPF program is attached in libGLX only,
 * where it also counts programs that call libGLX directly.
 */
#define FORWARDED    "glXSwapBuffers"
#define FORWARDED_TO "libGLX.so."

struct image {
	unsigned char *bytes;
	size_t size;
	Elf *elf;
};

static int copy_file(int fd, struct image *image)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return -EINVAL;
	if (st.st_size > FILE_MAX_BYTES)
		return -EFBIG;
	image->bytes = xmalloc((size_t)st.st_size);
	while (image->size < (size_t)st.st_size &&
	       (n = pread(fd, image->bytes + image->size, (size_t)st.st_size - image->size,
			  (off_t)image->size)) != 0) {
		if (n < 0)
			return -errno;
		image->size += (size_t)n;
	}
	return 0;
}

/*
 * Returns true if the ELF header contains the number of sections. If it contains 0, libelf accepts
 * a larger number from another place in the file and allocates memory for all these sections. Such
 * a file is rejected.
 */
static bool has_sections(const struct image *image)
{
	bool is_64 = image->size > EI_CLASS && image->bytes[EI_CLASS] == ELFCLASS64;
	size_t at = is_64 ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum);

	return at + 1 < image->size && (image->bytes[at] || image->bytes[at + 1]);
}

static int open_elf(struct image *image)
{
	size_t segments;

	if (elf_version(EV_CURRENT) == EV_NONE || !has_sections(image))
		return -EINVAL;
	image->elf = elf_memory((char *)image->bytes, image->size);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF ||
	    image->bytes[EI_DATA] != ELFDATA2LSB || elf_getphdrnum(image->elf, &segments) < 0 ||
	    segments > SEGMENTS_MAX)
		return -EINVAL;
	return 0;
}

static Elf_Data *get_table(Elf_Scn *section)
{
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

	return data && data->d_buf && data->d_size <= TABLE_MAX_BYTES ? data : NULL;
}

/* Finds the first section of @type and its string table, which must end in a NUL. */
static bool find_section(Elf *elf, Elf64_Word type, Elf_Data **ret_table, Elf_Data **ret_names)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *table, *names;

	do
		section = elf_nextscn(elf, section);
	while (section && (!gelf_getshdr(section, &header) || header.sh_type != type));
	table = get_table(section);
	names = table ? get_table(elf_getscn(elf, header.sh_link)) : NULL;
	if (!names || names->d_size == 0 || ((const char *)names->d_buf)[names->d_size - 1] != '\0')
		return false;
	*ret_table = table;
	*ret_names = names;
	return true;
}

static const char *name_at(const Elf_Data *names, uint64_t at)
{
	return at < names->d_size ? (const char *)names->d_buf + at : "";
}

static bool forwards(Elf *elf)
{
	Elf_Data *entries, *names;
	GElf_Dyn entry;

	if (!find_section(elf, SHT_DYNAMIC, &entries, &names))
		return false;
	for (int i = 0; gelf_getdyn(entries, i, &entry); i++)
		if (entry.d_tag == DT_NEEDED && strncmp(name_at(names, entry.d_un.d_val),
							FORWARDED_TO, strlen(FORWARDED_TO)) == 0)
			return true;
	return false;
}

/*
 * Translates the address of a function into a file offset. Returns false if the address is not in
 * executable code.
 */
static bool find_offset(Elf *elf, uint64_t address, uint64_t *ret_offset)
{
	GElf_Phdr segment;

	for (int i = 0; gelf_getphdr(elf, i, &segment); i++) {
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*ret_offset = segment.p_offset + (address - segment.p_vaddr);
		return *ret_offset >= segment.p_offset;
	}
	return false;
}

/*
 * Skips an endbr instruction (x86) if a push follows. The kernel emulates a probed push, but
 * single-steps a probed endbr, which takes ten times as long in a virtual machine.
 */
static uint64_t skip_endbr(const struct image *image, uint64_t offset)
{
	static const unsigned char endbr[] = {
		0xf3, 0x0f, 0x1e}; /* the last byte is fa (endbr64) or fb (endbr32) */
	const unsigned char *code, *next;

	if (offset >= image->size || image->size - offset < 6)
		return offset;
	code = image->bytes + offset;
	if (memcmp(code, endbr, sizeof(endbr)) != 0 || (code[3] != 0xfa && code[3] != 0xfb))
		return offset;
	next = code + 4;
	next += *next == 0x41;
	return *next >= 0x50 && *next <= 0x57 ? offset + 4 : offset;
}

static bool is_function(const char *name, bool forwarded)
{
	if (forwarded && strcmp(name, FORWARDED) == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (strcmp(name, functions[i]) == 0)
			return true;
	return false;
}

/* Adds @offset unless it is known, because two names may refer to the same function. */
static void add_offset(struct symbols *symbols, uint64_t offset)
{
	for (int i = 0; i < symbols->n; i++)
		if (symbols->offset[i] == offset)
			return;
	if (symbols->n < SYMBOLS_MAX)
		symbols->offset[symbols->n++] = offset;
}

static int find_functions(const struct image *image, struct symbols *symbols)
{
	bool forwarded = forwards(image->elf);
	Elf_Data *table, *names;
	GElf_Sym symbol;
	uint64_t offset;

	if (!find_section(image->elf, SHT_DYNSYM, &table, &names))
		return -EINVAL;
	for (int i = 0; gelf_getsym(table, i, &symbol); i++)
		if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
		    is_function(name_at(names, symbol.st_name), forwarded) &&
		    find_offset(image->elf, symbol.st_value, &offset))
			add_offset(symbols, skip_endbr(image, offset));
	return 0;
}

/*
 * Reads the regular file @fd. Returns 0, -EINVAL if the file is not a valid library, -EFBIG, or
 * another negative errno. ret_symbols->n is 0 if the library has no function that presents, or only
 * one that calls another library. That library is examined separately.
 */
static int read_symbols(int fd, struct symbols *ret_symbols)
{
	struct symbols symbols = {.n = 0};
	struct image image = {.size = 0};
	int r = copy_file(fd, &image);

	if (r == 0)
		r = open_elf(&image);
	if (r == 0)
		r = find_functions(&image, &symbols);
	if (r == 0)
		*ret_symbols = symbols;
	(void)elf_end(image.elf);
	free(image.bytes);
	return r;
}

#define LOADER_CACHE  "/etc/ld.so.cache"
#define FILES_MAX     256
#define FILES_OF_VGPU 16 /* maximum files found by one vGPU, so that no vGPU uses all entries */
#define LAST_WAIT_S   2	 /* time to wait for the thread to exit */

/*
 * Number of scans after which an unused file is detached, because an attached file keeps its file
 * system busy. The number is large, because short programs may start and exit between two scans.
 */
#define UNSEEN_SCANS (12 * FPS_BPF_SCAN_ROUND)

/* A library file. */
struct file {
	dev_t dev;
	ino_t ino;
	char vgpu[ID_MAX]; /* vGPU whose scan found the file first; "": the loader cache */
	bool shared;	   /* another vGPU uses the file too */
	unsigned int seen; /* number of the last scan that found the file */
	struct bpf_link *links[SYMBOLS_MAX];
	int n_links;
	bool failed; /* not all functions could be attached */
};

/* A control group to scan. */
struct group {
	char id[ID_MAX];
	char folder[PATH_MAX];
};

struct files {
	struct bpf_program *present;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock; /* protects the members from @wanted to @n_groups */
	pthread_cond_t wake;
	bool wanted, looking, stop;
	struct group *groups;
	size_t n_groups;

	/* used by the thread only */
	struct fps_bpf_scan *scan;
	unsigned int scans;
	struct timespec cache_mtime;
	struct file files[FILES_MAX];
	int n_files;
	const char *scanned; /* the vGPU being scanned; "": the host */
	int attach_errno;    /* errno of the last failed attachment */
	int over_limit;	     /* files ignored in this scan because of the limits */

	atomic_int counted, refused;
};

static struct file *file_find(struct files *files, const struct stat *st)
{
	for (int i = 0; i < files->n_files; i++)
		if (files->files[i].dev == st->st_dev && files->files[i].ino == st->st_ino)
			return &files->files[i];
	return NULL;
}

static bool has_room(const struct files *files)
{
	int same = 0;

	for (int i = 0; i < files->n_files; i++)
		same += strcmp(files->files[i].vgpu, files->scanned) == 0;
	return files->n_files < FILES_MAX && (same < FILES_OF_VGPU || files->scanned[0] == '\0');
}

/*
 * Attaches the BPF program to each function of the file @path that presents a frame. If some
 * attachments fail, the others remain.
 */
static int file_attach(struct files *files, struct file *file, const char *path, int fd)
{
	struct bpf_uprobe_opts options = {.sz = sizeof(options)};
	struct symbols found;
	int r = read_symbols(fd, &found);

	for (int i = 0; r == 0 && i < found.n; i++) {
		struct bpf_link *link = bpf_program__attach_uprobe_opts(files->present, -1, path,
									found.offset[i], &options);

		if (link)
			file->links[file->n_links++] = link;
		else
			r = -errno;
	}
	return r;
}

static void file_detach(struct file *file)
{
	for (int i = 0; i < file->n_links; i++)
		(void)bpf_link__destroy(file->links[i]);
}

/*
 * Called for each library in use. Attaches the BPF program to a new library, and marks a known
 * library as seen. If attaching fails, stores the library too, so that no further attempt is made.
 */
static void add_file(void *userdata, const char *path)
{
	struct files *files = userdata;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct file fresh = {.seen = files->scans};
	struct file *known;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	known = file_find(files, &st);
	if (known) {
		known->seen = files->scans;
		if (files->scanned[0] == '\0')
			known->vgpu[0] = '\0';
		else if (strcmp(known->vgpu, files->scanned) != 0)
			known->shared = true;
		return;
	}
	if (!has_room(files)) {
		files->over_limit++;
		return;
	}
	fresh.dev = st.st_dev;
	fresh.ino = st.st_ino;
	strcpy(fresh.vgpu, files->scanned);
	r = file_attach(files, &fresh, path, fd);
	if (r < 0)
		files->attach_errno = r;
	fresh.failed = r < 0;
	files->files[files->n_files++] = fresh;
}

/*
 * Scans the loader cache of the host if the cache has changed; otherwise marks the files of the
 * cache as seen.
 */
static void scan_host(struct files *files)
{
	struct stat st;

	files->scanned = "";
	if (stat(LOADER_CACHE, &st) < 0 || (st.st_mtim.tv_sec == files->cache_mtime.tv_sec &&
					    st.st_mtim.tv_nsec == files->cache_mtime.tv_nsec)) {
		for (int i = 0; i < files->n_files; i++)
			if (files->files[i].vgpu[0] == '\0')
				files->files[i].seen = files->scans;
		return;
	}
	files->cache_mtime = st.st_mtim;
	(void)fps_bpf_scan_cache(LOADER_CACHE, add_file, files);
}

static void publish_stats(struct files *files)
{
	int counted = 0, refused = files->over_limit;

	for (int i = 0; i < files->n_files; i++) {
		counted += files->files[i].n_links > 0;
		refused += files->files[i].failed;
	}
	atomic_store(&files->counted, counted);
	atomic_store(&files->refused, refused);
}

/*
 * Copies the groups, because the event loop may change them during the scan. Returns NULL if there
 * are no groups.
 */
static struct group *copy_groups(struct files *files, size_t *ret_n)
{
	struct group *copy = NULL;

	pthread_mutex_lock(&files->lock);
	*ret_n = files->n_groups;
	if (files->n_groups > 0) {
		copy = xmalloc(files->n_groups * sizeof(*copy));
		memcpy(copy, files->groups, files->n_groups * sizeof(*copy));
	}
	pthread_mutex_unlock(&files->lock);
	return copy;
}

static bool has_group(const struct group *groups, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(groups[i].id, id) == 0)
			return true;
	return id[0] == '\0'; /* the host */
}

/*
 * Detaches from files that only a removed vGPU used, and from files that were not used for a long
 * time.
 */
static void drop_unneeded(struct files *files, const struct group *groups, size_t n)
{
	for (int i = files->n_files; i-- > 0;) {
		struct file *file = &files->files[i];

		if (files->scans - file->seen <= UNSEEN_SCANS &&
		    (file->seen == files->scans || file->shared ||
		     has_group(groups, n, file->vgpu)))
			continue;
		file_detach(file);
		*file = files->files[--files->n_files];
	}
}

static void scan_once(struct files *files)
{
	CLEANUP_FREE struct group *groups = NULL;
	size_t n;

	groups = copy_groups(files, &n);
	files->scans++;
	files->over_limit = 0;
	scan_host(files);
	fps_bpf_scan_begin(files->scan);
	/*
	 * The last groups are not scanned if the limit of programs is reached. Each scan therefore
	 * starts with another group.
	 */
	for (size_t i = 0; groups && i < n; i++) {
		const struct group *group = &groups[(i + files->scans) % n];

		files->scanned = group->id;
		fps_bpf_scan_group(files->scan, group->folder, add_file, files);
	}
	fps_bpf_scan_end(files->scan);
	if (groups || n == 0)
		drop_unneeded(files, groups, n);
	publish_stats(files);
}

static void *run_thread(void *userdata)
{
	struct files *files = userdata;

	pthread_mutex_lock(&files->lock);
	while (!files->stop) {
		if (!files->wanted) {
			pthread_cond_wait(&files->wake, &files->lock);
			continue;
		}
		files->wanted = false;
		files->looking = true;
		pthread_mutex_unlock(&files->lock);
		scan_once(files);
		pthread_mutex_lock(&files->lock);
		files->looking = false;
	}
	pthread_mutex_unlock(&files->lock);
	return NULL;
}

/* Starts the thread with all signals blocked, because the event loop handles signals. */
static int start_thread(struct files *files)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&files->thread, NULL, run_thread, files);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	files->started = r == 0;
	return -r;
}

/* Stops the thread. Returns false if the thread is blocked. */
static bool end_thread(struct files *files)
{
	struct timespec until;

	if (!files->started)
		return true;
	pthread_mutex_lock(&files->lock);
	files->stop = true;
	pthread_cond_signal(&files->wake);
	pthread_mutex_unlock(&files->lock);
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LAST_WAIT_S;
	return pthread_timedjoin_np(files->thread, NULL, &until) == 0;
}

/*
 * Detaches from all files. @files may be NULL. Returns false if the thread is blocked. In this case
 * nothing is freed, and the caller must not free @present.
 */
static bool files_free(struct files *files)
{
	if (!files)
		return true;
	if (!end_thread(files))
		return false;
	while (files->n_files > 0)
		file_detach(&files->files[--files->n_files]);
	fps_bpf_scan_free(files->scan);
	(void)pthread_cond_destroy(&files->wake);
	(void)pthread_mutex_destroy(&files->lock);
	free(files->groups);
	free(files);
	return true;
}

/*
 * Attaches @present to the libraries of the host and starts the thread. Returns 0, or a negative
 * errno if no library could be attached. @present must stay valid until files_free()
 * succeeds.
 */
static int files_new(struct bpf_program *present, struct files **ret_files)
{
	struct files *files = xcalloc(1, sizeof(*files));
	int r = 0;

	files->present = present;
	(void)pthread_mutex_init(&files->lock, NULL); /* cannot fail without attributes */
	(void)pthread_cond_init(&files->wake, NULL);
	files->scan = fps_bpf_scan_new("/proc");
	scan_once(files);
	if (files->attach_errno < 0 && atomic_load(&files->counted) == 0)
		r = files->attach_errno;
	if (r == 0)
		r = start_thread(files);
	if (r < 0) {
		(void)files_free(files);
		return r;
	}
	*ret_files = files;
	return 0;
}

/* Starts scanning the programs of a control group. Returns 0 or a negative errno. */
static int files_add(struct files *files, const char *id, const char *folder)
{
	struct group group;

	if (id_copy(group.id, id) < 0 || strlen(folder) >= sizeof(group.folder))
		return -ENAMETOOLONG;
	strcpy(group.folder, folder);
	pthread_mutex_lock(&files->lock);
	files->groups = xreallocarray(files->groups, files->n_groups + 1, sizeof(group));
	files->groups[files->n_groups++] = group;
	pthread_mutex_unlock(&files->lock);
	return 0;
}

static void files_drop(struct files *files, const char *id)
{
	pthread_mutex_lock(&files->lock);
	for (size_t i = files->n_groups; i-- > 0;)
		if (strcmp(files->groups[i].id, id) == 0)
			files->groups[i] = files->groups[--files->n_groups];
	pthread_mutex_unlock(&files->lock);
}

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
#define UPROBES	   "/sys/bus/event_source/devices/uprobe/type"

/* The compiled BPF programs, embedded by monitor/bpf/embed.S. */
extern const char fps_bpf_present_1[], fps_bpf_present_1_end[];
extern const char fps_bpf_present_2[], fps_bpf_present_2_end[];

struct watch {
	char id[ID_MAX];
	uint64_t group;
	uint32_t row;
	struct fps_bpf_row base; /* counters of @row when counting for this vGPU began */
	struct fps_totals totals;
	struct fps_phase phase; /* of all programs together */
};

struct fps_bpf {
	struct bpf_object *object;
	struct bpf_link *ends[2];	/* links to the tracepoints of thread exit and exec() */
	int groups;			/* fd of the map of control groups, owned by @object */
	const struct fps_bpf_row *rows; /* mapped */
	uint32_t next_row;
	struct watch **watches; /* sorted by id */
	size_t n_watches;
	struct files *files;
};

static size_t rows_size(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (FPS_BPF_ROWS * sizeof(struct fps_bpf_row) + page - 1) / page * page;
}

/* --- vGPUs --- */

static int watch_compare(const void *id, const void *entry)
{
	return strcmp(id, (*(struct watch *const *)entry)->id);
}

static struct watch **watch_find(const struct fps_bpf *bpf, const char *id)
{
	if (bpf->n_watches == 0)
		return NULL;
	return bsearch(id, bpf->watches, bpf->n_watches, sizeof(*bpf->watches), watch_compare);
}

static void watch_insert(struct fps_bpf *bpf, struct watch *watch)
{
	size_t at = bpf->n_watches++;

	for (; at > 0 && strcmp(bpf->watches[at - 1]->id, watch->id) > 0; at--)
		bpf->watches[at] = bpf->watches[at - 1];
	bpf->watches[at] = watch;
}

/*
 * Returns the kernel's id of a control group. The file handle of the group's folder contains the
 * id.
 */
static int group_id(const char *folder, uint64_t *ret_group)
{
	union {
		struct file_handle handle;
		char bytes[sizeof(struct file_handle) + sizeof(uint64_t)];
	} file = {.handle.handle_bytes = sizeof(uint64_t)};
	int mount;

	if (name_to_handle_at(AT_FDCWD, folder, &file.handle, &mount, 0) < 0)
		return -errno;
	if (file.handle.handle_bytes != sizeof(uint64_t))
		return -EOPNOTSUPP;
	memcpy(ret_group, file.handle.f_handle, sizeof(*ret_group));
	return 0;
}

static bool row_taken(const struct fps_bpf *bpf, uint32_t row)
{
	for (size_t i = 0; i < bpf->n_watches; i++)
		if (bpf->watches[i]->row == row)
			return true;
	return false;
}

/*
 * Returns an unused row of counters. Reuses rows as late as possible, so that late frames of a
 * removed vGPU are not counted for another vGPU.
 */
static uint32_t free_row(struct fps_bpf *bpf)
{
	do
		bpf->next_row = (bpf->next_row + 1) % FPS_BPF_ROWS;
	while (row_taken(bpf, bpf->next_row));
	return bpf->next_row;
}

static void row_read(const struct fps_bpf *bpf, uint32_t index, struct fps_bpf_row *ret_row)
{
	const struct fps_bpf_row *row = &bpf->rows[index];

	ret_row->frames = __atomic_load_n(&row->frames, __ATOMIC_RELAXED);
	ret_row->last_ns = __atomic_load_n(&row->last_ns, __ATOMIC_RELAXED);
	ret_row->longest_gap_ns = __atomic_load_n(&row->longest_gap_ns, __ATOMIC_RELAXED);
	ret_row->threads = __atomic_load_n(&row->threads, __ATOMIC_RELAXED);
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		ret_row->frame_time[b] = __atomic_load_n(&row->frame_time[b], __ATOMIC_RELAXED);
}

/* Starts counting the frames of vGPU watch->id and scanning its programs. */
static int watch_begin(struct fps_bpf *bpf, const struct watch *watch, const char *folder)
{
	int r = files_add(bpf->files, watch->id, folder);

	if (r == 0 && bpf_map_update_elem(bpf->groups, &watch->group, &watch->row, BPF_ANY) < 0) {
		r = -errno;
		files_drop(bpf->files, watch->id);
	}
	return r;
}

int fps_bpf_watch(struct fps_bpf *bpf, const char *id, const char *folder)
{
	CLEANUP_FREE struct watch *watch = NULL;
	int r;

	if (watch_find(bpf, id))
		return 0;
	if (bpf->n_watches >= FPS_BPF_ROWS)
		return -ENOSPC;
	bpf->watches = xreallocarray(bpf->watches, bpf->n_watches + 1, sizeof(struct watch *));
	watch = xcalloc(1, sizeof(*watch));
	if (id_copy(watch->id, id) < 0)
		return -EINVAL;
	r = group_id(folder, &watch->group);
	if (r < 0)
		return r;
	watch->row = free_row(bpf);
	row_read(bpf, watch->row, &watch->base);
	r = watch_begin(bpf, watch, folder);
	if (r < 0)
		return r;
	watch_insert(bpf, watch);
	watch = NULL;
	return 0;
}

void fps_bpf_forget(struct fps_bpf *bpf, const char *id)
{
	struct watch **known = watch_find(bpf, id);

	if (!known)
		return;
	(void)bpf_map_delete_elem(bpf->groups, &(*known)->group);
	files_drop(bpf->files, id);
	free(*known);
	bpf->n_watches--;
	memmove(known, known + 1, (size_t)(bpf->watches + bpf->n_watches - known) * sizeof(*known));
}

const struct fps_totals *fps_bpf_totals(struct fps_bpf *bpf, const char *id)
{
	struct watch **known = watch_find(bpf, id), *watch;
	struct fps_bpf_row now;
	uint64_t before;

	if (!known)
		return NULL;
	watch = *known;
	watch->totals.at_ns = clock_now().mono_ns;
	row_read(bpf, watch->row, &now);
	before = watch->totals.frames;
	watch->totals.frames = now.frames - watch->base.frames;
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		watch->totals.frame_time[b] = now.frame_time[b] - watch->base.frame_time[b];
	watch->totals.open = now.threads > 0 ? (int)now.threads : 0;
	if (now.last_ns > watch->base.last_ns)
		watch->totals.newest_ns = now.last_ns;
	watch->totals.partial_frames = fps_phase_take(&watch->phase, watch->totals.frames - before,
						      watch->totals.newest_ns, watch->totals.at_ns);
	if (watch->totals.open == 0) {
		watch->totals.partial_frames = 0;
		watch->phase = (struct fps_phase){0}; /* the next frame is of another program */
	}
	if (now.longest_gap_ns > watch->base.longest_gap_ns)
		watch->totals.longest_gap_ns = now.longest_gap_ns;
	return &watch->totals;
}

bool fps_bpf_request_scan(struct fps_bpf *bpf)
{
	struct files *files = bpf->files;
	bool looking;

	pthread_mutex_lock(&files->lock);
	looking = files->looking;
	files->wanted = true;
	pthread_cond_signal(&files->wake);
	pthread_mutex_unlock(&files->lock);
	return !looking;
}

void fps_bpf_stats(const struct fps_bpf *bpf, struct fps_bpf_stats *ret_stats)
{
	ret_stats->files = atomic_load(&bpf->files->counted);
	ret_stats->refused = atomic_load(&bpf->files->refused);
}

/* --- loading --- */

static int silence(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level, (void)format, (void)ap;
	return 0;
}

static int fail_load(struct err *reterr, int error, const char *what)
{
	if (error == EPERM || error == EACCES)
		return err_fail(reterr, EPERM,
				"%s: not permitted (%s); needs root or CAP_BPF, CAP_PERFMON and "
				"CAP_SYS_ADMIN, and no kernel lockdown",
				what, strerror(error));
	return err_fail(reterr, EOPNOTSUPP,
			"%s: %s; needs Linux 5.7 or later with CONFIG_BPF_SYSCALL and "
			"CONFIG_BPF_EVENTS",
			what, strerror(error));
}

/*
 * Checks the requirements that can be checked without root. Sets *ret_version to the version of the
 * control groups.
 */
static int check_host(int *ret_version, struct err *reterr)
{
	CLEANUP_FREE struct cgroup_host *host = xcalloc(1, sizeof(*host));
	int r = cgroup_find(CGROUP_MOUNTINFO, host, reterr);

	if (r < 0)
		return r;
	if (access(UPROBES, F_OK) < 0)
		return err_fail(reterr, EOPNOTSUPP,
				"%s: missing (needs a kernel with CONFIG_UPROBE_EVENTS and a "
				"mounted /sys)",
				UPROBES);
	if (host->version->number == 1 && access(KERNEL_BTF, R_OK) < 0)
		return err_fail(reterr, EOPNOTSUPP,
				"%s: not readable, but needed with control groups of version 1 "
				"(CONFIG_DEBUG_INFO_BTF); boot with "
				"systemd.unified_cgroup_hierarchy=1 to use version 2 instead",
				KERNEL_BTF);
	*ret_version = host->version->number;
	return 0;
}

static int attach_ends(struct fps_bpf *bpf, struct err *reterr)
{
	static const struct {
		const char *program, *tracepoint;
	} ends[] = {
		{"thread_exit", "sched_process_exit"},
		{"thread_exec", "sched_process_exec"},
	};
	_Static_assert(ARRAY_SIZE(ends) == ARRAY_SIZE(bpf->ends), "every link is stored");

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(bpf->object, ends[i].program);

		bpf->ends[i] =
			program ? bpf_program__attach_raw_tracepoint(program, ends[i].tracepoint)
				: NULL;
		if (!bpf->ends[i])
			return fail_load(reterr, errno, ends[i].tracepoint);
	}
	return 0;
}

static int attach_files(struct fps_bpf *bpf, struct err *reterr)
{
	struct bpf_program *present = bpf_object__find_program_by_name(bpf->object, "present");
	int r = present ? files_new(present, &bpf->files) : -EINVAL;

	return r < 0 ? fail_load(reterr, -r, "cannot attach the BPF program to a library") : 0;
}

static int load(struct fps_bpf *bpf, int version, struct err *reterr)
{
	struct bpf_object_open_opts options = {.sz = sizeof(options), .object_name = "gover_fps"};
	const char *bytes = version == 1 ? fps_bpf_present_1 : fps_bpf_present_2;
	const char *end = version == 1 ? fps_bpf_present_1_end : fps_bpf_present_2_end;
	const void *mapped;
	int rows;

	(void)libbpf_set_print(silence); /* without this call libbpf prints to stderr */
	bpf->object = bpf_object__open_mem(bytes, (size_t)(end - bytes), &options);
	if (!bpf->object)
		return fail_load(reterr, errno, "cannot open the BPF program");
	if (bpf_object__load(bpf->object) < 0)
		return fail_load(reterr, errno, "the kernel rejects the BPF program");
	bpf->groups = bpf_object__find_map_fd_by_name(bpf->object, "groups");
	rows = bpf_object__find_map_fd_by_name(bpf->object, "rows");
	if (bpf->groups < 0 || rows < 0)
		return err_fail(reterr, EINVAL,
				"the BPF program does not match this build of gover-d");
	mapped = mmap(NULL, rows_size(), PROT_READ, MAP_SHARED, rows, 0);
	if (mapped == MAP_FAILED)
		return fail_load(reterr, errno, "cannot map the counters");
	bpf->rows = mapped;
	return attach_ends(bpf, reterr);
}

int fps_bpf_new(struct fps_bpf **ret_bpf, struct err *reterr)
{
	struct fps_bpf *bpf = xcalloc(1, sizeof(*bpf));
	int version = 2, r;

	r = check_host(&version, reterr);
	if (r == 0)
		r = load(bpf, version, reterr);
	if (r == 0)
		r = attach_files(bpf, reterr);
	if (r < 0) {
		fps_bpf_free(bpf);
		return r;
	}
	*ret_bpf = bpf;
	return 0;
}

struct fps_bpf *fps_bpf_free(struct fps_bpf *bpf)
{
	if (!bpf || !files_free(bpf->files))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(bpf->ends); i++)
		(void)bpf_link__destroy(bpf->ends[i]);
	while (bpf->n_watches > 0)
		free(bpf->watches[--bpf->n_watches]);
	free(bpf->watches);
	if (bpf->rows)
		(void)munmap((void *)(uintptr_t)bpf->rows, rows_size());
	bpf_object__close(bpf->object);
	free(bpf);
	return NULL;
}
