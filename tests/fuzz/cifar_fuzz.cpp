// Whatever bytes stand in a file of CIFAR, reading it gives whole records with labels of classes, or a data error.
#include <cstddef>
#include <cstdint>

#include "datasets/cifar_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  struct Kind {
    int labels, label;
    int64_t classes;
  };
  for (const Kind& kind : {Kind{1, 0, 10}, {2, 0, 20}, {2, 1, 100}}) try {
      const neon::Split read = neon::read_cifar_records(bytes, kind.labels, kind.label, kind.classes, "input");
      NEON_ASSERT(read.size() * (neon::kCifarPixels + kind.labels) == int64_t(size));
      for (const int32_t label : read.targets.as<int32_t>()) NEON_ASSERT(label >= 0 && label < kind.classes);
    } catch (const neon::Error& error) {
      if (error.kind() != neon::ErrorKind::data) throw;
    }
  return 0;
}
