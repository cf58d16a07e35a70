#include "neon/spec/yaml_1_1.h"

#include <algorithm>
#include <charconv>

#include "neon/core/text.h"

namespace neon {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whole digits of a base, all of the text.
std::string decimal(std::string_view digits, int base) {
  uint64_t out = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, out, base);
  return !digits.empty() && error == std::errc() && at == end ? text(out) : "";
}

// A float of decimal digits: its point keeps it from being octal.
bool is_float(std::string_view digits) {
  const size_t point = digits.find('.');
  return point != digits.npos && point > 0 &&
         digits.substr(0, digits.find_first_of("eE")).find('.', point + 1) == digits.npos &&
         std::ranges::all_of(
             digits, [](char c) { return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+'; });
}

std::string meaning(const std::string& value) { return text(value, ", as YAML 1.1 reads it"); }

}  // namespace

std::string decimal_of_yaml_1_1(std::string_view value) {
  const bool sign = value.starts_with('-') || value.starts_with('+');
  std::string digits(value.substr(sign));
  if (digits.empty() || !is_digit(digits[0])) return "";
  const bool spaced = std::erase(digits, '_') > 0;
  std::string out;
  if (digits.starts_with("0x")) out = decimal(std::string_view(digits).substr(2), 16);
  else if (digits.starts_with("0b")) out = decimal(std::string_view(digits).substr(2), 2);
  else if (digits.size() > 1 && digits[0] == '0' && std::ranges::all_of(digits, is_digit)) out = decimal(digits, 8);
  else if (spaced) out = is_float(digits) ? digits : decimal(digits, 10);
  return out.empty() ? "" : (value[0] == '-' ? "-" : "") + out;
}

void convert_numbers(RawDocument& raw, const Source& source, Conversion& conversion) {
  for (RawNode& node : raw.nodes) {
    if (node.kind != Setting::Kind::scalar || node.quoted || !node.tag.empty()) continue;
    const std::string number = decimal_of_yaml_1_1(node.value);
    if (number.empty()) continue;
    conversion.remarks.push_back(
        {source.at(node.line, node.column), text(in_quotes(node.value), " is ", meaning(number))});
    node.value = number;
  }
}

void convert_numbers(Setting& setting, std::vector<std::string>& notes) {
  if (setting.is_scalar() && !setting.quoted) {
    const std::string number = decimal_of_yaml_1_1(setting.value);
    if (number.empty()) return;
    notes.push_back(text(setting.where, ": ", in_quotes(setting.value), " is ", meaning(number)));
    setting.value = number;
  }
  for (Setting& item : setting.items) convert_numbers(item, notes);
  for (auto& entry : setting.entries) convert_numbers(entry.value, notes);
}

}  // namespace neon
