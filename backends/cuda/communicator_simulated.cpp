#include "backends/cuda/communicator.h"

namespace neon::cuda {

namespace {

class SimulatedCommunicator : public Communicator {
 public:
  void sum(std::span<const Summand> arrays, DType dtype, CUstream stream) override {
    for (const Summand& array : arrays)
      if (array.to != array.from) copy(array.from, array.to, 0, 0, array.elements, dtype, stream);
  }
  void all_gather(std::span<const MovedRows> arrays, DType dtype, CUstream stream) override {
    for (const auto& [own, to, rows, row] : arrays) {
      clear(to, rows.all() * row, dtype, stream);
      copy(own, to, 0, rows.first(rows.rank) * row, rows.own() * row, dtype, stream);
    }
  }
  void reduce_scatter(std::span<const MovedRows> arrays, DType dtype, CUstream stream) override {
    for (const auto& [from, own, rows, row] : arrays)
      copy(from, own, rows.first(rows.rank) * row, 0, rows.own() * row, dtype, stream);
  }
  void columns_to_rows(const MovedRows& array, DType dtype, CUstream stream) override {
    const auto& [from, parts, rows, row] = array;
    clear(parts, rows.ranks() * rows.own() * row, dtype, stream);
    copy(from, parts, rows.first(rows.rank) * row, rows.rank * rows.own() * row, rows.own() * row, dtype, stream);
  }
  void rows_to_columns(const MovedRows& array, DType dtype, CUstream stream) override {
    const auto& [parts, to, rows, row] = array;
    clear(to, rows.all() * row, dtype, stream);
    copy(parts, to, rows.rank * rows.own() * row, rows.first(rows.rank) * row, rows.own() * row, dtype, stream);
  }

 private:
  static CUdeviceptr place(const void* array, int64_t element, DType dtype) {
    return CUdeviceptr(array) + CUdeviceptr(element) * size_of(dtype);
  }
  static void copy(const void* from, void* to, int64_t at, int64_t into, int64_t elements, DType dtype,
                   CUstream stream) {
    if (elements > 0)
      check(
          cuMemcpyDtoDAsync(place(to, into, dtype), place(from, at, dtype), size_t(elements) * size_of(dtype), stream),
          "a copy in the place of an exchange");
  }
  static void clear(void* array, int64_t elements, DType dtype, CUstream stream) {
    check(cuMemsetD8Async(place(array, 0, dtype), 0, size_t(elements) * size_of(dtype), stream),
          "zeros in the place of an exchange");
  }
};

}  // namespace

std::unique_ptr<Communicator> make_simulated_communicator() { return std::make_unique<SimulatedCommunicator>(); }

}  // namespace neon::cuda
