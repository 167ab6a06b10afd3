/* System calls that fail when told: the definitions here stand before the C library's. Include it
 * behind cmocka.h, with _GNU_SOURCE. */
#ifndef TEST_FAULTS_H
#define TEST_FAULTS_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The call of that name, counted from 0, that fails; ALWAYS: every one. */
enum { ALWAYS = -1 };
typedef struct fault {
    const char *call;
    int at, error;
} fault;

static fault next_fault;

static bool fails(const char *call)
{
    if (!next_fault.call || strcmp(call, next_fault.call) != 0) {
        return false;
    }
    bool now = next_fault.at == ALWAYS || next_fault.at == 0;
    next_fault.call = now && next_fault.at == 0 ? NULL : next_fault.call;
    next_fault.at -= next_fault.at > 0;
    errno = now ? next_fault.error : errno;
    return now;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void *data, size_t bytes)
{
    return fails("read") ? -1 : REAL(read)(fd, data, bytes);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    return fails("pread") ? -1 : REAL(pread)(fd, data, bytes, at);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    return fails("write") ? -1 : REAL(write)(fd, data, bytes);
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails("open") ? -1 : REAL(open)(path, flags, mode);
}

int fstat(int fd, struct stat *info)
{
    return fails("fstat") ? -1 : REAL(fstat)(fd, info);
}

int access(const char *path, int how)
{
    return fails("access") ? -1 : REAL(access)(path, how);
}

int fchmod(int fd, mode_t mode)
{
    return fails("fchmod") ? -1 : REAL(fchmod)(fd, mode);
}

int flock(int fd, int how)
{
    return fails("flock") ? -1 : REAL(flock)(fd, how);
}

int fsync(int fd)
{
    return fails("fsync") ? -1 : REAL(fsync)(fd);
}

int ftruncate(int fd, off_t bytes)
{
    return fails("ftruncate") ? -1 : REAL(ftruncate)(fd, bytes);
}

off_t lseek(int fd, off_t at, int from)
{
    return fails("lseek") ? -1 : REAL(lseek)(fd, at, from);
}

int rename(const char *from, const char *to)
{
    return fails("rename") ? -1 : REAL(rename)(from, to);
}

DIR *opendir(const char *path)
{
    return fails("opendir") ? NULL : REAL(opendir)(path);
}

/* A disk without room, where the error is ENOSPC. */
int statvfs(const char *path, struct statvfs *disk)
{
    bool failed = fails("statvfs"), full = failed && errno == ENOSPC;
    int code = failed && !full ? -1 : REAL(statvfs)(path, disk);
    disk->f_bavail = full ? 0 : disk->f_bavail;
    return code;
}

/* A machine of one page of memory, where the error is ENOMEM. */
long sysconf(int name)
{
    return name != _SC_PHYS_PAGES || !fails("sysconf") ? REAL(sysconf)(name)
           : errno == ENOMEM                           ? 1
                                                       : -1;
}

#endif
