// A library for LD_PRELOAD: a process stops, as by SIGSTOP, where it has opened a file whose path ends in STOP_AT.
#undef _FILE_OFFSET_BITS  // would make one symbol of open and open64
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int opened(const char* function, const char* path, int flags, unsigned mode) {
  int (*const real)(const char*, int, ...) = dlsym(RTLD_NEXT, function);
  const int out = real(path, flags, mode);
  const char* const end = getenv("STOP_AT");
  const size_t size = strlen(path), length = end ? strlen(end) : 0;
  if (length > 0 && size >= length && strcmp(path + size - length, end) == 0) raise(SIGSTOP);
  return out;
}

static unsigned mode_of(int flags, va_list more) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0; }

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const unsigned mode = mode_of(flags, more);
  va_end(more);
  return opened("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const unsigned mode = mode_of(flags, more);
  va_end(more);
  return opened("open64", path, flags, mode);
}
