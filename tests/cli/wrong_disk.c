// A library for LD_PRELOAD: a disk that keeps other bytes than a program writes. In each write the bytes of WRONG_FROM
// become those of WRONG_TO, both in hexadecimal digits and of one length.
#undef _FILE_OFFSET_BITS  // would make one symbol of pwrite and pwrite64
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t bytes_of(const char* name, unsigned char* out, size_t most) {
  const char* digits = getenv(name);
  size_t count = 0;
  for (; digits && count < most && sscanf(digits + 2 * count, "%2hhx", out + count) == 1; ++count) {
  }
  return count;
}

// A copy of the bytes with the wrong ones, for the caller to free.
static void* changed(const void* data, size_t size) {
  unsigned char from[64], to[64], *out = malloc(size + 1);
  const size_t length = bytes_of("WRONG_FROM", from, sizeof from);
  if (!out || length == 0 || bytes_of("WRONG_TO", to, sizeof to) != length) abort();
  memcpy(out, data, size);
  for (unsigned char* at = out; (at = memmem(at, size - (size_t)(at - out), from, length)); at += length)
    memcpy(at, to, length);
  return out;
}

ssize_t write(int file, const void* data, size_t size) {
  ssize_t (*const real)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  void* const wrong = changed(data, size);
  const ssize_t out = real(file, wrong, size);
  free(wrong);
  return out;
}

ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
  ssize_t (*const real)(int, const void*, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
  void* const wrong = changed(data, size);
  const ssize_t out = real(file, wrong, size, at);
  free(wrong);
  return out;
}

ssize_t pwrite(int file, const void* data, size_t size, off_t at) { return pwrite64(file, data, size, at); }
