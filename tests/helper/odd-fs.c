/* SPDX-License-Identifier: MIT */
/*
 * odd-fs MISSING FOLDER MOUNT: a FUSE file system that shows FOLDER at MOUNT, without the features
 * in the file MISSING. It runs until it is unmounted or gets SIGTERM. Words of the file:
 *
 *   locks    flock() and fcntl() locks fail with ENOLCK, as on NFS without lockd
 *   mmap     files have no shared mappings: mmap() fails with ENODEV, as on 9p without a cache
 *   links    link() fails with EPERM, as on vfat and vboxsf
 *   folders  fsync() of a folder fails with EINVAL, as on older CIFS and on vboxsf
 *   writes   whatever changes a file fails with EROFS, as on ext4 after an error of the disk
 *
 * "locks" is read at the start, the others at each operation.
 */
#define FUSE_USE_VERSION 35
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *missing_path;
static int root;

static bool is_missing(const char *word)
{
	char text[64] = "";
	int fd = open(missing_path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	(void)close(fd);
	return strstr(text, word);
}

/* Returns the path below the folder. */
static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int result(int r)
{
	return r < 0 ? -errno : 0;
}

/* Returns the result of a change, which is made only if the file system can be written. */
#define CHANGE(call) (is_missing("writes") ? -EROFS : result(call))

static void *on_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	config->use_ino = 1;
	config->hard_remove = 1; /* a removed file stays open, and has no other name */
	config->nullpath_ok = 1;
	config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
	return NULL;
}

