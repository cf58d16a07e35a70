#include "datasets/token_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "datasets/npy.h"
#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

// The first numbers of a header of llm.c, 256 of 32 bits: which kind, its version, and how many tokens follow.
struct KnownHeader {
  int32_t magic, version;
  int item;
};
constexpr KnownHeader kKnownHeaders[] = {{20240520, 1, 2}, {20240801, 7, 4}};
constexpr int64_t kHeaderBytes = 1024;

// Tokens that are read at once: their bytes, and the numbers of them, are in the fastest memory.
constexpr int64_t kAtOnce = 1 << 14;

constexpr int64_t kMostTokens = 100'000'000;  // different ones

std::string name_of_type(int item, bool is_signed) { return text(is_signed ? "int" : "uint", 8 * item); }

int64_t number_at(const char* bytes, int item, bool is_signed, bool swapped) {
  char own[8] = {};
  std::memcpy(own, bytes, size_t(item));
  if (swapped) std::reverse(own, own + item);
  uint64_t out = 0;
  std::memcpy(&out, own, sizeof out);
  const int shift = 64 - 8 * item;
  return is_signed ? int64_t(out << shift) >> shift : int64_t(out);
}

// Refuses numbers of 16 bits that seem to be the halves of numbers of 32 bits: every second one is 0, or in a large
// vocabulary of at most 2^18 tokens below 4.
void check_halves(const ByteSource& source, int64_t bytes) {
  constexpr int64_t kLeast = 16;
  std::vector<uint16_t> halves(size_t(std::min(bytes, 4 * kAtOnce) / 4 * 2));
  if (bytes % 4 || std::ssize(halves) < kLeast) return;
  source.read_at(0, reinterpret_cast<char*>(halves.data()), halves.size() * sizeof(uint16_t));
  int largest_low = 0, largest_high = 0;
  for (size_t i = 0; i < halves.size(); i += 2) {
    largest_low = std::max<int>(largest_low, halves[i]);
    largest_high = std::max<int>(largest_high, halves[i + 1]);
  }
  if (largest_low == 0 || largest_high >= 4 || (largest_high > 0 && largest_low < 256)) return;
  fail(ErrorKind::config, source.name(), ": every second number of 16 bits is ",
       largest_high == 0 ? "0" : text("at most ", largest_high),
       ", so its tokens seem to have 32 bits; give type: uint32, or type: uint16 if they have 16");
}

}  // namespace

TokenFiles::File TokenFiles::open(const std::string& path, const std::string& type, std::string& form) {
  File out;
  out.source = std::make_unique<FileSource>(path);
  const int64_t bytes = out.source->size();
  if (lower(path).ends_with(".npy")) {
    const NpyHeader header = read_npy_header(*out.source);
    if (header.shape.rank() != 1 || (header.kind != 'u' && header.kind != 'i'))
      fail(ErrorKind::data, path, ": holds ", header.kind == 'f' ? "floating numbers " : "an array ", header.shape,
           "; tokens are whole numbers (n)");
    out.count = header.shape[0];
    out.header = header.data_offset;
    out.item = header.item;
    out.is_signed = header.kind == 'i';
    out.swapped = header.order == '>';
    form = name_of_type(out.item, out.is_signed);
    return out;
  }
  out.item = type == "uint32" ? 4 : 2;
  if (int32_t head[3] = {}; bytes >= kHeaderBytes) {
    out.source->read_at(0, head, sizeof head);
    for (const KnownHeader& known : kKnownHeaders) {
      if (head[0] != known.magic || head[1] != known.version) continue;
      if (type != "auto" && out.item != known.item)
        fail(ErrorKind::config, "type: ", type, ", but ", path, " says at its begin that its tokens are ",
             name_of_type(known.item, false), "; leave it out");
      out.item = known.item;
      out.header = kHeaderBytes;
      if (bytes - out.header != int64_t(head[2]) * out.item)
        fail(ErrorKind::data, path, ": its header says ", head[2], " tokens of ", out.item, " bytes, but ",
             bytes - out.header, " bytes follow");
    }
  }
  if (type == "auto" && !out.header && !lower(path).ends_with(".bin"))
    fail(ErrorKind::config, path, ": is no .bin or .npy file, as tokens are; give type: uint16 or uint32 if it holds ",
         "such numbers. The data set Text reads texts");
  if ((bytes - out.header) % out.item)
    fail(ErrorKind::data, path, ": its ", bytes, " bytes are not a whole number of tokens of ", out.item, " bytes");
  if (type == "auto" && !out.header) check_halves(*out.source, bytes);
  out.count = (bytes - out.header) / out.item;
  form = name_of_type(out.item, false) + (out.header ? text(", behind a header of ", out.header, " bytes") : "");
  return out;
}

