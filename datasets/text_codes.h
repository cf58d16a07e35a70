// Whole numbers for texts, in the order in which they come first.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "datasets/csv_table.h"

namespace neon {

class TextCodes {
 public:
  // Counts a row; `at` is its place in the file.
  int32_t code_of(std::string_view text, size_t at) { return add(text, 1, at); }
  // Joins the texts of later rows. Returns their codes here.
  std::vector<int32_t> add(const ColumnTexts& others) {
    std::vector<int32_t> out;
    for (size_t i = 0; i < others.texts.size(); ++i)
      out.push_back(add(others.texts[i], others.rows[i], others.first[i]));
    return out;
  }
  const ColumnTexts& column() const { return column_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  int32_t add(std::string_view text, int64_t rows, size_t at) {
    auto found = codes_.find(text);
    if (found == codes_.end()) {
      found = codes_.emplace(std::string(text), int32_t(column_.texts.size())).first;
      column_.texts.emplace_back(text);
      column_.rows.push_back(0);
      column_.first.push_back(at);
    }
    column_.rows[size_t(found->second)] += rows;
    return found->second;
  }

  ColumnTexts column_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> codes_;
};

}  // namespace neon
