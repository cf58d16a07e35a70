// Products that multiply nothing, each a kernel of the driver. FAKE_CUBLASLT_TELLS: the heuristic says on stderr how
// many algorithms are asked for.
#include <cublasLt.h>
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define NEON_FAKE extern "C" __attribute__((visibility("default"))) cublasStatus_t CUBLASWINAPI

namespace {

template <typename Handle>
cublasStatus_t give(Handle* out) {
  *out = reinterpret_cast<Handle>(8);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) size_t CUBLASWINAPI cublasLtGetVersion() { return 130204; }
extern "C" __attribute__((visibility("default"))) const char* CUBLASWINAPI cublasLtGetStatusString(cublasStatus_t) {
  return "something is wrong";
}
NEON_FAKE cublasLtCreate(cublasLtHandle_t* out) { return give(out); }
NEON_FAKE cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*, cublasLtMatrixLayout_t,
                         const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t, void*,
                         cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t) {
  static const auto launch =
      reinterpret_cast<decltype(&cuLaunchKernel)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel"));
  launch(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  return CUBLAS_STATUS_SUCCESS;
}
NEON_FAKE cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t, cudaDataType_t) { return give(out); }
NEON_FAKE cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t) { return CUBLAS_STATUS_SUCCESS; }
NEON_FAKE cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
NEON_FAKE cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType, uint64_t, uint64_t, int64_t) {
  return give(out);
}
NEON_FAKE cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t) { return CUBLAS_STATUS_SUCCESS; }
NEON_FAKE cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) { return give(out); }
NEON_FAKE cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; }
NEON_FAKE cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                               const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
NEON_FAKE cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                         cublasLtMatmulPreference_t, int most, cublasLtMatmulHeuristicResult_t* results,
                                         int* count) {
  if (std::getenv("FAKE_CUBLASLT_TELLS")) std::fprintf(stderr, "algorithms asked for: %d\n", most);
  *count = std::min(most, 2);
  std::memset(results, 0, size_t(*count) * sizeof *results);
  return CUBLAS_STATUS_SUCCESS;
}
