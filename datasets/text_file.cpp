#include "datasets/text_file.h"

#include <algorithm>
#include <filesystem>

#include "datasets/file.h"
#include "datasets/gzip.h"
#include "datasets/tar.h"
#include "datasets/zip.h"

namespace neon {

namespace {

// Where a tar's first header has its mark.
constexpr size_t kTarMark = 257;
constexpr int kMostDepth = 20;  // of folders in a folder

// Files of macOS, too, which lie beside the others in archives of its own.
bool is_hidden(const std::string& name) {
  return name.substr(name.find_last_of('/') + 1).starts_with('.') || name.starts_with("__MACOSX/");
}

// The name of a packing that neon cannot read; "" of others.
std::string foreign_packing(std::string_view head) {
  if (head.starts_with(std::string_view("\xfd"
                                        "7zXZ\0",
                                        6)))
    return "xz";
  if (head.size() > 4 && head.starts_with("BZh") && head.substr(4).starts_with("1AY&SY")) return "bzip2";
  if (head.starts_with("\x28\xb5\x2f\xfd")) return "zstd";
  if (head.starts_with("7z\xbc\xaf\x27\x1c")) return "7z";
  return "";
}

std::vector<NamedText> files_of_tar(TarReader tar) {
  std::vector<NamedText> out;
  while (tar.next())
    if (!is_hidden(tar.name())) out.push_back({tar.name(), tar.content()});
  return out;
}

std::vector<NamedText> files_of_zip(const std::string& path) {
  std::vector<NamedText> out;
  const FileSource file(path);
  const ZipArchive zip(file);
  for (const ZipArchive::Member& member : zip.members())
    if (!member.name.ends_with('/') && !is_hidden(member.name)) out.push_back({member.name, zip.read(member)});
  return out;
}

std::vector<NamedText> by_name(std::vector<NamedText> files, const std::string& path) {
  if (files.empty()) fail(ErrorKind::data, path, ": no files are in this archive");
  std::ranges::stable_sort(files, {}, &NamedText::name);
  return files;
}

}  // namespace

std::vector<std::string> files_below(const std::string& folder, bool as_deep_texts) {
  std::vector<std::string> out;
  std::error_code error;
  using std::filesystem::directory_options;
  const auto options = as_deep_texts ? directory_options::follow_directory_symlink : directory_options::none;
  for (std::filesystem::recursive_directory_iterator at(folder, options, error), end; !error && at != end;
       at.increment(error)) {
    if (as_deep_texts && at.depth() > kMostDepth)
      fail(ErrorKind::data, printable(at->path().string()), ": more than ", kMostDepth,
           " folders deep; does a link lead back up?");
    if (at->path().filename().string().starts_with('.')) {
      if (as_deep_texts) at.disable_recursion_pending();
    } else if (at->is_regular_file()) out.push_back(at->path().string());
  }
  if (error) fail(ErrorKind::data, folder, ": ", error.message());
  std::ranges::sort(out);
  return out;
}

std::vector<NamedText> texts_of_archive(const std::string& path) {
  GzipReader reader(path);
  const std::string_view head = reader.peek(kTarMark + 5);
  if (const std::string packing = foreign_packing(head); !packing.empty())
    fail(ErrorKind::data, path, ": is packed by ", packing,
         ", which neon does not read; unpack it, and give the text, ", "or a folder, .tar, .tar.gz or .zip of texts");
  const bool tar = is_tar_name(path) || (head.size() > kTarMark && head.substr(kTarMark) == "ustar");
  const bool zip = head.starts_with("PK\3\4") || head.starts_with("PK\5\6");
  if (!tar && !zip) return {};
  return by_name(tar ? files_of_tar(TarReader(path)) : files_of_zip(path), path);
}

std::vector<NamedText> texts_of_tar(std::unique_ptr<ByteStream> bytes) {
  const std::string path = bytes->path();
  return by_name(files_of_tar(TarReader(std::move(bytes))), path);
}

std::string_view utf8_text(std::string_view text, const std::string& name) {
  if (text.starts_with("\xef\xbb\xbf")) return text.substr(3);
  // Letters of western languages have a byte 0 beside each other one.
  const std::string_view head = text.substr(0, 1024);
  size_t zeros[2] = {0, 0};
  for (size_t i = 0; i < head.size(); ++i) zeros[i % 2] += head[i] == '\0';
  const bool letters = head.size() >= 4 && std::max(zeros[0], zeros[1]) * 4 > head.size();
  if (letters || text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    fail(ErrorKind::data, name, ": is UTF-16 text: save it as UTF-8");
  return text;
}

TextFile::TextFile(const std::string& path) : TextFile(path, INT64_MAX, 0) {}

TextFile::TextFile(const std::string& path, int64_t held, int64_t head) {
  GzipReader reader(path);
  const int64_t size = reader.plain_size();
  if (size <= 0) {
    unpacked_ = read_maybe_gzip(reader);
    text_ = unpacked_;
  } else if (size <= held) {
    plain_ = Tensor(DType::u8, {size});
    auto* const to = reinterpret_cast<char*>(plain_.as<uint8_t>().data());
    text_ = {to, reader.read(to, size_t(size))};
  } else {
    source_ = std::make_unique<const FileSource>(path);
    head_.resize(size_t(head));
    source_->read_at(0, head_.data(), head_.size());
    head_.resize(head_.find_last_of("\r\n") + 1);
  }
  size_ = source_ ? size_t(source_->size()) : text_.size();
}

TextFile::~TextFile() = default;

std::string_view TextFile::text() const {
  if (is_held()) return text_;
  plain_ = Tensor(DType::u8, {int64_t(size_)});
  auto* const to = reinterpret_cast<char*>(plain_.as<uint8_t>().data());
  read(0, to, size_);
  return text_ = {to, size_};
}

void TextFile::read(size_t at, char* to, size_t size) const { source_->read_at(int64_t(at), to, size); }

}  // namespace neon
