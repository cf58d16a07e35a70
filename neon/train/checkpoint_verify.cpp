#include "neon/train/checkpoint_verify.h"

#include <dirent.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace neon {

namespace {

constexpr std::string_view kZeroSum = "crc32:00000000";
constexpr size_t kPieceBytes = size_t(1) << 20;

std::string checksum_text(uLong crc) {
  char buffer[20];
  std::snprintf(buffer, sizeof buffer, "crc32:%08lx", crc);
  return buffer;
}

// Where the header's own checksum stands in the text. The quotes cannot be those of another text: inside one
// they are escaped, and the one after `crc32:` would be too.
size_t find_header_sum(std::string_view text) {
  const std::string key = neon::text('"', kHeaderChecksumKey, "\":\"");
  const size_t at = text.find(key);
  if (at == std::string_view::npos || at + key.size() + kZeroSum.size() > text.size()) return std::string_view::npos;
  return at + key.size();
}

// Empty where the text has its own checksum.
std::string problem_of_header(std::string text) {
  const size_t at = find_header_sum(text);
  if (at == std::string::npos) return "its header has no checksum; the file is damaged";
  const std::string stored = text.substr(at, kZeroSum.size());
  text.replace(at, kZeroSum.size(), kZeroSum);
  return stored == checksum(text.data(), text.size()) ? ""
                                                      : "its header does not have its checksum; the file is damaged";
}

// Digits only, so that a name has one spelling.
bool read_digits(std::string_view& from, int64_t& out) {
  if (from.empty() || from[0] < '0' || from[0] > '9') return false;
  const auto result = std::from_chars(from.data(), from.data() + from.size(), out);
  if (result.ec != std::errc()) return false;
  from.remove_prefix(size_t(result.ptr - from.data()));
  return true;
}

// "dir/model.safetensors" is "model" and ".safetensors".
std::pair<std::string, std::string> split_name(const std::string& path) {
  const std::string name = file_name_of(path);
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return {name, ""};
  return {name.substr(0, dot), name.substr(dot)};
}

[[noreturn]] void damaged_tensor(const std::string& path, const TensorEntry& entry) {
  fail(ErrorKind::data, path, ": tensor ", in_quotes(entry.name), " does not have its checksum; the file is damaged");
}

}  // namespace

std::string checksum(const void* data, size_t bytes) {
  return checksum_text(crc32_z(0, static_cast<const Bytef*>(data), bytes));
}

void seal_header(std::string& header_text) {
  const size_t at = find_header_sum(header_text);
  NEON_ASSERT(at != std::string::npos && header_text.compare(at, kZeroSum.size(), kZeroSum) == 0);
  header_text.replace(at, kZeroSum.size(), checksum(header_text.data(), header_text.size()));
}

std::map<std::string, std::string> check_header(const SafetensorsReader& reader, const std::string& path) {
  const SafetensorsHeader& header = reader.header();
  if (!header.metadata.contains(kFormatKey))
    fail(ErrorKind::data, path, ": a sound .safetensors file, but not a checkpoint: its metadata have no ", kFormatKey);
  if (const std::string problem = problem_of_header(reader.header_text()); !problem.empty())
    fail(ErrorKind::data, path, ": ", problem);
  const int64_t format = metadata_number(header, kFormatKey, path);
  if (format != kCheckpointFormat)
    fail(ErrorKind::data, path, ": format ", format, ", made by a newer neon; this one reads ", kCheckpointFormat);
  const auto sums = header.metadata.find(kChecksumsKey);
  if (sums == header.metadata.end()) fail(ErrorKind::data, path, ": its metadata have no ", kChecksumsKey);
  auto out = parse_texts(sums->second, neon::text(path, ": ", kChecksumsKey));
  for (const TensorEntry& entry : header.entries)
    if (!out.contains(entry.name)) fail(ErrorKind::data, path, ": tensor ", in_quotes(entry.name), " has no checksum");
  if (out.size() != header.entries.size())
    fail(ErrorKind::data, path, ": ", out.size(), " checksums for ", header.entries.size(), " tensors");
  return out;
}

void verify_checkpoint(const SafetensorsReader& reader, const std::string& path) {
  const auto sums = check_header(reader, path);
  std::vector<unsigned char> piece(kPieceBytes);
  for (const TensorEntry& entry : reader.header().entries) {
    uLong crc = 0;
    for (size_t at = entry.begin; at < entry.end; at += kPieceBytes) {
      const size_t bytes = std::min(kPieceBytes, entry.end - at);
      reader.read_bytes(at, piece.data(), bytes);
      crc = crc32_z(crc, piece.data(), bytes);
    }
    if (checksum_text(crc) != sums.at(entry.name)) damaged_tensor(path, entry);
  }
}

std::string run_of(const std::string& path) {
  try {
    const std::string header = read_header_text(open_to_read(path), path);
    if (!problem_of_header(header).empty()) return "";
    return nlohmann::json::parse(header).at("__metadata__").at(kRunKey).get<std::string>();
  } catch (const Error&) {
  } catch (const nlohmann::json::exception&) {
  }
  return "";
}

int64_t metadata_number(const SafetensorsHeader& header, const char* key, const std::string& path) {
  const auto found = header.metadata.find(key);
  if (found == header.metadata.end()) fail(ErrorKind::data, path, ": its metadata have no ", key);
  std::string_view digits = found->second;
  int64_t out = 0;
  if (!read_digits(digits, out) || !digits.empty())
    fail(ErrorKind::data, path, ": ", key, " is ", in_quotes(found->second), ", not a whole number");
  return out;
}

std::string older_path(const std::string& path, int64_t epoch, int64_t number) {
  const auto [stem, extension] = split_name(path);
  return text(path.substr(0, path.size() - file_name_of(path).size()), stem, '.', epoch, '-', number, extension);
}

std::vector<OlderCheckpoint> older_checkpoints(const std::string& path) {
  const auto [stem, extension] = split_name(path);
  std::vector<OlderCheckpoint> out;
  DIR* folder = opendir(folder_of(path).c_str());
  if (!folder) return out;
  while (const dirent* file = readdir(folder)) {
    const std::string_view name = file->d_name;
    if (name.size() <= stem.size() + 1 + extension.size() || !name.starts_with(stem) || name[stem.size()] != '.' ||
        !name.ends_with(extension))
      continue;
    std::string_view middle = name.substr(stem.size() + 1, name.size() - stem.size() - 1 - extension.size());
    OlderCheckpoint older;
    if (!read_digits(middle, older.epoch) || middle.empty() || middle[0] != '-') continue;
    middle.remove_prefix(1);
    if (!read_digits(middle, older.number) || !middle.empty()) continue;
    older.path = older_path(path, older.epoch, older.number);
    if (file_name_of(older.path) == name) out.push_back(std::move(older));
  }
  closedir(folder);
  std::ranges::sort(out, [](const auto& a, const auto& b) { return a.number > b.number; });
  return out;
}

}  // namespace neon
