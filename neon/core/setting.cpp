#include "neon/core/setting.h"

#include <algorithm>

#include "neon/core/message.h"

namespace neon {

std::string Location::to_string() const {
  if (!file) return "";
  return line > 0 ? text(*file, ":", line, ":", column) : *file;
}

Setting::Setting() = default;
Setting::Setting(const Setting& other) = default;
Setting::Setting(Setting&& other) noexcept = default;
Setting& Setting::operator=(const Setting& other) = default;
Setting& Setting::operator=(Setting&& other) noexcept = default;
Setting::~Setting() = default;

Setting Setting::scalar(std::string text, Location where) {
  Setting out;
  out.kind = Kind::scalar;
  out.value = std::move(text);
  out.where = std::move(where);
  return out;
}

Setting Setting::list(std::vector<Setting> items, Location where) {
  Setting out;
  out.kind = Kind::list;
  out.items = std::move(items);
  out.where = std::move(where);
  return out;
}

Setting Setting::map(std::vector<Entry> entries, Location where) {
  Setting out;
  out.kind = Kind::map;
  out.entries = std::move(entries);
  out.where = std::move(where);
  return out;
}

const Setting* Setting::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Setting* Setting::find(std::string_view key) {
  return const_cast<Setting*>(static_cast<const Setting*>(this)->find(key));
}

std::vector<std::string> Setting::keys() const {
  std::vector<std::string> out;
  for (const Entry& entry : entries) out.push_back(entry.key);
  return out;
}

std::string Setting::describe() const {
  switch (kind) {
    case Kind::null: return "nothing";
    case Kind::scalar: return in_quotes(value);
    case Kind::list: return text("a list of ", items.size());
    case Kind::map: return entries.empty() ? "an empty map" : "a map with key " + in_quotes(entries.front().key);
  }
  return "";
}

void Setting::set_paths(std::string_view own) {
  path = own;
  for (size_t i = 0; i < items.size(); ++i) items[i].set_paths(text(path, "[", i, "]"));
  for (Entry& entry : entries) entry.value.set_paths(path.empty() ? entry.key : text(path, ".", entry.key));
}

namespace {

// Whether a plain scalar would read back as the same text.
bool needs_quotes(const std::string& value) {
  if (value.empty() || value.front() == ' ' || value.back() == ' ') return true;
  static const std::string special = "{}[],&*#?|<>=!%@`\"'\n\t\\";
  for (size_t i = 0; i < value.size(); ++i) {
    if (static_cast<unsigned char>(value[i]) < 32 || special.find(value[i]) != std::string::npos) return true;
    if (value[i] == ':' && (i + 1 == value.size() || value[i + 1] == ' ')) return true;
  }
  return value == "-" || value.starts_with("- ") || value == "~" || value == "null";
}

void write(std::string& out, const std::string& value, bool quoted) {
  if (!quoted && !needs_quotes(value)) {
    out += value;
    return;
  }
  static const char* hex = "0123456789abcdef";
  out += '"';
  for (char c : value) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (code < 32) ((out += "\\x") += hex[code >> 4]) += hex[code & 15];
    else out += c;
  }
  out += '"';
}

void write(std::string& out, const Setting& setting) {
  switch (setting.kind) {
    case Setting::Kind::null: out += "null"; break;
    case Setting::Kind::scalar: write(out, setting.value, setting.quoted); break;
    case Setting::Kind::list:
      out += '[';
      for (size_t i = 0; i < setting.items.size(); ++i) {
        if (i) out += ", ";
        write(out, setting.items[i]);
      }
      out += ']';
      break;
    case Setting::Kind::map:
      out += '{';
      for (size_t i = 0; i < setting.entries.size(); ++i) {
        if (i) out += ", ";
        write(out, setting.entries[i].key, false);
        out += ": ";
        write(out, setting.entries[i].value);
      }
      out += '}';
      break;
  }
}

}  // namespace

std::string Setting::to_string() const {
  std::string out;
  write(out, *this);
  return out;
}

void Problems::add(const Location& where, std::string_view path, std::string message) {
  std::string line = where.to_string();
  if (!line.empty()) line += ": ";
  if (!path.empty()) line += std::string(path) + ": ";
  lines_.push_back(message_line(line + message));
}

void Problems::throw_if_any() const {
  if (lines_.empty()) return;
  constexpr size_t kMost = 20;
  std::vector<std::string> first;
  size_t more = 0;
  for (auto line = lines_.begin(); line != lines_.end(); ++line) {
    if (std::find(lines_.begin(), line, *line) != line) continue;  // a value behind an anchor is read at each use
    if (first.size() < kMost) first.push_back(*line);
    else ++more;
  }
  if (more > 0) first.push_back(text("... and ", more, " more problems"));
  throw Faults(std::move(first));
}

}  // namespace neon
