/* Counts what changes files in one folder, and at a chosen count kills, or says that the disk is full.
 *
 * Loaded by LD_PRELOAD, so that it sees the writes of DuckDB and Arrow as well as Python's. The state is a shared file,
 * so that all processes of a publication count together. It is named by a variable that a writer process inherits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BEFORE = 1, AFTER, TORN, FULL_ONCE, FULL, INTERRUPTED };       /* what happens at the point */
enum { ALL = 1, SELF, OTHERS };                                       /* to whom, where it is a kill */
enum { MOST = 16 };

struct state {
    int64_t count, at, leader;
    int32_t how, who, processes;
    int32_t pids[MOST];
    char folder[1024], log[1024];
};

static struct state *state;
static pid_t known;

static void join(void) {
    if (known == getpid() || !state->folder[0]) return;
    known = getpid();
    int32_t place = __atomic_fetch_add(&state->processes, 1, __ATOMIC_SEQ_CST);
    if (place < MOST) __atomic_store_n(&state->pids[place], known, __ATOMIC_SEQ_CST);
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("LD_KILLS_STATE");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
    if (fd < 0) return;
    void *memory = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (memory == MAP_FAILED) return;
    state = memory;
    join();
}

static int inside(const char *path) {
    char whole[4096];
    if (!state || !state->folder[0] || !path) return 0;
    if (path[0] != '/') {
        if (syscall(SYS_getcwd, whole, sizeof whole) < 0) return 0;
        path = whole;
    }
    return strncmp(path, state->folder, strlen(state->folder)) == 0;
}

static int makes(const char *path) {
    return inside(path) && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
}

static int inside_fd(int fd, char *path, size_t size) {
    char name[64];
    if (!state || !state->folder[0]) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, name, path, size - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return inside(path);
}

static void strike(void) {
    for (int i = 0; state->who != SELF && i < MOST; i++) {
        pid_t pid = __atomic_load_n(&state->pids[i], __ATOMIC_SEQ_CST);
        if (pid > 0 && pid != getpid()) kill(pid, SIGKILL);
    }
    if (state->who == OTHERS) return;
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* What is to happen at this call, 0 for nothing. */
static int reached(const char *call, const char *path) {
    join();
    int64_t number = __atomic_add_fetch(&state->count, 1, __ATOMIC_SEQ_CST);
    if (state->log[0]) {
        char line[5200];
        int length = snprintf(line, sizeof line, "%lld %d %s %s\n", (long long)number, getpid() == state->leader, call, path);
        int fd = (int)syscall(SYS_openat, AT_FDCWD, state->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0) { syscall(SYS_write, fd, line, length); syscall(SYS_close, fd); }
    }
    if (state->at <= 0) return 0;
    if (state->how == FULL) return number >= state->at && strcmp(call, "unlink") && strcmp(call, "rename") ? FULL : 0;
    if (number != state->at) return 0;
    if (state->how == BEFORE) { strike(); return 0; }
    if (state->how == INTERRUPTED) { kill((pid_t)state->leader, SIGINT); return 0; }
    return state->how;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define GUARD(is_inside, call, path, failed, done)                                   \
    if (!(is_inside)) return done;                                                   \
    int how = reached(call, path);                                                   \
    if (how == FULL_ONCE || how == FULL) { errno = ENOSPC; return failed; }          \
    __typeof__(done) result = done;                                                  \
    if (how == AFTER || how == TORN) strike();                                       \
    return result

#define WRITE(call, half, done)                                                      \
    char path[4096];                                                                 \
    if (!inside_fd(fd, path, sizeof path)) return done;                              \
    int how = reached(call, path);                                                   \
    if (how == FULL_ONCE || how == FULL) { (void)!(half); errno = ENOSPC; return -1; } \
    if (how == TORN && state->who != OTHERS) { (void)!(half); strike(); }            \
    ssize_t result = done;                                                           \
    if (how == AFTER || how == TORN) strike();                                       \
    return result

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    WRITE("write", real(fd, data, size / 2), real(fd, data, size));
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    WRITE("write", real(fd, data, size / 2, at), real(fd, data, size, at));
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    WRITE("write", real(fd, data, size / 2, at), real(fd, data, size, at));
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    WRITE("write", real(fd, parts, count / 2), real(fd, parts, count));
}
ssize_t sendfile(int fd, int from, off_t *at, size_t size) {
    REAL(sendfile);
    WRITE("write", real(fd, from, at, size / 2), real(fd, from, at, size));
}
ssize_t sendfile64(int fd, int from, off64_t *at, size_t size) {
    REAL(sendfile64);
    WRITE("write", real(fd, from, at, size / 2), real(fd, from, at, size));
}
int fsync(int fd) {
    REAL(fsync);
    char path[4096];
    GUARD(inside_fd(fd, path, sizeof path), "fsync", path, -1, real(fd));
}
int fdatasync(int fd) {
    REAL(fdatasync);
    char path[4096];
    GUARD(inside_fd(fd, path, sizeof path), "fsync", path, -1, real(fd));
}
int ftruncate(int fd, off_t size) {
    REAL(ftruncate);
    char path[4096];
    GUARD(inside_fd(fd, path, sizeof path), "truncate", path, -1, real(fd, size));
}
int ftruncate64(int fd, off64_t size) {
    REAL(ftruncate64);
    char path[4096];
    GUARD(inside_fd(fd, path, sizeof path), "truncate", path, -1, real(fd, size));
}
int rename(const char *from, const char *to) {
    REAL(rename);
    GUARD(inside(to), "rename", to, -1, real(from, to));
}
int renameat(int one, const char *from, int other, const char *to) {
    REAL(renameat);
    GUARD(inside(to), "rename", to, -1, real(one, from, other, to));
}
int link(const char *from, const char *to) {
    REAL(link);
    GUARD(inside(to), "link", to, -1, real(from, to));
}
int linkat(int one, const char *from, int other, const char *to, int flags) {
    REAL(linkat);
    GUARD(inside(to), "link", to, -1, real(one, from, other, to, flags));
}
int unlink(const char *path) {
    REAL(unlink);
    GUARD(inside(path), "unlink", path, -1, real(path));
}
int remove(const char *path) {
    REAL(remove);
    GUARD(inside(path), "unlink", path, -1, real(path));
}
int unlinkat(int fd, const char *path, int flags) {
    REAL(unlinkat);
    GUARD(inside(path), "unlink", path, -1, real(fd, path, flags));
}
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    GUARD(inside(path), "mkdir", path, -1, real(path, mode));
}

/* Opening counts where it makes a file; most calls open one to read. */
#define OPEN(name)                                                                   \
    mode_t mode = 0;                                                                 \
    if (flags & (O_CREAT | O_TMPFILE)) {                                             \
        va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); \
    }                                                                                \
    REAL(name)

int open(const char *path, int flags, ...) {
    OPEN(open);
    GUARD((flags & O_CREAT) && makes(path), "open", path, -1, real(path, flags, mode));
}
int open64(const char *path, int flags, ...) {
    OPEN(open64);
    GUARD((flags & O_CREAT) && makes(path), "open", path, -1, real(path, flags, mode));
}
int openat(int fd, const char *path, int flags, ...) {
    OPEN(openat);
    GUARD((flags & O_CREAT) && makes(path), "open", path, -1, real(fd, path, flags, mode));
}
int openat64(int fd, const char *path, int flags, ...) {
    OPEN(openat64);
    GUARD((flags & O_CREAT) && makes(path), "open", path, -1, real(fd, path, flags, mode));
}
