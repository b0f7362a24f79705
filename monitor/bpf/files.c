/* SPDX-License-Identifier: MIT */
/*
 * Finds library files and puts the kernel's program on them, in a thread of its own. The list of
 * files is the thread's alone; that of the groups to look at is changed by the loop, under the
 * lock, which is never held while anything is read.
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
#include "monitor/bpf/files.h"
#include "monitor/bpf/symbols.h"
#include "monitor/bpf/scan.h"

#define LOADER_CACHE  "/etc/ld.so.cache"
#define FILES_MAX     256
#define FILES_OF_VGPU 16 /* of one: who has many leaves room for the others */
#define LAST_WAIT_S   2	 /* for the thread, at the end */

/* A file in which nobody was seen for so long is let go, since it keeps a file system busy.
 * Programs may come and go between two scans, so it is not short. */
#define UNSEEN_SCANS (12 * FPS_BPF_SCAN_ROUND)

/* A library file. */
struct file {
	dev_t dev;
	ino_t ino;
	char vgpu[ID_MAX]; /* where it was met last; "": known to the host's loader */
	unsigned int seen; /* number of the scan */
	struct bpf_link *links[FPS_BPF_SYMBOLS_MAX];
	int n_links;
	bool failed; /* the program could not be put on all of it */
};

/* Where to look. */
struct place {
	char id[ID_MAX];
	char folder[PATH_MAX];
};

struct fps_bpf_files {
	struct bpf_program *present;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t wake;
	bool wanted, looking, stop;
	struct place *places;
	size_t n_places;

	/* the thread's */
	struct fps_bpf_scan *scan;
	unsigned int scans;
	struct timespec cache_mtime;
	struct file files[FILES_MAX];
	int n_files;
	const char *scanned; /* the vGPU that is being looked at; "": the host */
	int attach_errno;    /* of the last file that refused */
	int crowded;	     /* files for which there was no room in this scan */

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

/* Puts the program on every function of @path that presents. All that worked is kept. */
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

/* A library that is in use. Known ones are noted, new ones taken up; one that cannot be is
 * remembered too, so that it is not tried again and again. */
static void meet_file(void *userdata, const char *path)
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
		if (known->vgpu[0] != '\0')
			strcpy(known->vgpu, files->scanned);
		return;
	}
	if (!has_room(files)) {
		files->crowded++;
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

/* What the host's loader knows, when its list has changed; else all of it stands as it was. */
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
	(void)fps_bpf_scan_cache(LOADER_CACHE, meet_file, files);
}

static void tell_files(struct fps_bpf_files *files)
{
	int counted = 0, refused = files->crowded;

	for (int i = 0; i < files->n_files; i++) {
		counted += files->files[i].n_links > 0;
		refused += files->files[i].failed;
	}
	atomic_store(&files->counted, counted);
	atomic_store(&files->refused, refused);
}

/* A copy of where to look, as the loop may change it meanwhile; NULL: out of memory, or nowhere. */
static struct place *copy_places(struct fps_bpf_files *files, size_t *ret_n)
{
	struct place *copy = NULL;

	pthread_mutex_lock(&files->lock);
	*ret_n = files->n_places;
	if (files->n_places > 0)
		copy = malloc(files->n_places * sizeof(*copy));
	if (copy)
		memcpy(copy, files->places, files->n_places * sizeof(*copy));
	pthread_mutex_unlock(&files->lock);
	return copy;
}

static bool has_place(const struct place *places, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(places[i].id, id) == 0)
			return true;
	return id[0] == '\0'; /* the host */
}

/* Files of vGPUs that are gone, and those in which nobody is any more. */
static void drop_unneeded(struct fps_bpf_files *files, const struct place *places, size_t n)
{
	for (int i = files->n_files; i-- > 0;) {
		struct file *file = &files->files[i];

		if (files->scans - file->seen <= UNSEEN_SCANS &&
		    (file->seen == files->scans || has_place(places, n, file->vgpu)))
			continue;
		file_detach(file);
		*file = files->files[--files->n_files];
	}
}

static void scan_once(struct fps_bpf_files *files)
{
	CLEANUP_FREE struct place *places = NULL;
	size_t n;

	places = copy_places(files, &n);
	files->scans++;
	files->crowded = 0;
	scan_host(files);
	fps_bpf_scan_begin(files->scan);
	/* Each time another is first, in case not all have a turn. */
	for (size_t i = 0; places && i < n; i++) {
		const struct place *place = &places[(i + files->scans) % n];

		files->scanned = place->id;
		fps_bpf_scan_group(files->scan, place->folder, meet_file, files);
	}
	fps_bpf_scan_end(files->scan);
	if (places || n == 0)
		drop_unneeded(files, places, n);
	tell_files(files);
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

/* Signals are the loop's. */
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
	struct fps_bpf_files *files = calloc(1, sizeof(*files));
	int r;

	if (!files)
		return -ENOMEM;
	files->present = present;
	(void)pthread_mutex_init(&files->lock, NULL); /* without attributes neither can fail */
	(void)pthread_cond_init(&files->wake, NULL);
	r = fps_bpf_scan_new("/proc", &files->scan);
	if (r == 0) {
		scan_once(files);
		if (files->attach_errno < 0 && atomic_load(&files->counted) == 0)
			r = files->attach_errno;
	}
	if (r == 0)
		r = start_thread(files);
	if (r < 0) {
		(void)fps_bpf_files_free(files);
		return r;
	}
	*ret_files = files;
	return 0;
}

/* Whether it has ended. */
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
	free(files->places);
	free(files);
	return true;
}

int fps_bpf_files_add(struct fps_bpf_files *files, const char *id, const char *folder)
{
	struct place *grown;
	struct place place;

	if (id_copy(place.id, id) < 0 || strlen(folder) >= sizeof(place.folder))
		return -ENAMETOOLONG;
	strcpy(place.folder, folder);
	pthread_mutex_lock(&files->lock);
	grown = realloc(files->places, (files->n_places + 1) * sizeof(*grown));
	if (grown) {
		files->places = grown;
		grown[files->n_places++] = place;
	}
	pthread_mutex_unlock(&files->lock);
	return grown ? 0 : -ENOMEM;
}

void fps_bpf_files_drop(struct fps_bpf_files *files, const char *id)
{
	pthread_mutex_lock(&files->lock);
	for (size_t i = files->n_places; i-- > 0;)
		if (strcmp(files->places[i].id, id) == 0)
			files->places[i] = files->places[--files->n_places];
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

void fps_bpf_files_stats(const struct fps_bpf_files *files, struct fps_bpf_stats *ret_stats)
{
	*ret_stats = (struct fps_bpf_stats){
		.files = atomic_load(&files->counted),
		.refused = atomic_load(&files->refused),
	};
}