TokenFiles::TokenFiles(const std::vector<std::string>& paths, const std::string& type) {
  for (const std::string& path : paths) {
    std::string form;
    File file = open(path, type, form);
    if (!form_.empty() && form != form_)
      fail(ErrorKind::data, path, ": its tokens are ", form, ", those of the files before it ", form_);
    form_ = form;
    file.begin = size_;
    size_ += file.count;
    files_.push_back(std::move(file));
  }
}

void TokenFiles::read_file_part(const File& file, int64_t first, std::span<int32_t> to, int64_t limit) {
  std::vector<char> bytes(size_t(std::min<int64_t>(kAtOnce, int64_t(to.size())) * file.item));
  for (size_t done = 0; done < to.size();) {
    const size_t count = std::min(size_t(kAtOnce), to.size() - done);
    file.source->read_at(file.header + (first + int64_t(done)) * file.item, bytes.data(), count * size_t(file.item));
    for (size_t i = 0; i < count; ++i) {
      const int64_t token = number_at(bytes.data() + i * size_t(file.item), file.item, file.is_signed, file.swapped);
      if (token < 0 || token >= kMostTokens || (limit > 0 && token >= limit))
        fail(ErrorKind::data, file.source->name(), ": token ", first + int64_t(done + i), " is ", token,
             limit > 0 ? text("; they must be below ", limit, ", the number of different tokens")
                       : ", which is no token; is it a file of another type?");
      to[done + i] = int32_t(token);
    }
    done += count;
  }
}

void TokenFiles::read(int64_t first, std::span<int32_t> to, int64_t limit) const {
  for (const File& file : files_) {
    if (to.empty()) return;
    if (first >= file.begin + file.count) continue;
    const int64_t own = first - file.begin, count = std::min(file.count - own, int64_t(to.size()));
    read_file_part(file, own, to.first(size_t(count)), limit);
    to = to.subspan(size_t(count));
    first += count;
  }
  NEON_ASSERT(to.empty());
}

int64_t TokenFiles::largest() const {
  std::vector<int32_t> tokens;
  int64_t out = 0;
  for (int64_t first = 0; first < size_; first += kAtOnce) {
    tokens.resize(size_t(std::min(kAtOnce, size_ - first)));
    read(first, tokens, 0);
    out = std::max<int64_t>(out, *std::ranges::max_element(tokens));
  }
  return out;
}

std::string TokenFiles::identity() const {
  std::string out;
  for (const File& file : files_)
    out += text(std::filesystem::path(file.source->name()).filename().string(), ' ', file.source->size(), '\n');
  return out;
}

TokenPieces::TokenPieces(std::shared_ptr<const TokenFiles> files, Part part, int64_t steps, int64_t stride,
                         int64_t limit)
    : files_(std::move(files)), part_(part), steps_(steps), stride_(stride), limit_(limit) {
  NEON_ASSERT(part_.count >= 2);
}

void TokenPieces::read_row(int64_t index, std::span<std::byte> input, std::span<std::byte> target, ReadScratch&) const {
  const int64_t first = index * stride_, there = std::min(steps_ + 1, part_.count - first);
  std::vector<int32_t> tokens(size_t(steps_ + 1));
  files_->read(part_.first + first, std::span(tokens).first(size_t(there)), limit_);
  // As in a text in memory: what has no target is 0, and so is the input of the last token.
  const auto inputs = size_t(there - 1);
  std::vector<int32_t> of_input(size_t(steps_), 0), of_target(size_t(steps_), -1);
  std::copy_n(tokens.begin(), inputs, of_input.begin());
  std::copy_n(tokens.begin() + 1, inputs, of_target.begin());
  std::memcpy(input.data(), of_input.data(), input.size());
  std::memcpy(target.data(), of_target.data(), target.size());
}

}  // namespace neon
