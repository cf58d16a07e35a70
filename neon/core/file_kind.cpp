#include "neon/core/file_kind.h"

#include <algorithm>

namespace neon {

namespace {

struct Signature {
  std::string_view start;
  const char* what;
};
using namespace std::string_view_literals;
constexpr Signature kSignatures[] = {
    {"\x1f\x8b"sv, "a gzip file"},
    {"PK\x03\x04"sv, "a zip archive (.npz, .zip)"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    {"\x93NUMPY"sv, "a NumPy .npy file"},
    {"\x89PNG"sv, "a PNG image"},
    {"\xff\xd8\xff"sv, "a JPEG image"},
    {"GIF8"sv, "a GIF image"},
    {"II*\0"sv, "a TIFF image"},
    {"MM\0*"sv, "a TIFF image"},
    {"RIFF"sv, "a RIFF file (WebP, WAV, AVI)"},
    {"%PDF"sv, "a PDF document"},
    {"BZh"sv, "a bzip2 file"},
    {"\xfd"
     "7zXZ"sv,
     "an xz file"},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file"},
    {"Rar!"sv, "a rar archive"},
    {"version https://git-lfs"sv, "a Git LFS pointer, not the data itself (git lfs pull fetches that)"},
    {"<Error"sv, "an XML error page"},
    {"<?xml"sv, "an XML document"},
    {"\x80\x02"sv, "a Python pickle"},
    {"\x80\x03"sv, "a Python pickle"},
    {"\x80\x04"sv, "a Python pickle"},
    {"\x80\x05"sv, "a Python pickle"},
};

bool starts_with_ignoring_case(std::string_view text, std::string_view start) {
  if (text.size() < start.size()) return false;
  for (size_t i = 0; i < start.size(); ++i)
    if ((text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]) != start[i]) return false;
  return true;
}

// UTF-8 has no byte from 0xf8 on.
bool is_text(std::string_view head) {
  for (const unsigned char c : head)
    if ((c < 32 && c != '\n' && c != '\r' && c != '\t') || c == 127 || c >= 0xf8) return false;
  return !head.empty();
}

}  // namespace

std::string looks_like(std::string_view head) {
  for (const Signature& signature : kSignatures)
    if (head.starts_with(signature.start)) return signature.what;
  if (head.size() > 262 && head.substr(257, 5) == "ustar") return "a tar archive";
  std::string_view trimmed = head.substr(std::min(head.size(), head.find_first_not_of(" \t\r\n")));
  if (starts_with_ignoring_case(trimmed, "<!doctype html") || starts_with_ignoring_case(trimmed, "<html"))
    return "an HTML page (an error page saved in place of the data?)";
  if (head.empty()) return "an empty file";
  return is_text(head.substr(0, 64)) ? "text" : "";
}

std::string looks_like_clause(std::string_view head) {
  const std::string what = looks_like(head);
  return what.empty() ? "" : "; it looks like " + what;
}

}  // namespace neon
