#include "neon/train/fingerprint.h"

#include "neon/train/checkpoint_verify.h"

namespace neon {

namespace {

std::string of_tensor(const Tensor& tensor) {
  return tensor.empty() ? "none" : text(tensor.dtype(), tensor.shape(), checksum(tensor.data(), tensor.bytes()));
}

std::string of_split(const Split& split, const Data& data) {
  const std::string all = text(of_tensor(split.inputs), of_tensor(split.targets), data.scale, ' ', data.shift);
  return checksum(all.data(), all.size()).substr(std::string_view("crc32:").size());
}

}  // namespace

std::string fingerprint(const Data& data) {
  return text(data.train.size(), " training samples (", of_split(data.train, data), "), ", data.test.size(),
              " test samples (", of_split(data.test, data), ")");
}

}  // namespace neon
