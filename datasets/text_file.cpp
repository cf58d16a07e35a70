#include "datasets/text_file.h"

#include "datasets/gzip.h"

namespace neon {

TextFile::TextFile(const std::string& path) {
  GzipReader reader(path);
  const int64_t size = reader.plain_size();
  if (size <= 0) {
    unpacked_ = read_maybe_gzip(reader);
    text_ = unpacked_;
    return;
  }
  plain_ = Tensor(DType::u8, {size});
  auto* const to = reinterpret_cast<char*>(plain_.as<uint8_t>().data());
  text_ = {to, reader.read(to, size_t(size))};
}

}  // namespace neon
