#include "backends/cuda/tensor_map.h"

#include <cstring>
#include <map>
#include <mutex>

#include "backends/cuda/code_text.h"
#include "backends/cuda/compile.h"

namespace neon::cuda {

namespace {

constexpr int kMostShares = 8, kLeastOfShare = 2;

}  // namespace

std::shared_ptr<const LoadedCode> code_of(const std::string& source, const std::shared_ptr<Device>& device,
                                          ColdStart* cold) {
  static std::mutex mutex;
  static std::map<std::pair<CUstream, std::string>, std::weak_ptr<const LoadedCode>> used;
  const std::pair key{device->stream(), source};
  {
    const std::lock_guard lock(mutex);
    std::erase_if(used, [](const auto& one) { return one.second.expired(); });
    if (const auto found = used.find(key); found != used.end())
      if (auto code = found->second.lock()) return code;
  }
  const auto made = std::make_shared<const LoadedCode>(device, compile_sources({source}, device->arch(), cold)[0]);
  const std::lock_guard lock(mutex);
  used[key] = made;
  return made;
}

CUfunction tile_function(const LoadedCode& code) {
  const CUfunction out = code.function("kernel");
  check(cuFuncSetAttribute(out, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(kMostShared)),
        "asking for shared memory");
  return out;
}

void describe(TileTables::Map& map, DType dtype, const void* address, std::initializer_list<int64_t> sizes,
              std::initializer_list<int64_t> strides, std::initializer_list<int64_t> box) {
  CUtensorMap out;
  static_assert(sizeof out == sizeof map);
  const std::vector<cuuint64_t> sizes_(sizes.begin(), sizes.end()), strides_(strides.begin(), strides.end());
  const std::vector<cuuint32_t> box_(box.begin(), box.end()), ones(sizes.size(), 1);
  const int64_t bytes = *box.begin() * int64_t(size_of(dtype));
  const CUtensorMapSwizzle permuted = bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                      : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                      : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                    : CU_TENSOR_MAP_SWIZZLE_NONE;
  check(cuTensorMapEncodeTiled(&out,
                               dtype == DType::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                               cuuint32_t(sizes.size()), const_cast<void*>(address), sizes_.data(), strides_.data(),
                               box_.data(), ones.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, permuted,
                               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "describing an array of a convolution");
  std::memcpy(map.bytes.data(), &out, sizeof out);
}

void add_slices(CUfunction kernel, const Device& device, void* slices, void* filters, int64_t numbers, int64_t count) {
  // Threads that share the slices of some numbers: no more than leaves each thread a few.
  int shares = 1, fours = int(numbers / 4), of_slices = int(count);
  while (shares < kMostShares && shares * 2 * kLeastOfShare <= of_slices) shares *= 2;
  void* parameters[] = {&slices, &filters, &fours, &of_slices, &shares};
  device.check(cuLaunchKernel(kernel, unsigned(quotient_up(fours, kThreads / shares)), 1, 1, kThreads, 1, 1, 0,
                              device.stream(), parameters, nullptr),
               "adding slices of filters");
}

void fold_parts(CUfunction kernel, const Device& device, const void* parts, int64_t of_map, const void* results,
                int64_t maps, void* sums, void* squares) {
  int count = int(of_map);
  void* parameters[] = {&parts, &results, &count, &sums, &squares};
  device.check(cuLaunchKernel(kernel, unsigned(maps), 1, 1, kThreads, 1, 1, 0, device.stream(), parameters, nullptr),
               "adding up sums of results");
}

void describe_planes(TileTables::Map* maps, const std::vector<Plane>& planes, DType dtype, const void* array,
                     const Shape& shape, int64_t rows, int64_t columns, int64_t channels) {
  const int64_t pixel = shape[3] * int64_t(size_of(dtype));
  for (const Plane& plane : planes)
    describe(*maps++, dtype,
             static_cast<const std::byte*>(array) + (plane.first_row * shape[2] + plane.first_column) * pixel,
             {shape[3], quotient_up(shape[2] - plane.first_column, plane.column_step),
              quotient_up(shape[1] - plane.first_row, plane.row_step), shape[0]},
             {plane.column_step * pixel, plane.row_step * shape[2] * pixel, shape[1] * shape[2] * pixel},
             {channels, columns, rows, 1});
}

}  // namespace neon::cuda
