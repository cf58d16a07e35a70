// Whether two settings say the same, wherever they were written.
#pragma once
#include "neon/core/setting.h"

inline bool same_tree(const neon::Setting& a, const neon::Setting& b) {
  if (a.kind != b.kind || a.value != b.value || a.quoted != b.quoted || a.items.size() != b.items.size() ||
      a.entries.size() != b.entries.size())
    return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!same_tree(a.items[i], b.items[i])) return false;
  for (size_t i = 0; i < a.entries.size(); ++i)
    if (a.entries[i].key != b.entries[i].key || !same_tree(a.entries[i].value, b.entries[i].value)) return false;
  return true;
}
