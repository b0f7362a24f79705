/* SPDX-License-Identifier: MIT */
/*
 * Mounts the simulated sysfs tree with libfuse, in one thread. Each access advances the GPUs to the
 * current time. A timer also advances them twice per second, so that an access has only a short
 * time to simulate. All caches are off, because counters change between reads, and because the
 * removal of a vGPU must take effect for open files too.
 */
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fuse3/fuse.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "sim/host/run.h"

#define ADVANCE_MS 500

/* A file or directory that a process has opened. */
struct opened {
	struct tree_node node;
	struct opened *next, **at; /* list host.opened; *at is the pointer to this entry */
};

struct host {
	struct tree *tree;
	struct opened *opened;
};

static struct host *get_host(void)
{
	return fuse_get_context()->private_data;
}

static struct tree *get_tree(void)
{
	return get_host()->tree;
}

static const struct tree_node *opened(const struct fuse_file_info *fi)
{
	return &((const struct opened *)(uintptr_t)fi->fh)->node;
}

/* @path is not used for an open file. */
static int find_node(const char *path, const struct fuse_file_info *fi, struct tree_node *ret_node)
{
	if (!fi)
		return tree_find(get_tree(), path, ret_node);
	*ret_node = *opened(fi);
	return 0;
}

static void close_node(struct opened *opened)
{
	if (opened->next)
		opened->next->at = opened->at;
	*opened->at = opened->next;
	tree_release(&opened->node);
	free(opened);
}

static void *on_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	config->direct_io = 1;
	config->nullpath_ok = 1;
	config->use_ino = 1; /* otherwise the number of an inode changes when it is forgotten */
	config->entry_timeout = 0;
	config->attr_timeout = 0;
	config->negative_timeout = 0;
	return get_host();
}

static int on_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	struct tree_node node;
	int r = find_node(path, fi, &node);

	if (r < 0)
		return r;
	*st = (struct stat){
		.st_ino = tree_inode(&node),
		.st_mode = tree_mode(&node),
		.st_nlink = S_ISDIR(tree_mode(&node)) ? 2 : 1,
		.st_size = node.kind == TREE_ATTR ? TREE_TEXT_MAX : 0,
		.st_uid = getuid(),
		.st_gid = getgid(),
	};
	return 0;
}

static int on_readlink(const char *path, char *text, size_t size)
{
	char link[TREE_LINK_MAX];
	struct tree_node node;
	int r = tree_find(get_tree(), path, &node);

	if (r < 0)
		return r;
	if (node.kind != TREE_LINK)
		return -EINVAL;
	tree_link_text(&node, link);
	snprintf(text, size, "%s", link);
	return 0;
}

static int open_node(const char *path, struct fuse_file_info *fi, int access)
{
	struct host *host = get_host();
	struct opened *opened;
	struct tree_node node;
	int r = tree_find(host->tree, path, &node);

	if (r == 0 && node.kind == TREE_ATTR)
		r = tree_check_access(&node, access != O_WRONLY, access != O_RDONLY);
	if (r < 0)
		return r;
	opened = xmalloc(sizeof(*opened));
	*opened = (struct opened){.node = node, .next = host->opened, .at = &host->opened};
	if (opened->next)
		opened->next->at = &opened->next;
	host->opened = opened;
	tree_hold(&opened->node);
	fi->fh = (uintptr_t)opened;
	return 0;
}

static int on_open(const char *path, struct fuse_file_info *fi)
{
	return open_node(path, fi, fi->flags & O_ACCMODE);
}

static int on_opendir(const char *path, struct fuse_file_info *fi)
{
	return open_node(path, fi, O_RDONLY);
}

static int on_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close_node((struct opened *)(uintptr_t)fi->fh);
	return 0;
}

struct listing {
	void *buffer;
	fuse_fill_dir_t fill;
};

static int list_name(void *userdata, const char *name, const struct tree_node *node)
{
	const struct listing *listing = userdata;
	struct stat st = {.st_ino = tree_inode(node), .st_mode = tree_mode(node)};

	return listing->fill(listing->buffer, name, &st, 0, 0) ? -ENOMEM : 0;
}

static int on_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
		      struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	struct listing listing = {buffer, fill};

	(void)path, (void)offset, (void)flags;
	if (fill(buffer, ".", NULL, 0, 0) || fill(buffer, "..", NULL, 0, 0))
		return -ENOMEM;
	return tree_each(get_tree(), opened(fi), list_name, &listing);
}

static int on_read(const char *path, char *buffer, size_t size, off_t offset,
		   struct fuse_file_info *fi)
{
	char text[TREE_TEXT_MAX];
	int n = tree_read(opened(fi), text);

	(void)path;
	if (n < 0 || offset >= n)
		return n < 0 ? n : 0;
	n -= (int)offset;
	if ((size_t)n > size)
		n = (int)size;
	memcpy(buffer, text + offset, (size_t)n);
	return n;
}

