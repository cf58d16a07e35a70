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

// Whole digits with colons between places of base 60, "1:30" for 90, a fraction behind the last place. A whole number
// begins with no 0. Underscores may stand in the first place and in the fraction.
std::string of_base_60(std::string digits) {
  const size_t colon = digits.find(':');
  if (digits.substr(colon, digits.find('.') - colon).find('_') != digits.npos) return "";
  std::erase(digits, '_');
  const size_t point = std::min(digits.find('.'), digits.size());
  const std::string_view fraction = std::string_view(digits).substr(point);
  if (fraction.empty() && digits[0] == '0') return "";
  if (!std::ranges::all_of(fraction.substr(!fraction.empty()), is_digit)) return "";
  uint64_t sum = 0;
  for (size_t at = 0, end = 0; at <= point; at = end + 1) {
    end = std::min(digits.find(':', at), point);
    const std::string_view place = std::string_view(digits).substr(at, end - at);
    uint64_t number = 0;
    const auto [stop, error] = std::from_chars(place.data(), place.data() + place.size(), number);
    if (place.empty() || error != std::errc() || stop != place.data() + place.size()) return "";
    if (at > 0 && (place.size() > 2 || number >= 60)) return "";
    if (__builtin_mul_overflow(sum, 60, &sum) || __builtin_add_overflow(sum, number, &sum)) return "";
  }
  return text(sum) + (fraction == "." ? ".0" : std::string(fraction));
}

std::string meaning(const std::string& value) { return text(value, ", as YAML 1.1 reads it"); }

}  // namespace

std::string decimal_of_yaml_1_1(std::string_view value) {
  const bool sign = value.starts_with('-') || value.starts_with('+');
  std::string digits(value.substr(sign)), out;
  if (digits.empty() || !is_digit(digits[0])) return "";
  const bool colons = digits.find(':') != digits.npos;
  if (colons) out = of_base_60(digits);
  const bool spaced = std::erase(digits, '_') > 0;
  if (digits.starts_with("0x")) out = decimal(std::string_view(digits).substr(2), 16);
  else if (digits.starts_with("0b")) out = decimal(std::string_view(digits).substr(2), 2);
  else if (digits.size() > 1 && digits[0] == '0' && std::ranges::all_of(digits, is_digit)) out = decimal(digits, 8);
  else if (spaced && !colons) out = is_float(digits) ? digits : decimal(digits, 10);
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
