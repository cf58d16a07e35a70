#include "neon/core/edit_distance.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "neon/core/text.h"

namespace neon {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before, last, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = int(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = int(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

bool is_slip_of(std::string_view given, std::string_view known) {
  constexpr size_t kLong = 8;
  return given.size() <= known.size() + 2 &&
         edit_distance(lower(given), lower(known)) <= (known.size() < kLong ? 1 : 2);
}

}  // namespace neon
