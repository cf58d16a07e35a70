// Block style, with short lists of plain words on one line.
#include "neon/spec/yaml_write.h"

#include <algorithm>
#include <cctype>

#include "neon/core/text.h"
#include "neon/spec/raw.h"
#include "neon/spec/yaml.h"

namespace neon {

namespace {

constexpr size_t kLongestLine = 100;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// U+0080 to U+009F in UTF-8.
bool is_second_control(std::string_view value, size_t i) {
  auto byte = [&](size_t at) { return static_cast<unsigned char>(value[at]); };
  return byte(i) == 0xC2 && i + 1 < value.size() && byte(i + 1) < 0xA0;
}

// The byte order mark, which is read only at the start of a file.
bool is_order_mark(std::string_view value, size_t i) { return value.substr(i, 3) == "\xEF\xBB\xBF"; }

}  // namespace

bool is_plain(std::string_view value) {
  if (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL") return false;
  if (is_blank(value.front()) || is_blank(value.back())) return false;
  if (std::string_view(",[]{}#&*!|>'\"%@`").find(value[0]) != value.npos) return false;
  if (std::string_view("-?:").find(value[0]) != value.npos && (value.size() == 1 || is_blank(value[1]))) return false;
  for (size_t i = 0; i < value.size(); ++i) {
    const auto byte = static_cast<unsigned char>(value[i]);
    if ((byte < 32 && byte != '\t') || byte == 127 || is_second_control(value, i) || is_order_mark(value, i))
      return false;
    if (value[i] == ':' && (i + 1 == value.size() || is_blank(value[i + 1]))) return false;
    if (value[i] == '#' && is_blank(value[i - 1])) return false;
  }
  return true;
}

namespace {

void append_quoted(std::string& out, std::string_view value) {
  static const char* hex = "0123456789abcdef";
  out += '"';
  for (size_t i = 0; i < value.size(); ++i) {
    auto byte = static_cast<unsigned char>(value[i]);
    const bool second_control = is_second_control(value, i);
    if (second_control) byte = static_cast<unsigned char>(value[++i]);
    if (byte == '"' || byte == '\\') (out += '\\') += char(byte);
    else if (is_order_mark(value, i)) out += "\\ufeff", i += 2;
    else if (byte == '\n') out += "\\n";
    else if (byte == '\t') out += "\\t";
    else if (byte < 32 || byte == 127 || second_control) ((out += "\\x") += hex[byte >> 4]) += hex[byte & 15];
    else out += char(byte);
  }
  out += '"';
}

// Where a line may start, this starts or ends a document.
bool is_marker(std::string_view value) {
  return (value.starts_with("---") || value.starts_with("...")) && (value.size() == 3 || is_blank(value[3]));
}

void append_scalar(std::string& out, std::string_view value, bool quoted) {
  if (quoted || !is_plain(value)) append_quoted(out, value);
  else out += value;
}

void append_key(std::string& out, std::string_view key) { append_scalar(out, key, key == "<<" || is_marker(key)); }

// [3, 3]: words that need no quotes even there.
bool fits_one_line(const Setting& list) {
  size_t width = 2;
  for (const Setting& item : list.items) {
    width += item.value.size() + 2;
    if (!item.is_scalar() || item.quoted || !is_plain(item.value) || width > kLongestLine) return false;
    for (char c : item.value)
      if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '.' && c != '_' &&
          c != '-' && c != '+')
        return false;
  }
  return true;
}

class NoMargin : public YamlMargin {
 public:
  std::string above(const Location&, const Setting&, size_t) override { return ""; }
  std::string anchor(const Setting&) override { return ""; }
};

class YamlWriter {
 public:
  explicit YamlWriter(YamlMargin& margin) : margin_(margin) {}

  // Writes what stands after "key:" or "-"; `inner` indents the lines that follow.
  void append_value(std::string& out, const Setting& setting, size_t inner, bool after_dash) {
    const std::string anchor = margin_.anchor(setting);
    if (!anchor.empty()) (out += ' ') += anchor;
    if (anchor.starts_with('*')) {
      out += '\n';
      return;
    }
    const bool flow_list = setting.is_list() && fits_one_line(setting);
    const bool block = (setting.is_list() && !flow_list) || (setting.is_map() && !setting.entries.empty());
    if (!block) return append_line(out, setting, flow_list);
    std::string lines;
    append_block(lines, setting, inner);
    // The first line continues the dash's: "- Conv: ...", "- - a".
    const bool continues = after_dash && anchor.empty() && std::string_view(lines).substr(inner, 1) != "#";
    out += continues ? ' ' : '\n';
    out += std::string_view(lines).substr(continues ? inner : 0);
  }

 private:
  void append_line(std::string& out, const Setting& setting, bool flow_list) {
    out += ' ';
    if (setting.is_map()) {
      out += "{}";
    } else if (flow_list) {
      out += '[';
      for (size_t i = 0; i < setting.items.size(); ++i) (out += i ? ", " : "") += setting.items[i].value;
      out += ']';
    } else if (setting.is_null()) {
      out += "null";
    } else {
      append_scalar(out, setting.value, setting.quoted);
    }
    out += '\n';
  }

  void append_block(std::string& out, const Setting& setting, size_t indent) {
    for (const Setting& item : setting.items) {
      out += margin_.above(item.where, item, indent);
      out.append(indent, ' ') += '-';
      append_value(out, item, indent + 2, true);
    }
    for (const Setting::Entry& entry : setting.entries) {
      out += margin_.above(entry.where, entry.value, indent);
      out.append(indent, ' ');
      append_key(out, entry.key);
      out += ':';
      append_value(out, entry.value, indent + 2, false);
    }
  }

  YamlMargin& margin_;
};

}  // namespace

std::string write_yaml(const Setting& setting, YamlMargin& margin) {
  std::string out;
  YamlWriter(margin).append_value(out, setting, 0, true);
  // The space that would follow a dash keeps a lone marker from its meaning.
  return setting.is_scalar() && is_marker(setting.value) ? out : out.substr(1);
}

std::string write_yaml(const Setting& setting) {
  NoMargin none;
  return write_yaml(setting, none);
}

std::string yaml_text(std::string_view value) {
  // Truth values and nulls of YAML 1.1 and 1.2. Numbers and dates begin with a digit, a sign or a point.
  static constexpr std::string_view kOtherTypes[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  const auto is_part = [](char c) { return std::isalnum(uint8_t(c)) || c == '.' || c == '/' || c == '_' || c == '-'; };
  const bool begins = !value.empty() && (std::isalpha(uint8_t(value[0])) || value[0] == '/' || value[0] == '_' ||
                                         value.starts_with("./") || value.starts_with("../"));
  if (begins && std::ranges::all_of(value, is_part) && !std::ranges::count(kOtherTypes, lower(value)))
    return std::string(value);
  std::string out;
  append_quoted(out, value);
  return out;
}

}  // namespace neon
