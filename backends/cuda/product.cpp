// Row-major c = a · b is column-major cᵀ = bᵀ · aᵀ, so the operands change places and nothing is moved.
#include "backends/cuda/product.h"

#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cuda/disk_cache.h"
#include "backends/cuda/library.h"
#include "backends/cuda/product_terms.h"
#include "backends/cuda/timing.h"
#include "neon/core/error.h"

namespace neon::cuda {

namespace {

constexpr int kTimedAlgorithms = 16;
constexpr size_t kWorkspace = size_t(32) << 20;

struct CublasLt {
  Library library{"multiplying matrices on the GPU", CudaLibrary::cublaslt};
  decltype(cublasLtCreate)* create;
  decltype(cublasLtMatmul)* matmul;
  decltype(cublasLtMatmulDescCreate)* desc_create;
  decltype(cublasLtMatmulDescDestroy)* desc_destroy;
  decltype(cublasLtMatmulDescSetAttribute)* desc_set;
  decltype(cublasLtMatrixLayoutCreate)* layout_create;
  decltype(cublasLtMatrixLayoutDestroy)* layout_destroy;
  decltype(cublasLtMatmulPreferenceCreate)* preference_create;
  decltype(cublasLtMatmulPreferenceDestroy)* preference_destroy;
  decltype(cublasLtMatmulPreferenceSetAttribute)* preference_set;
  decltype(cublasLtMatmulAlgoGetHeuristic)* heuristic;
  decltype(cublasLtGetStatusString)* words;
  decltype(cublasLtGetVersion)* version;
  cublasLtHandle_t handle = nullptr;
  CublasLt() {
    library.find(create, "cublasLtCreate");
    library.find(matmul, "cublasLtMatmul");
    library.find(desc_create, "cublasLtMatmulDescCreate");
    library.find(desc_destroy, "cublasLtMatmulDescDestroy");
    library.find(desc_set, "cublasLtMatmulDescSetAttribute");
    library.find(layout_create, "cublasLtMatrixLayoutCreate");
    library.find(layout_destroy, "cublasLtMatrixLayoutDestroy");
    library.find(preference_create, "cublasLtMatmulPreferenceCreate");
    library.find(preference_destroy, "cublasLtMatmulPreferenceDestroy");
    library.find(preference_set, "cublasLtMatmulPreferenceSetAttribute");
    library.find(heuristic, "cublasLtMatmulAlgoGetHeuristic");
    library.find(words, "cublasLtGetStatusString");
    library.find(version, "cublasLtGetVersion");
    if (const cublasStatus_t status = create(&handle); status != CUBLAS_STATUS_SUCCESS)
      fail(ErrorKind::device, "cuBLASLt does not start: ", words(status));
  }
};

const CublasLt& lt() {
  static const CublasLt loaded;
  return loaded;
}

void check_lt(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS) fail(ErrorKind::device, doing, ": cuBLASLt says ", lt().words(status));
}

cudaDataType_t blas_type(DType dtype) {
  return dtype == DType::f64   ? CUDA_R_64F
         : dtype == DType::f32 ? CUDA_R_32F
         : dtype == DType::f16 ? CUDA_R_16F
                               : CUDA_R_16BF;
}

std::string words(const Matrix& matrix) {
  return text(Shape{matrix.rows, matrix.columns}, matrix.stride == matrix.columns ? "" : text(" in ", matrix.stride),
              matrix.transposed ? " transposed" : "");
}

std::string key_of(const ProductCase& product, bool tf32) {
  return text(product.dtype, product.result == product.dtype ? "" : text(" as ", product.result), " ", words(product.a),
              " by ", words(product.b), " to ", words(product.c), product.bias ? " bias" : "",
              product.addend ? " addend" : "", product.relu ? " relu" : "", tf32 ? " tf32" : "");
}

// Arrays to time a product with.
struct Arrays {
  Arrays(const ProductCase& of, const std::shared_ptr<Device>& device)
      : a(varied(device, of.a.memory(of.dtype))),
        b(varied(device, of.b.memory(of.dtype))),
        bias(varied(device, {of.result, {of.c.columns}})),
        addend(of.addend ? varied(device, of.c.memory(of.result)) : Memory()),
        result(device, of.c.memory(of.result).bytes(), "timing"),
        workspace(device, kWorkspace, "timing"),
        operands{(of.swapped ? b : a).data(), (of.swapped ? a : b).data(), of.bias ? bias.data() : nullptr,
                 addend.data(), result.data()} {}
  const Memory a, b, bias, addend, result, workspace;
  const Operands operands;
};

class Product : public OperandsKernel {
 public:
  Product(const ProductCase& product, std::shared_ptr<Device> device)
      : product_(product), device_(std::move(device)), wide_(product.dtype == DType::f64) {}
  const char* library() const override { return "cublaslt"; }
  size_t workspace_bytes() const override { return kWorkspace; }
  ~Product() override {
    if (operation_) lt().desc_destroy(operation_);
    for (cublasLtMatrixLayout_t layout : {left_, right_, result_, addend_})
      if (layout) lt().layout_destroy(layout);
  }

