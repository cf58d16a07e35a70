// Whole numbers for texts, in the order in which they come first.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
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
  struct Slot {
    size_t hash = 0;
    int32_t code = -1;  // -1: free
  };

  int32_t add(std::string_view text, int64_t rows, size_t at) {
    const size_t hash = std::hash<std::string_view>()(text);
    Slot* slot = &find(hash, text);
    if (slot->code < 0) {
      if (2 * column_.texts.size() >= slots_.size()) grow(), slot = &find(hash, text);
      *slot = {hash, int32_t(column_.texts.size())};
      column_.texts.emplace_back(text);
      column_.rows.push_back(0);
      column_.first.push_back(at);
    }
    column_.rows[size_t(slot->code)] += rows;
    return slot->code;
  }
  // The slot of a text, or the free one for it.
  Slot& find(size_t hash, std::string_view text) {
    for (size_t i = hash;; ++i) {
      Slot& slot = slots_[i & (slots_.size() - 1)];
      if (slot.code < 0 || (slot.hash == hash && column_.texts[size_t(slot.code)] == text)) return slot;
    }
  }
  void grow() {
    std::vector<Slot> old(4 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.code >= 0) find(slot.hash, column_.texts[size_t(slot.code)]) = slot;
  }

  ColumnTexts column_;
  std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of 2, at most half of them taken
};

}  // namespace neon
