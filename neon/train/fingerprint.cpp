#include "neon/train/fingerprint.h"

#include <algorithm>
#include <map>

#include "neon/train/checkpoint_verify.h"

namespace neon {

namespace {

constexpr int64_t kFilesRead = 512;

std::string of_tensor(const Tensor& tensor) {
  return tensor.empty() ? "none" : text(tensor.dtype(), tensor.shape(), checksum(tensor.data(), tensor.bytes()));
}

std::string sum_of(const void* data, size_t bytes) {
  return checksum(data, bytes).substr(std::string_view("crc32:").size());
}
std::string sum_of(const std::string& all) { return sum_of(all.data(), all.size()); }

// A file that cannot be read counts as none: if it matters, the run says so when it comes to the sample.
uint32_t checksum_or_zero(const SampleReader& files, int64_t index) {
  try {
    return files.checksum(index);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return 0;
  }
}

std::string of_contents(const SampleReader& files, int64_t classes) {
  const int64_t n = files.size(), most = std::max(kFilesRead, 2 * classes);
  const int64_t count = files.knows_checksums() ? n : std::min(n, most);
  std::vector<uint32_t> sums;
  for (int64_t k = 0; k < count; ++k)
    sums.push_back(checksum_or_zero(files, count == n ? k : k * (n - 1) / (count - 1)));
  return sum_of(sums.data(), sums.size() * sizeof sums[0]);
}

std::string of_rows(const RowReader& rows) {
  const int64_t n = rows.size(), count = std::min(n, kFilesRead);
  std::vector<std::byte> bytes(size_t(count) * rows.bytes());
  ReadScratch scratch;
  for (int64_t k = 0; k < count; ++k) {
    const auto row = std::span(bytes).subspan(size_t(k) * rows.bytes(), rows.bytes());
    rows.read_row(count == n ? k : k * (n - 1) / (count - 1), row.first(rows.input_bytes()),
                  row.subspan(rows.input_bytes()), scratch);
  }
  return sum_of(bytes.data(), bytes.size());
}

// Checksums of one set by what they are of.
struct SetSums {
  std::string name;  // "96 training samples"
  std::map<std::string, std::string> sums;
};

std::vector<SetSums> parse(const std::string& fingerprint) {
  std::vector<SetSums> out;
  std::string_view rest = fingerprint;
  while (!rest.empty()) {
    const size_t open = rest.find(" ("), close = rest.find(')');
    if (open == rest.npos || close == rest.npos || close < open) break;
    SetSums set{std::string(rest.substr(0, open)), {}};
    for (std::string_view sums = rest.substr(open + 2, close - open - 2); !sums.empty();) {
      const std::string_view one = sums.substr(0, sums.find(", "));
      const size_t space = one.find(' ');
      set.sums[space == one.npos ? "values" : std::string(one.substr(0, space))] = one.substr(space + 1);
      sums.remove_prefix(std::min(sums.size(), one.size() + 2));
    }
    out.push_back(std::move(set));
    rest.remove_prefix(std::min(rest.size(), close + 3));
  }
  return out;
}

bool same_set(const SetSums& one, const SetSums& other) {
  bool any = false;
  for (const auto& [what, sum] : one.sums) {
    const auto found = other.sums.find(what);
    if (found == other.sums.end()) continue;
    if (found->second != sum) return false;
    any = true;
  }
  return any && one.name == other.name;
}

}  // namespace

std::string fingerprint(const Split& split, const std::string& name, const Data& data) {
  const std::string scaling = text(data.scale, ' ', data.shift);
  std::vector<std::string> sums;
  if (!split.identity.empty()) sums.push_back("files " + sum_of(split.identity + scaling));
  if (split.files && split.files->size() > 0) sums.push_back("contents " + of_contents(*split.files, data.classes));
  if (split.rows) sums.push_back("contents " + of_rows(*split.rows));
  if (!split.reader && !split.rows) {
    const std::string values = sum_of(text(of_tensor(split.inputs), of_tensor(split.targets), scaling));
    sums.push_back(sums.empty() ? values : "values " + values);
  }
  return text(split.size(), " ", name, " samples (", join(sums, ", "), ")");
}

std::string fingerprint(const Data& data) {
  std::string out = text(fingerprint(data.train, "training", data), ", ", fingerprint(data.test, "test", data));
  if (data.validation.size() > 0) out += ", " + fingerprint(data.validation, "validation", data);
  return out;
}

bool same_data(const std::string& one, const std::string& other) {
  return std::ranges::equal(parse(one), parse(other), same_set);
}

std::string part_of(const std::string& fingerprint, const std::string& name) {
  for (size_t begin = 0; begin < fingerprint.size();) {
    const size_t end = std::min(fingerprint.find(')', begin), fingerprint.size() - 1) + 1;
    const std::string part = fingerprint.substr(begin, end - begin);
    if (part.find(" " + name + " samples (") != part.npos) return part;
    begin = end + 2;
  }
  return "";
}

std::optional<bool> was_streamed(const std::string& fingerprint) {
  const std::vector<SetSums> sets = parse(fingerprint);
  if (sets.empty() || !sets[0].sums.contains("files")) return std::nullopt;
  return !sets[0].sums.contains("values");
}

}  // namespace neon
