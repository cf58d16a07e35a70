#include "datasets/labels.h"

#include <algorithm>
#include <cmath>

#include "datasets/meant_cells.h"
#include "datasets/meant_dates.h"
#include "neon/core/error.h"

namespace neon {

namespace {

// Whole numbers of more digits than a double keeps are compared by their digits.
std::string whole_number_name(std::string_view digits, bool negative) {
  const size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  digits.remove_prefix(first);
  return (negative && digits != "0" ? "-" : "") + std::string(digits);
}

// The first label that is there, or "".
std::string_view first_given(std::span<const std::string_view> labels, const MissingMarks& missing) {
  for (const std::string_view label : labels)
    if (!label.empty() && !missing.contains(label)) return label;
  return "";
}

bool reads_as_number(std::string_view label) {
  double value = 0;
  return parse_number(label, value);
}

}  // namespace

LabelNumbers label_numbers(std::span<const std::string_view> labels, const MissingMarks& missing,
                           const FailAtLabel& fail_at) {
  LabelNumbers out;
  bool first = true;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].empty()) fail_at(i, "is empty; fill in or remove rows with missing values");
    if (missing.contains(labels[i]))
      fail_at(i, text(in_quotes(labels[i]), " marks a missing value; fill in or remove such rows",
                      reads_as_number(first_given(labels, missing)) ? "" : ", or say missing: [] where it is a class"));
    double value = 0;
    if (!parse_number(labels[i], value)) {
      out.all_numbers = out.all_whole = false;
      continue;
    }
    out.all_whole = out.all_whole && std::isfinite(value) && value == std::floor(value);
    out.smallest = first ? value : std::min(out.smallest, value);
    out.largest = first ? value : std::max(out.largest, value);
    first = false;
  }
  return out;
}

void refuse_texts_meant_otherwise(std::span<const std::string_view> labels, const FailAtLabel& fail_at) {
  size_t numbers = 0, dates = 0, first_seeming = labels.size(), first_text = labels.size();
  double value = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool is_number = parse_number(labels[i], value), seeming = !is_number && seems_number(labels[i]);
    numbers += is_number || seeming;
    dates += !is_number && (seems_date(labels[i]) || seems_other_date(labels[i]));
    if (seeming) first_seeming = std::min(first_seeming, i);
    else if (!is_number) first_text = std::min(first_text, i);
  }
  constexpr const char* kAdvice = ", or say task: classes";
  if (2 * numbers > labels.size()) {
    if (first_seeming < labels.size()) fail_at(first_seeming, advice_for_number(labels[first_seeming]) + kAdvice);
    if (first_text < labels.size())
      fail_at(first_text, text(in_quotes(labels[first_text]),
                               " is a text, and most others are numbers; mend the cell, or remove the row", kAdvice));
  }
  if (2 * dates > labels.size())
    fail_at(first_text, text(in_quotes(labels[first_text]),
                             dates == labels.size() ? " is a date; predict a number, such as days"
                                                    : " is a date, or others are; predict a number, such as days",
                             kAdvice));
}

std::string label_name(std::string_view written) {
  double value = 0;
  if (!parse_number(written, value)) return std::string(written);
  const bool negative = written.starts_with('-');
  std::string_view digits = written.substr(negative || written.starts_with('+') ? 1 : 0);
  const size_t point = digits.find('.');
  if (point != digits.npos && digits.find_first_not_of('0', point + 1) == digits.npos) digits = digits.substr(0, point);
  if (!digits.empty() && digits.find_first_not_of("0123456789") == digits.npos)
    return whole_number_name(digits, negative);
  constexpr double kAllExact = 9007199254740992;  // 2^53
  return value == std::floor(value) && std::abs(value) < kAllExact ? std::to_string(int64_t(value)) : number(value);
}

LabelClasses::LabelClasses(std::span<const std::string_view> labels, bool all_numbers, const FailAtLabel& fail_at)
    : numbers_(all_numbers) {
  std::unordered_map<std::string, std::string_view> spellings;  // of numbers among texts
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string_view label = labels[i];
    if (by_spelling_.contains(label)) continue;
    by_spelling_.emplace(label, 0);
    if (!is_utf8(label)) fail_at(i, text(in_quotes(label), " is not UTF-8; save the file as UTF-8"));
    const std::string name = label_name(label);
    by_name_.emplace(numbers_ ? name : std::string(label), 0);
    double value = 0;
    if (numbers_ || !parse_number(label, value)) continue;
    if (const auto [other, added] = spellings.emplace(name, label); !added)
      fail_at(i, text(in_quotes(label), " is the same number as ", in_quotes(other->second),
                      ", but other classes are texts; write both alike"));
  }
  sort_names();
}

void LabelClasses::sort_names() {
  for (const auto& [name, index] : by_name_) names_.push_back(name);
  std::ranges::sort(names_, [&](const std::string& a, const std::string& b) {
    double x = 0, y = 0;
    if (numbers_ && parse_number(a, x) && parse_number(b, y) && x != y) return x < y;
    return a < b;
  });
  for (size_t k = 0; k < names_.size(); ++k) by_name_[names_[k]] = int64_t(k);
  for (auto& [spelling, index] : by_spelling_) index = by_name_.at(numbers_ ? label_name(spelling) : spelling);
}

int64_t LabelClasses::find(std::string_view label) const {
  if (const auto found = by_spelling_.find(label); found != by_spelling_.end()) return found->second;
  const auto found = by_name_.find(numbers_ ? label_name(label) : std::string(label));
  return found == by_name_.end() ? -1 : found->second;
}

std::string ask_about_labels(double smallest, double largest, size_t different) {
  if (smallest == 0 && largest + 1 == double(different)) return "";
  if (different == 1) return text("all the whole number ", smallest, ", not 0");
  return text(different, " different whole numbers from ", smallest, " to ", largest, ", not 0 to ", different - 1);
}

}  // namespace neon