  // False when there is no algorithm for it.
  bool prepare(const LibraryOptions& options) {
    const bool tf32 = options.tf32 && product_.dtype == DType::f32;
    describe(tf32);
    const DiskCache cache("product", text(device_->name(), " cublaslt ", lt().version()));
    const std::string key = key_of(product_, tf32);
    if (std::string known; options.timed && cache.read(key, known) && known.size() == sizeof algorithm_) {
      std::memcpy(&algorithm_, known.data(), sizeof algorithm_);
      return true;
    }
    if (options.timed && options.cold) options.cold->begin();
    const auto found = algorithms(options.timed ? kTimedAlgorithms : 1);
    if (found.empty()) return false;
    algorithm_ = found.front();
    if (found.size() > 1) take_fastest(found);
    if (options.timed) cache.write(key, std::string(reinterpret_cast<const char*>(&algorithm_), sizeof algorithm_));
    return true;
  }

  void launch(const Operands& at, void* workspace) override {
    const void *a = product_.swapped ? at.b : at.a, *b = product_.swapped ? at.a : at.b;
    if (at.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.bias);
    const double one64 = 1, zero64 = 0;
    const float one32 = 1, zero32 = 0;
    const void *one = wide_ ? static_cast<const void*>(&one64) : &one32,
               *zero = wide_ ? static_cast<const void*>(&zero64) : &zero32;
    check_lt(lt().matmul(lt().handle, operation_, one, b, left_, a, right_, at.addend ? one : zero,
                         at.addend ? at.addend : at.c, addend_ ? addend_ : result_, at.c, result_, &algorithm_,
                         workspace, kWorkspace, reinterpret_cast<cudaStream_t>(device_->stream())),
             "multiplying matrices");
  }

 private:
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    check_lt(lt().desc_set(operation_, attribute, &value, sizeof value), "preparing a product");
  }
  // A row-major array as its column-major transpose.
  void layout(cublasLtMatrixLayout_t& out, const Matrix& matrix, DType dtype) {
    check_lt(lt().layout_create(&out, blas_type(dtype), uint64_t(matrix.columns), uint64_t(matrix.rows), matrix.stride),
             "preparing a product");
  }
  void describe(bool tf32) {
    const cublasComputeType_t compute = wide_  ? CUBLAS_COMPUTE_64F
                                        : tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                               : CUBLAS_COMPUTE_32F;
    check_lt(lt().desc_create(&operation_, compute, wide_ ? CUDA_R_64F : CUDA_R_32F), "preparing a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, product_.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, product_.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    const bool bias = product_.bias, relu = product_.relu;
    if (bias || relu)
      set(CUBLASLT_MATMUL_DESC_EPILOGUE,
          bias ? (relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS) : CUBLASLT_EPILOGUE_RELU);
    if (bias) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, blas_type(product_.result));
    layout(left_, product_.b, product_.dtype);
    layout(right_, product_.a, product_.dtype);
    layout(result_, product_.c, product_.result);
    // It lies for itself, where the result may be rows of a larger array.
    if (product_.addend) layout(addend_, {product_.c.rows, product_.c.columns, product_.c.columns}, product_.result);
  }

  // The heuristic's best, at most so many.
  std::vector<cublasLtMatmulAlgo_t> algorithms(int most) const {
    cublasLtMatmulPreference_t preference = nullptr;
    check_lt(lt().preference_create(&preference), "preparing a product");
    const uint64_t workspace = kWorkspace;
    const uint32_t alignment = 16;  // whole values have 256, parts of larger ones and a caller's rows perhaps less
    lt().preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      lt().preference_set(preference, attribute, &alignment, sizeof alignment);
    // Parts of a sum are kept in the type of the arithmetic, not in 16 bits.
    const uint32_t schemes =
        size_of(product_.dtype) == 2 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : CUBLASLT_REDUCTION_SCHEME_MASK;
    lt().preference_set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes);
    std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<size_t>(most));
    int count = 0;
    const cublasStatus_t status = lt().heuristic(lt().handle, operation_, left_, right_, addend_ ? addend_ : result_,
                                                 result_, preference, most, found.data(), &count);
    lt().preference_destroy(preference);
    std::vector<cublasLtMatmulAlgo_t> out;
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i)
      if (found[size_t(i)].state == CUBLAS_STATUS_SUCCESS) out.push_back(found[size_t(i)].algo);
    return out;
  }

  void take_fastest(const std::vector<cublasLtMatmulAlgo_t>& candidates) {
    const Arrays arrays(product_, device_);
    algorithm_ = candidates[fastest_of(*device_, candidates.size(), [&](size_t i) {
      algorithm_ = candidates[i];
      launch(arrays.operands, arrays.workspace.data());
    })];
  }

  const ProductCase product_;
  std::shared_ptr<Device> device_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr, right_ = nullptr, result_ = nullptr, addend_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  const bool wide_;
};