static int on_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	if (fi)
		return result(fstat((int)fi->fh, st));
	return result(fstatat(root, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int on_access(const char *path, int mode)
{
	if (mode & W_OK && is_missing("writes"))
		return -EROFS;
	return result(faccessat(root, below(path), mode, 0));
}

static int on_readlink(const char *path, char *text, size_t size)
{
	ssize_t n = readlinkat(root, below(path), text, size - 1);

	if (n >= 0)
		text[n] = '\0';
	return result((int)n);
}

static int on_mknod(const char *path, mode_t mode, dev_t device)
{
	return CHANGE(mknodat(root, below(path), mode, device));
}

static int on_mkdir(const char *path, mode_t mode)
{
	return CHANGE(mkdirat(root, below(path), mode));
}

static int on_unlink(const char *path)
{
	return CHANGE(unlinkat(root, below(path), 0));
}

static int on_rmdir(const char *path)
{
	return CHANGE(unlinkat(root, below(path), AT_REMOVEDIR));
}

static int on_symlink(const char *target, const char *path)
{
	return CHANGE(symlinkat(target, root, below(path)));
}

static int on_rename(const char *from, const char *to, unsigned int flags)
{
	return CHANGE(renameat2(root, below(from), root, below(to), flags));
}

static int on_link(const char *from, const char *to)
{
	return is_missing("links") ? -EPERM : CHANGE(linkat(root, below(from), root, below(to), 0));
}

static int on_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return CHANGE(fi ? fchmod((int)fi->fh, mode) : fchmodat(root, below(path), mode, 0));
}

static int on_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *fi)
{
	return CHANGE(fi ? fchown((int)fi->fh, uid, gid)
			 : fchownat(root, below(path), uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int on_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *fi)
{
	return CHANGE(fi ? futimens((int)fi->fh, times)
			 : utimensat(root, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int open_file(const char *path, int flags, mode_t mode, struct fuse_file_info *fi)
{
	int fd;

	if ((flags & O_ACCMODE) != O_RDONLY && is_missing("writes"))
		return -EROFS;
	fd = openat(root, below(path), flags | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	fi->direct_io = is_missing("mmap");
	return 0;
}

static int on_open(const char *path, struct fuse_file_info *fi)
{
	return open_file(path, fi->flags, 0, fi);
}

static int on_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return is_missing("writes") ? -EROFS : open_file(path, fi->flags | O_CREAT, mode, fi);
}

static int on_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	struct fuse_file_info opened = {.flags = O_WRONLY};
	int r;

	if (fi)
		return CHANGE(ftruncate((int)fi->fh, size));
	r = on_open(path, &opened);
	if (r < 0)
		return r;
	r = result(ftruncate((int)opened.fh, size));
	(void)close((int)opened.fh);
	return r;
}

static int on_read(const char *path, char *buffer, size_t size, off_t offset,
		   struct fuse_file_info *fi)
{
	ssize_t n = pread((int)fi->fh, buffer, size, offset);

	(void)path;
	return n < 0 ? -errno : (int)n;
}

static int on_write(const char *path, const char *buffer, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	ssize_t n;

	(void)path;
	if (is_missing("writes"))
		return -EROFS;
	n = pwrite((int)fi->fh, buffer, size, offset);
	return n < 0 ? -errno : (int)n;
}

static int on_fsync(const char *path, int data_only, struct fuse_file_info *fi)
{
	(void)path;
	return CHANGE(data_only ? fdatasync((int)fi->fh) : fsync((int)fi->fh));
}

static int on_fsyncdir(const char *path, int data_only, struct fuse_file_info *fi)
{
	return is_missing("folders") ? -EINVAL : on_fsync(path, data_only, fi);
}

static int on_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	return result(close((int)fi->fh));
}

static int on_opendir(const char *path, struct fuse_file_info *fi)
{
	return open_file(path, O_RDONLY | O_DIRECTORY, 0, fi);
}

static int on_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
		      struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	int fd = openat((int)fi->fh, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	(void)path, (void)offset, (void)flags;
	if (!folder)
		return -errno;
	while ((entry = readdir(folder)))
		(void)fill(buffer, entry->d_name, NULL, 0, 0);
	(void)closedir(folder);
	return 0;
}

static int on_statfs(const char *path, struct statvfs *st)
{
	(void)path;
	return result(fstatvfs(root, st));
}

static int refuse_lock(const char *path, struct fuse_file_info *fi, int command, struct flock *lock)
{
	(void)path, (void)fi, (void)command, (void)lock;
	return -ENOLCK;
}

static int refuse_flock(const char *path, struct fuse_file_info *fi, int operation)
{
	(void)path, (void)fi, (void)operation;
	return -ENOLCK;
}

/* Without the functions for locks, the kernel itself locks. */
static struct fuse_operations operations = {
	.init = on_init,
	.getattr = on_getattr,
	.access = on_access,
	.readlink = on_readlink,
	.mknod = on_mknod,
	.mkdir = on_mkdir,
	.unlink = on_unlink,
	.rmdir = on_rmdir,
	.symlink = on_symlink,
	.rename = on_rename,
	.link = on_link,
	.chmod = on_chmod,
	.chown = on_chown,
	.utimens = on_utimens,
	.open = on_open,
	.create = on_create,
	.truncate = on_truncate,
	.read = on_read,
	.write = on_write,
	.fsync = on_fsync,
	.fsyncdir = on_fsyncdir,
	.release = on_release,
	.opendir = on_opendir,
	.readdir = on_readdir,
	.releasedir = on_release,
	.statfs = on_statfs,
};

int main(int argc, char *argv[])
{
	char *options[] = {argv[0], "-f", "-s", "-o", "fsname=odd-fs", NULL, NULL};

	if (argc != 4) {
		fputs("usage: odd-fs LACKS FOLDER MOUNT\n", stderr);
		return 2;
	}
	missing_path = realpath(argv[1], NULL); /* FUSE changes the current folder */
	root = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!missing_path || root < 0) {
		perror(missing_path ? argv[2] : argv[1]);
		return 1;
	}
	if (is_missing("locks")) {
		operations.lock = refuse_lock;
		operations.flock = refuse_flock;
	}
	umask(0);
	options[5] = argv[3];
	return fuse_main(6, options, &operations, NULL);
}
