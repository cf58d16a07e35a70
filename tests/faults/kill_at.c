// A library for LD_PRELOAD that ends or fails a program at its n-th change to files under a prefix, to prove
// what a crash or a full disk leaves. Counted are write, pwrite, ftruncate, fallocate, fsync, fdatasync,
// rename, link, unlink and creating or truncating by open, whose file (as named or as /proc knows the
// descriptor) begins with the prefix. Writes of stdio (fopen) never pass here: neon's files use none.
//
//   FAULT_PREFIX=PATH    what is counted
//   KILL_AT=N            after the N-th has been done in full: SIGKILL
//   KILL_HALF=1          instead with half of it done: a write's first half, rounded down to 8 bytes (a kernel
//                        never tears an aligned word), nothing of the others
//   FAIL_AT=N            the N-th fails without being done, with FAIL_ERRNO (a number; 28, ENOSPC)
//   FAIL_COUNT=M         so do the next M - 1 (1; 0 for all)
//   FAULT_PROOF=FILE     a line for each fault: its number, call and path
//   FAULT_LOG=FILE       a line for every call counted
#undef _FILE_OFFSET_BITS  // would make one symbol of pwrite and pwrite64
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long counter;

static long number_of(const char* name, long otherwise) {
  const char* value = getenv(name);
  return value && *value ? atol(value) : otherwise;
}

// By raw system calls: nothing here may count itself.
static void note(const char* variable, long number, const char* call, const char* path) {
  const char* file = getenv(variable);
  if (!file || !*file) return;
  char line[5000];
  const int length = snprintf(line, sizeof line, "%ld %s %s\n", number, call, path);
  const int descriptor = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (descriptor < 0) return;
  syscall(SYS_write, descriptor, line, length);
  syscall(SYS_close, descriptor);
}

static int is_counted(const char* path) {
  const char* prefix = getenv("FAULT_PREFIX");
  return prefix && *prefix && strncmp(path, prefix, strlen(prefix)) == 0;
}

enum Fate { kPass, kFail, kKillBefore, kKillAfter };

// Counts the call, and says what is to become of it.
static enum Fate fate_of(const char* call, const char* path) {
  if (!is_counted(path)) return kPass;
  const long number = atomic_fetch_add(&counter, 1) + 1;
  note("FAULT_LOG", number, call, path);
  const long fail_at = number_of("FAIL_AT", 0), fail_count = number_of("FAIL_COUNT", 1);
  if (fail_at > 0 && number >= fail_at && (fail_count == 0 || number < fail_at + fail_count)) {
    note("FAULT_PROOF", number, call, path);
    errno = (int)number_of("FAIL_ERRNO", ENOSPC);
    return kFail;
  }
  if (number != number_of("KILL_AT", 0)) return kPass;
  note("FAULT_PROOF", number, call, path);
  return number_of("KILL_HALF", 0) ? kKillBefore : kKillAfter;
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

static enum Fate fate_of_descriptor(const char* call, int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const int saved = errno;
  const ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length < 0) return kPass;
  path[length] = 0;
  return fate_of(call, path);
}

// The absolute form of a path as a program names it.
static enum Fate fate_of_path(const char* call, const char* path) {
  if (path[0] == '/') return fate_of(call, path);
  char folder[4096], whole[8192];
  if (!getcwd(folder, sizeof folder)) return kPass;
  snprintf(whole, sizeof whole, "%s/%s", folder, path);
  return fate_of(call, whole);
}

#define REAL(type, name, ...)       \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

// A call that is done or not.
#define WHOLE(fate_expression, call_expression)               \
  const enum Fate fate = fate_expression;                     \
  if (fate == kFail) return -1;                               \
  if (fate == kKillBefore) die();                             \
  const __typeof__(call_expression) result = call_expression; \
  if (fate == kKillAfter) die();                              \
  return result

// A call that can be half done.
#define HALVED(fate_expression, half_expression, call_expression) \
  const enum Fate fate = fate_expression;                         \
  if (fate == kFail) return -1;                                   \
  if (fate == kKillBefore) {                                      \
    const size_t half = count / 2 & ~(size_t)7;                   \
    if (half && (half_expression) < 0) abort();                   \
    die();                                                        \
  }                                                               \
  const ssize_t result = call_expression;                         \
  if (fate == kKillAfter) die();                                  \
  return result

ssize_t write(int descriptor, const void* data, size_t count) {
  REAL(ssize_t, write, int, const void*, size_t);
  HALVED(fate_of_descriptor("write", descriptor), real(descriptor, data, half), real(descriptor, data, count));
}

ssize_t pwrite(int descriptor, const void* data, size_t count, off_t offset) {
  REAL(ssize_t, pwrite, int, const void*, size_t, off_t);
  HALVED(fate_of_descriptor("pwrite", descriptor), real(descriptor, data, half, offset),
         real(descriptor, data, count, offset));
}

ssize_t pwrite64(int descriptor, const void* data, size_t count, off64_t offset) {
  REAL(ssize_t, pwrite64, int, const void*, size_t, off64_t);
  HALVED(fate_of_descriptor("pwrite", descriptor), real(descriptor, data, half, offset),
         real(descriptor, data, count, offset));
}

int ftruncate(int descriptor, off_t length) {
  REAL(int, ftruncate, int, off_t);
  WHOLE(fate_of_descriptor("ftruncate", descriptor), real(descriptor, length));
}

int ftruncate64(int descriptor, off64_t length) {
  REAL(int, ftruncate64, int, off64_t);
  WHOLE(fate_of_descriptor("ftruncate", descriptor), real(descriptor, length));
}

int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  REAL(int, fallocate, int, int, off_t, off_t);
  WHOLE(fate_of_descriptor("fallocate", descriptor), real(descriptor, mode, offset, length));
}

int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) {
  REAL(int, fallocate64, int, int, off64_t, off64_t);
  WHOLE(fate_of_descriptor("fallocate", descriptor), real(descriptor, mode, offset, length));
}

int fsync(int descriptor) {
  REAL(int, fsync, int);
  WHOLE(fate_of_descriptor("fsync", descriptor), real(descriptor));
}

int fdatasync(int descriptor) {
  REAL(int, fdatasync, int);
  WHOLE(fate_of_descriptor("fdatasync", descriptor), real(descriptor));
}

int rename(const char* from, const char* to) {
  REAL(int, rename, const char*, const char*);
  WHOLE(fate_of_path("rename", to), real(from, to));
}

int link(const char* from, const char* to) {
  REAL(int, link, const char*, const char*);
  WHOLE(fate_of_path("link", to), real(from, to));
}

int unlink(const char* path) {
  REAL(int, unlink, const char*);
  WHOLE(fate_of_path("unlink", path), real(path));
}

int open(const char* path, int flags, ...) {
  REAL(int, open, const char*, int, ...);
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  if (!(flags & (O_CREAT | O_TRUNC))) return real(path, flags, mode);
  WHOLE(fate_of_path("open", path), real(path, flags, mode));
}

int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return open(path, flags | O_LARGEFILE, mode);
}