// Products of fewer multiplications do not wait for a kernel to be compiled.
constexpr double kLeastTerms = 3e7;
// Without the clock sums of TF32 are taken from so many multiplications on, where tiles are filled to this share.
constexpr double kSurelyTerms = 5e8, kFilledTiles = 0.5;

double work_of(const ProductTerms& of) { return double(of.sizes.rows) * of.sizes.columns * of.sizes.inner; }

bool are_terms_faster(const ProductTerms& of) { return work_of(of) >= kSurelyTerms && of.filled() >= kFilledTiles; }

}  // namespace

size_t product_workspace() { return kWorkspace; }

void open_product_library(const std::function<std::shared_ptr<Device>()>& open_device) {
  // The file takes longest, and needs no device, where the library's state would open GPU 0 for itself.
  const Library library("multiplying matrices on the GPU", CudaLibrary::cublaslt);
  open_device()->make_current();
  lt();
}

size_t product_version() { return lt().version(); }

bool is_of_one_type(const LoweredKernel& kernel, const Graph& graph) {
  const DType dtype = graph.dtype(kernel.outputs[0]);
  return std::ranges::all_of(
      kernel.inputs, [&](Value input) { return graph.dtype(input) == dtype && graph.shape(input).elements() > 0; });
}

bool has_types_of_product(const LoweredKernel& kernel, const Graph& graph) {
  if (is_of_one_type(kernel, graph)) return true;
  const DType a = graph.dtype(kernel.inputs[0]);
  return size_of(a) == 2 && graph.dtype(kernel.inputs[1]) == a && graph.dtype(kernel.outputs[0]) == DType::f32 &&
         std::ranges::all_of(kernel.inputs, [&](Value input) { return graph.shape(input).elements() > 0; }) &&
         (!kernel.bias() || graph.dtype(kernel.bias()) == DType::f32);
}

ProductCase product_of(const LoweredKernel& kernel, const Graph& graph) {
  auto dense = [&](Value value, bool transposed) {
    const Shape& shape = graph.shape(value);
    return Matrix{shape[0], shape[1], shape[1], transposed};
  };
  const Attributes& attributes = kernel.attributes;
  return {.dtype = graph.dtype(kernel.inputs[0]),
          .result = graph.dtype(kernel.outputs[0]),
          .a = dense(kernel.inputs[0], attributes.integer("transpose_a")),
          .b = dense(kernel.inputs[1], attributes.integer("transpose_b")),
          .c = dense(kernel.outputs[0], false),
          .bias = bool(kernel.bias()),
          .addend = bool(kernel.addend()),
          .relu = kernel.relu()};
}

std::unique_ptr<OperandsKernel> make_product(const ProductCase& product, std::shared_ptr<Device> device,
                                             const LibraryOptions& options) {
  device->make_current();
  const auto by_library = [&]() -> std::unique_ptr<OperandsKernel> {
    auto made = std::make_unique<Product>(product, device);
    return made->prepare(options) ? std::move(made) : nullptr;
  };
  const auto terms = options.tf32 ? std::nullopt : ProductTerms::of(product, device->arch(), device->processors());
  if (!terms || work_of(*terms) < kLeastTerms || terms->workspace_bytes() > kWorkspace) return by_library();
  const auto by_terms = [&] { return make_product_terms(*terms, product.swapped, device, options.cold); };
  if (!options.timed) return are_terms_faster(*terms) ? by_terms() : by_library();
  const DiskCache cache(kTerms, text(device->name(), " cublaslt ", lt().version()));
  const std::string key = key_of(product, false);
  std::string known;
  cache.read(key, known);
  if (known == kTerms) return by_terms();
  auto library = by_library();
  if (library && known == library->library()) return library;
  auto ours = by_terms();
  if (!library) return ours;
  const Arrays arrays(product, device);
  OperandsKernel* const both[] = {library.get(), ours.get()};
  const size_t fastest =
      fastest_of(*device, 2, [&](size_t i) { both[i]->launch(arrays.operands, arrays.workspace.data()); });
  cache.write(key, both[fastest]->library());
  return fastest ? std::move(ours) : std::move(library);
}

}  // namespace neon::cuda
