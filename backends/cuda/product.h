// Matrix products by cuBLASLt. The heuristic's first algorithm is taken, the same each time; or, where the clock may
// choose, the fastest of its first few, which is remembered on disk. Its rival in exact f32 is product_terms.cuh.
#pragma once
#include <functional>

#include "backends/cuda/library_kernel.h"

namespace neon::cuda {

// A row-major array: its rows begin `stride` elements apart.
struct Matrix {
  int64_t rows = 0, columns = 0, stride = 0;
  bool transposed = false;  // of an operand: it takes part as its transpose
  TensorType memory(DType dtype) const { return {dtype, {rows, stride}}; }
};

// c = a · b, to whose rows a bias may be added, to which an array like it may be added, and relu taken.
struct ProductCase {
  DType dtype = DType::f32, result = DType::f32;  // of the operands; of c and the bias
  Matrix a, b, c;
  bool bias = false, addend = false, relu = false;
  bool swapped = false;  // launch() is given b first
};

// The case of a kernel "matmul".
ProductCase product_of(const LoweredKernel& kernel, const Graph& graph);

// Null when nothing takes the case.
std::unique_ptr<OperandsKernel> make_product(const ProductCase& product, std::shared_ptr<Device> device,
                                             const LibraryOptions& options);

// Whether operands, result and bias of a kernel have elements, all of one type.
bool is_of_one_type(const LoweredKernel& kernel, const Graph& graph);
// Whether cuBLASLt has the types of a kernel "matmul": one type, or 16-bit operands with a result and a bias in f32.
bool has_types_of_product(const LoweredKernel& kernel, const Graph& graph);

// Bytes that every product may use.
size_t product_workspace();

// Opens cuBLASLt, then the device to use it on. By a thread of its own; what cannot be opened says so where it is
// called.
void open_product_library(const std::function<std::shared_ptr<Device>()>& open_device);

// The version of cuBLASLt.
size_t product_version();

}  // namespace neon::cuda
