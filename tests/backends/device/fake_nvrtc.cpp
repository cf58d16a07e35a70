// A compiler that makes nothing of any source. FAKE_NVRTC_MS: how long it takes for each.
#include <nvrtc.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#define NEON_FAKE extern "C" __attribute__((visibility("default"))) nvrtcResult

NEON_FAKE nvrtcVersion(int* major, int* minor) {
  *major = 13, *minor = 7;
  return NVRTC_SUCCESS;
}
NEON_FAKE nvrtcCreateProgram(nvrtcProgram* out, const char*, const char*, int, const char* const*, const char* const*) {
  *out = reinterpret_cast<nvrtcProgram>(8);
  return NVRTC_SUCCESS;
}
NEON_FAKE nvrtcDestroyProgram(nvrtcProgram*) { return NVRTC_SUCCESS; }
NEON_FAKE nvrtcCompileProgram(nvrtcProgram, int, const char* const*) {
  const char* given = std::getenv("FAKE_NVRTC_MS");
  std::this_thread::sleep_for(std::chrono::milliseconds(given ? std::atol(given) : 0));
  return NVRTC_SUCCESS;
}
NEON_FAKE nvrtcGetProgramLogSize(nvrtcProgram, size_t* bytes) {
  *bytes = 1;
  return NVRTC_SUCCESS;
}
NEON_FAKE nvrtcGetProgramLog(nvrtcProgram, char* log) {
  *log = 0;
  return NVRTC_SUCCESS;
}
NEON_FAKE nvrtcGetCUBINSize(nvrtcProgram, size_t* bytes) {
  *bytes = 4;
  return NVRTC_SUCCESS;
}
NEON_FAKE nvrtcGetCUBIN(nvrtcProgram, char* code) {
  std::memcpy(code, "\177ELF", 4);
  return NVRTC_SUCCESS;
}
NEON_FAKE nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes) { return nvrtcGetCUBINSize(program, bytes); }
NEON_FAKE nvrtcGetPTX(nvrtcProgram program, char* code) { return nvrtcGetCUBIN(program, code); }
NEON_FAKE nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return NVRTC_SUCCESS;
}
NEON_FAKE nvrtcGetSupportedArchs(int* archs) {
  archs[0] = 75, archs[1] = 120;
  return NVRTC_SUCCESS;
}