/* As in sysfs, each write() is a complete value. The offset is ignored. */
static int on_write(const char *path, const char *buffer, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	int r = tree_write(opened(fi), buffer, size);

	(void)path, (void)offset;
	return r < 0 ? r : (int)size;
}

/* A shell truncates a file for the redirection ">". Truncation has no effect on a sysfs file. */
static int on_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	struct tree_node node;
	int r = find_node(path, fi, &node);

	(void)size;
	if (r == 0 && node.kind != TREE_ATTR)
		r = -EISDIR;
	return r < 0 ? r : tree_check_access(&node, /* reads= */ false, /* writes= */ true);
}

static const struct fuse_operations operations = {
	.init = on_init,
	.getattr = on_getattr,
	.readlink = on_readlink,
	.open = on_open,
	.opendir = on_opendir,
	.release = on_release,
	.releasedir = on_release,
	.readdir = on_readdir,
	.read = on_read,
	.write = on_write,
	.truncate = on_truncate,
};

/* --- serving --- */

static int open_signals(void)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	fd = signalfd(-1, &signals, SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Serves one request. Returns 1 if the file system was unmounted, otherwise 0 or a negative errno.
 */
static int serve_one(struct fuse_session *session, struct fuse_buf *request)
{
	int r = fuse_session_receive_buf(session, request);

	if (r == -EINTR || r == -EAGAIN)
		return 0;
	if (r <= 0)
		return r == -ENODEV ? 1 : r == 0 ? 1 : r;
	fuse_session_process_buf(session, request);
	return 0;
}

static int serve(struct fuse_session *session, struct tree *tree, double speed, int signals)
{
	uint64_t start_ns = clock_now().mono_ns;
	struct fuse_buf request = {.mem = NULL};
	int r = 0;

	while (r == 0 && !fuse_session_exited(session)) {
		struct pollfd fds[] = {
			{.fd = fuse_session_fd(session), .events = POLLIN},
			{.fd = signals, .events = POLLIN},
		};
		int n = poll(fds, ARRAY_SIZE(fds), ADVANCE_MS);

		if (n < 0 && errno != EINTR)
			r = -errno;
		if (n < 0)
			continue;
		if (fds[1].revents)
			break;
		tree_set_now(tree, (uint64_t)((double)(clock_now().mono_ns - start_ns) * speed));
		if (fds[0].revents)
			r = serve_one(session, &request);
		else
			tree_advance(tree);
	}
	free(request.mem);
	return r < 0 ? r : 0;
}

static int mount_and_serve(struct fuse *fuse, struct tree *tree,
			   const struct mount_options *options, int signals, struct err *reterr)
{
	struct stat st;
	int r;

	if (stat(options->dir, &st) < 0)
		return err_fail(reterr, errno, "%s: %s%s", options->dir, strerror(errno),
				errno == ENOTCONN ? " (stale mount: run fusermount3 -u first)"
						  : "");
	if (!S_ISDIR(st.st_mode))
		return err_fail(reterr, ENOTDIR, "%s: not a directory", options->dir);
	if (fuse_mount(fuse, options->dir) != 0)
		return err_fail(
			reterr, EIO,
			"%s: cannot be mounted (check that /dev/fuse exists and is accessible)",
			options->dir);
	printf("%d GPU%s at %s, speed %g\n", options->gpus, options->gpus == 1 ? "" : "s",
	       options->dir, options->speed);
	(void)fflush(stdout);
	r = serve(fuse_get_session(fuse), tree, options->speed, signals);
	fuse_unmount(fuse);
	return r < 0 ? err_fail(reterr, -r, "%s: %s", options->dir, strerror(-r)) : 0;
}

int mount_run(const struct mount_options *options, struct err *reterr)
{
	char name[] = "gover-sim", option[] = "-o",
	     words[] = "fsname=gover-sim,subtype=gover-sim,allow_other";
	char *argv[] = {name, option, words};
	struct fuse_args args = FUSE_ARGS_INIT((int)ARRAY_SIZE(argv), argv);
	CLEANUP_CLOSE int signals = open_signals();
	struct host host = {.tree = NULL};
	struct fuse *fuse;
	int r;

	if (signals < 0)
		return err_fail(reterr, -signals, "signals: %s", strerror(-signals));
	if (!options->allow_other)
		*strrchr(words, ',') = '\0';
	host.tree = tree_new(options->host, options->gpus, options->vgpus);
	fuse = fuse_new(&args, &operations, sizeof(operations), &host);
	if (fuse) {
		r = mount_and_serve(fuse, host.tree, options, signals, reterr);
		fuse_destroy(fuse);
	} else {
		r = err_fail(reterr, ENOMEM, "libfuse: initialization failed");
	}
	fuse_opt_free_args(&args);
	while (host.opened) /* close files that were still open at the unmount */
		close_node(host.opened);
	tree_free(host.tree);
	return r;
}
