// A driver of long ago, which has no more than what is asked first.
#include <cuda.h>

#define NEON_FAKE extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

NEON_FAKE cuInit(unsigned) { return CUDA_SUCCESS; }
NEON_FAKE cuDriverGetVersion(int* version) {
  *version = 11080;
  return CUDA_SUCCESS;
}
NEON_FAKE cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
