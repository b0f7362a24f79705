/* SPDX-License-Identifier: MIT */
/*
 * Finds library files and attaches the BPF program to them, in a separate thread. The list of files
 * belongs to the thread. The list of groups is changed by the event loop and protected by a lock,
 * which is never held while files are read.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/xalloc.h"
#include "monitor/bpf/files.h"
#include "monitor/bpf/symbols.h"
#include "monitor/bpf/scan.h"

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
	struct bpf_link *links[FPS_BPF_SYMBOLS_MAX];
	int n_links;
	bool failed; /* not all functions could be attached */
};

/* A control group to scan. */
struct group {
	char id[ID_MAX];
	char folder[PATH_MAX];
};

struct fps_bpf_files {
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

static struct file *file_find(struct fps_bpf_files *files, const struct stat *st)
{
	for (int i = 0; i < files->n_files; i++)
		if (files->files[i].dev == st->st_dev && files->files[i].ino == st->st_ino)
			return &files->files[i];
	return NULL;
}

static bool has_room(const struct fps_bpf_files *files)
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
static int file_attach(struct fps_bpf_files *files, struct file *file, const char *path, int fd)
{
	struct bpf_uprobe_opts options = {.sz = sizeof(options)};
	struct fps_bpf_symbols found;
	int r = fps_bpf_symbols_read(fd, &found);

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
	struct fps_bpf_files *files = userdata;
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
static void scan_host(struct fps_bpf_files *files)
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

static void publish_stats(struct fps_bpf_files *files)
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
static struct group *copy_groups(struct fps_bpf_files *files, size_t *ret_n)
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
static void drop_unneeded(struct fps_bpf_files *files, const struct group *groups, size_t n)
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

static void scan_once(struct fps_bpf_files *files)
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
	struct fps_bpf_files *files = userdata;

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
static int start_thread(struct fps_bpf_files *files)
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

int fps_bpf_files_new(struct bpf_program *present, struct fps_bpf_files **ret_files)
{
	struct fps_bpf_files *files = xcalloc(1, sizeof(*files));
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
		(void)fps_bpf_files_free(files);
		return r;
	}
	*ret_files = files;
	return 0;
}

/* Stops the thread. Returns false if the thread is blocked. */
static bool end_thread(struct fps_bpf_files *files)
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

bool fps_bpf_files_free(struct fps_bpf_files *files)
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

int fps_bpf_files_add(struct fps_bpf_files *files, const char *id, const char *folder)
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

void fps_bpf_files_drop(struct fps_bpf_files *files, const char *id)
{
	pthread_mutex_lock(&files->lock);
	for (size_t i = files->n_groups; i-- > 0;)
		if (strcmp(files->groups[i].id, id) == 0)
			files->groups[i] = files->groups[--files->n_groups];
	pthread_mutex_unlock(&files->lock);
}

bool fps_bpf_files_request_scan(struct fps_bpf_files *files)
{
	bool looking;

	pthread_mutex_lock(&files->lock);
	looking = files->looking;
	files->wanted = true;
	pthread_cond_signal(&files->wake);
	pthread_mutex_unlock(&files->lock);
	return !looking;
}

void fps_bpf_files_stats(const struct fps_bpf_files *files, int *ret_files, int *ret_refused)
{
	*ret_files = atomic_load(&files->counted);
	*ret_refused = atomic_load(&files->refused);
}
