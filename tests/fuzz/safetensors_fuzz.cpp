// Any bytes as a .safetensors file and as a checkpoint: a data error, or a file that says the same when its
// header is written and read again. Build it as a libFuzzer target or with a main that replays files.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "neon/train/checkpoint.h"
#include "neon/train/safetensors_header.h"

using namespace neon;

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

void check_round_trip(const TensorFile& file) {
  std::vector<size_t> order;
  const SafetensorsHeader layout = lay_out(file, order);
  const size_t data_bytes = layout.entries.empty() ? 0 : layout.entries.back().end;
  const SafetensorsHeader again = parse_header(format_header(layout), data_bytes, "again");
  must(again.metadata == file.metadata && again.entries.size() == file.tensors.size());
  for (const TensorEntry& entry : again.entries) {
    const Tensor* tensor = file.find(entry.name);
    must(tensor && tensor->dtype() == entry.dtype && tensor->shape() == entry.shape);
    must(tensor->bytes() == entry.end - entry.begin);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = memfd_create("safetensors", 0);
  static const std::string path = text("/proc/self/fd/", file);
  must(file >= 0 && ftruncate(file, off_t(size)) == 0 && pwrite(file, data, size, 0) == ssize_t(size));
  try {
    const TensorFile contents = read_safetensors(path);
    size_t bytes = 0;
    for (const auto& named : contents.tensors) bytes += named.tensor.bytes();
    must(bytes <= size);
    check_round_trip(contents);
    read_checkpoint(path);
  } catch (const Error& error) {
    must(error.kind() == ErrorKind::data);
  }
  return 0;
}
