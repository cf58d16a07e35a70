#include "neon/train/fingerprint.h"

#include "neon/train/checkpoint_verify.h"

namespace neon {

namespace {

constexpr std::string_view kFiles = "(files ", kValues = ", values ";

std::string of_tensor(const Tensor& tensor) {
  return tensor.empty() ? "none" : text(tensor.dtype(), tensor.shape(), checksum(tensor.data(), tensor.bytes()));
}

std::string sum_of(const std::string& all) {
  return checksum(all.data(), all.size()).substr(std::string_view("crc32:").size());
}

std::string of_split(const Split& split, const Data& data) {
  const std::string scaling = text(data.scale, ' ', data.shift);
  const std::string files = split.identity.empty() ? "" : "files " + sum_of(split.identity + scaling);
  if (split.reader) return files;
  const std::string values = sum_of(text(of_tensor(split.inputs), of_tensor(split.targets), scaling));
  return files.empty() ? values : text(files, kValues, values);
}

// Without the checksums of values that stand beside those of files.
std::string of_files(std::string fingerprint) {
  for (size_t at = fingerprint.find(kValues); at != fingerprint.npos; at = fingerprint.find(kValues))
    fingerprint.erase(at, fingerprint.find(')', at) - at);
  return fingerprint;
}

// Without the checksums of files that stand before those of values.
std::string of_values(std::string fingerprint) {
  for (size_t at = fingerprint.find(kFiles); at != fingerprint.npos; at = fingerprint.find(kFiles, at + 1)) {
    const size_t values = fingerprint.find(kValues, at);
    if (values < fingerprint.find(')', at)) fingerprint.erase(at + 1, values + kValues.size() - at - 1);
  }
  return fingerprint;
}

}  // namespace

std::string fingerprint(const Data& data) {
  std::string out = text(data.train.size(), " training samples (", of_split(data.train, data), "), ", data.test.size(),
                         " test samples (", of_split(data.test, data), ")");
  if (data.validation.size() > 0)
    out += text(", ", data.validation.size(), " validation samples (", of_split(data.validation, data), ")");
  return out;
}

bool same_data(const std::string& one, const std::string& other) {
  const auto have = [&](std::string_view what) { return one.find(what) != one.npos && other.find(what) != other.npos; };
  if (!have(kFiles)) return of_values(one) == of_values(other);
  return have(kValues) ? one == other : of_files(one) == of_files(other);
}

std::optional<bool> was_streamed(const std::string& fingerprint) {
  const std::string of_training = fingerprint.substr(0, fingerprint.find(')'));
  if (of_training.find(kFiles) == of_training.npos) return std::nullopt;
  return of_training.find(kValues) == of_training.npos;
}

}  // namespace neon
