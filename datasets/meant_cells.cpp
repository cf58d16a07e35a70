#include "datasets/meant_cells.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "datasets/composed_letters.h"
#include "neon/core/message.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr std::array<std::string_view, 4> kSpaces = {" ", "\t", "\xc2\xa0", "\xe2\x80\xaf"};  // of one width or another
constexpr std::array<std::string_view, 5> kSymbols = {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "%"};
constexpr std::array<std::string_view, 4> kBetweenThousands = {",", ".", "'", "_"};

// Takes one of them from the front.
bool take_one(std::string_view& rest, const auto& of) {
  for (const std::string_view each : of)
    if (rest.starts_with(each)) {
      rest.remove_prefix(each.size());
      return true;
    }
  return false;
}

bool take_last(std::string_view& rest, const auto& of) {
  for (const std::string_view each : of)
    if (rest.ends_with(each)) {
      rest.remove_suffix(each.size());
      return true;
    }
  return false;
}

size_t take_digits(std::string_view& rest) {
  const size_t count = std::min(rest.find_first_not_of("0123456789"), rest.size());
  rest.remove_prefix(count);
  return count;
}

// Digits in groups of three, or one group of any size; then perhaps decimals.
bool are_grouped_digits(std::string_view rest) {
  constexpr size_t kGroup = 3;
  size_t first = take_digits(rest);
  std::string_view between;  // the groups
  while (!rest.empty()) {
    const std::string_view from = rest;
    if (!take_one(rest, kBetweenThousands) && !take_one(rest, kSpaces)) return false;
    const std::string_view mark = from.substr(0, from.size() - rest.size());
    const bool decimal = mark == "," || mark == ".";
    const size_t count = take_digits(rest);
    if (count == 0) return false;
    if (rest.empty() && decimal && mark != between) return true;  // decimals, or a group
    if (count != kGroup || first == 0 || first > kGroup || (!between.empty() && mark != between)) return false;
    between = mark;
  }
  return first > 0;
}

}  // namespace

bool seems_number(std::string_view cell) {
  constexpr std::array<std::string_view, 3> kSigns = {"-", "+", "\xe2\x88\x92"};
  while (take_one(cell, kSpaces) || take_one(cell, kSymbols) || take_one(cell, kSigns)) {
  }
  while (take_last(cell, kSpaces) || take_last(cell, kSymbols)) {
  }
  return are_grouped_digits(cell);
}

std::string advice_for_number(std::string_view cell, char decimal) {
  return text(in_quotes(cell), " seems to be a number; write digits with a decimal ",
              decimal == ',' ? "comma" : "point", " alone, as in 1234", decimal, '5');
}

std::string unit_of(std::string_view cell) {
  constexpr size_t kLongest = 12;
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  if (take_digits(cell) == 0) return "";
  if (cell.starts_with(':')) {
    for (int parts = 0; parts < 2 && !cell.empty(); ++parts) {
      cell.remove_prefix(cell.starts_with(':') ? 1 : 0);
      if (take_digits(cell) != 2) return "";
    }
    return cell.empty() ? ":" : "";
  }
  if (cell.starts_with('.') || cell.starts_with(',')) {
    cell.remove_prefix(1);
    if (take_digits(cell) == 0) return "";
  }
  take_one(cell, kSpaces);
  const bool letters = std::ranges::all_of(cell, [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; });
  return letters && cell.size() <= kLongest ? std::string(cell) : "";
}

std::string advice_for_unit(std::string_view cell, std::string_view unit) {
  if (unit == ":") return text(in_quotes(cell), " seems to be a time; write it as one number, in seconds or hours");
  std::string_view number = cell.substr(0, cell.size() - unit.size());
  while (take_last(number, kSpaces)) {
  }
  const bool may_be_name = unit.size() == 1 && unit[0] <= 'Z' && number.size() + 1 == cell.size();
  return text(
      in_quotes(cell),
      may_be_name ? " may be a number with a unit, or a name, as of a seat" : " seems to be a number with a unit",
      "; write the number alone, as ", number, ", and the unit into the column's name");
}

namespace {

std::string without_form(std::string_view name) {
  std::string out = lower(decomposed(name));
  std::erase_if(out, [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; });
  return out;
}

}  // namespace

std::string alike_names(const std::vector<std::string>& names, const std::string& things) {
  std::unordered_map<std::string, std::vector<std::string>> known;
  std::string first;
  for (const std::string& name : names) {
    if (utf8_length(name) == name.size()) continue;
    std::string plain = without_form(name);
    std::vector<std::string>& alike = known[plain];
    alike.push_back(in_quotes(name));
    if (alike.size() == 2 && first.empty()) first = plain;
  }
  std::vector<std::string> alike = known[first];
  const size_t count = alike.size();
  if (count < 2) return "";
  const std::string last = alike.back();
  alike.pop_back();
  return text(join(alike, ", "), " and ", last, " are ", count == 2 ? "two" : text(count), " ", things);
}

std::string alike_name(std::string_view name, const std::vector<std::string>& names) {
  const auto found =
      std::ranges::find_if(names, [&](const std::string& one) { return without_form(one) == without_form(name); });
  return found == names.end() ? "" : *found;
}

}  // namespace neon
