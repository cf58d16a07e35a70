#include "neon/spec/source.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "neon/core/error.h"
#include "neon/core/file_kind.h"
#include "neon/core/nearest_file.h"

namespace neon {

namespace {

std::string with_unix_line_ends(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') out += text[i];
    else if (i + 1 == text.size() || text[i + 1] != '\n') out += '\n';
  }
  return out;
}

std::string hex_byte(unsigned char byte) {
  char out[8];
  std::snprintf(out, sizeof out, "0x%02x", byte);
  return out;
}

struct FileCloser {
  void operator()(FILE* file) const { std::fclose(file); }
};

}  // namespace

Source::Source(std::string_view text, const std::string& name, size_t limit)
    : name_(std::make_shared<const std::string>(name)) {
  if (text.size() > limit)
    fail(ErrorKind::config, name, ": is ", bytes_text(double(text.size())), "; at most ", bytes_text(double(limit)),
         " are read as YAML");
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    fail(ErrorKind::config, name, ": is UTF-16; save it as UTF-8");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text_ = text.find('\r') == text.npos ? std::string(text) : with_unix_line_ends(text);
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  check_characters();
}

// A file of bytes is named by its kind, where a position of the first byte helps nobody.
void Source::fail_at_byte(size_t at, const std::string& what) const {
  const std::string kind = looks_like(std::string_view(text_).substr(0, 512));
  if (!kind.empty() && kind != "text")
    fail(ErrorKind::config, *name_, ": expected YAML; the file looks like ", kind,
         kind == "a Python pickle" ? ", as neon 0.9 to 2.6 saved nets, and neon reads none of them" : "");
  fail(ErrorKind::config, at_offset(at), ": ", what);
}

void Source::check_characters() {
  const std::string_view all = text_;
  for (size_t i = 0; i < all.size();) {
    const auto byte = static_cast<unsigned char>(all[i]);
    const size_t length = utf8_length(all.substr(i));
    const bool second_control = byte == 0xC2 && length == 2 && static_cast<unsigned char>(all[i + 1]) < 0xA0;
    if (length == 0) fail_at_byte(i, neon::text("byte ", hex_byte(byte), " is not UTF-8; save the file as UTF-8"));
    if (byte == 0) fail_at_byte(i, "a NUL byte; is this a text file?");
    if ((byte < 32 && byte != '\n' && byte != '\t') || byte == 127)
      fail_at_byte(i, neon::text("control character ", hex_byte(byte), " is not allowed in YAML"));
    if (second_control) fail(ErrorKind::config, at_offset(i), ": a control character is not allowed in YAML");
    if (all.substr(i, 3) == "\xEF\xBB\xBF")
      fail(ErrorKind::config, at_offset(i), ": a byte order mark inside the text; remove this invisible character");
    for (size_t part = 1; part < length; ++part) continuations_.push_back(i + part);
    i += length;
  }
}

size_t Source::offset(int line, int column) const {
  const size_t row = std::min(size_t(std::max(line, 0)), line_starts_.size() - 1);
  return std::min(line_starts_[row] + size_t(std::max(column, 0)), text_.size());
}

std::string_view Source::line(int line) const {
  const size_t start = offset(line, 0);
  return std::string_view(text_).substr(start, std::min(text_.find('\n', start), text_.size()) - start);
}

Location Source::at(int line, int column) const {
  const size_t start = offset(line, 0), end = offset(line, column);
  const auto first = std::lower_bound(continuations_.begin(), continuations_.end(), start);
  const auto last = std::lower_bound(first, continuations_.end(), end);
  const auto characters = int(end - start) - int(last - first);
  return {name_, std::max(line, 0) + 1, characters + 1};
}

Location Source::at_offset(size_t offset) const {
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = next - line_starts_.begin() - 1;
  return at(int(line), int(offset - line_starts_[size_t(line)]));
}

std::string read_text_file(const std::string& path, size_t limit) {
  std::unique_ptr<FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (!file && errno == ENOENT) fail(ErrorKind::config, path, ": there is no such file", nearest_file(path));
  if (!file) fail(ErrorKind::config, path, ": cannot be opened: ", std::strerror(errno));
  struct stat info = {};
  if (fstat(fileno(file.get()), &info) == 0) {
    if (S_ISDIR(info.st_mode)) fail(ErrorKind::config, path, ": is a folder; a file is expected");
    if (S_ISREG(info.st_mode) && size_t(info.st_size) > limit)
      fail(ErrorKind::config, path, ": is ", bytes_text(double(info.st_size)), "; at most ", bytes_text(double(limit)),
           " are read as YAML");
  }
  // A pipe has no size beforehand: one byte past the limit is enough to know.
  std::string out(S_ISREG(info.st_mode) ? size_t(info.st_size) + 1 : limit + 1, '\0');
  const size_t got = std::fread(out.data(), 1, out.size(), file.get());
  if (std::ferror(file.get())) fail(ErrorKind::config, path, ": cannot be read: ", std::strerror(errno));
  out.resize(got);
  if (got > limit)
    fail(ErrorKind::config, path, ": holds more than ", bytes_text(double(limit)), ", the most that is read as YAML");
  return out;
}

}  // namespace neon
