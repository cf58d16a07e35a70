// Class labels that are written as text: one rule for CSV and ImageList.
//
//  - A missing mark is not a label.
//  - Where all labels of the training samples are numbers, they are compared as numbers: 1, 1.0 and +1 are one class,
//  "1".
//  - Otherwise all are texts, compared byte by byte. Two spellings of one number are then refused.
//  - Whole numbers mean classes by themselves only where they are 0 to k - 1, each at least once; other numbers are
//    asked about (ask_about_labels), also by the readers of arrays.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "datasets/table_cell.h"

namespace neon {

// Throws an error about label `index`: where it stands, and the message.
using FailAtLabel = std::function<void(size_t index, const std::string& message)>;

// The kind of all labels together.
struct LabelNumbers {
  bool all_numbers = true, all_whole = true;
  double smallest = 0, largest = 0;  // of the numbers
};
// Refuses missing labels.
LabelNumbers label_numbers(std::span<const std::string_view> labels, const MissingMarks& missing,
                           const FailAtLabel& fail_at);

// Refuses texts most of which are, or seem to be, numbers or dates: a mistake in a cell would make a class of each.
void refuse_texts_meant_otherwise(std::span<const std::string_view> labels, const FailAtLabel& fail_at);

// The shortest spelling of a number: "1" for "1.0", "+1" and "01"; any other text as it is.
std::string label_name(std::string_view written);

// The classes among the labels of training samples.
class LabelClasses {
 public:
  // Refuses texts that are not UTF-8, and two spellings of one number among texts.
  LabelClasses(std::span<const std::string_view> labels, bool all_numbers, const FailAtLabel& fail_at);

  // Names in order: numbers by value, texts byte by byte.
  const std::vector<std::string>& names() const { return names_; }
  // The class of a label, of any sample; -1: no training sample has it.
  int64_t find(std::string_view label) const;

 private:
  void sort_names();

  // Strings that are found by views of others.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  bool numbers_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, int64_t> by_name_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> by_spelling_;  // of the training labels
};

// "" where whole numbers `smallest` to `largest`, `different` of them, are 0 to k - 1; otherwise what they are:
// "3 different whole numbers from 3 to 7, not 0 to 2".
std::string ask_about_labels(double smallest, double largest, size_t different);

}  // namespace neon
