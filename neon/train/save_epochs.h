// Epochs after which a run saves: every N, or those listed.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "neon/core/params.h"

namespace neon {

struct SaveEpochs {
  std::vector<int64_t> numbers = {1};  // counted from 1
  bool listed = false;                 // after these epochs alone; otherwise every so many, of the one number
  bool contains(int64_t epoch) const {
    return listed ? std::ranges::count(numbers, epoch) > 0 : epoch % numbers[0] == 0;
  }
};

template <>
struct Value_of<SaveEpochs> {
  static std::string type() { return "integer, or several with commas between them"; }
  static void read(const Setting& s, SaveEpochs& out, const Constraint& constraint, Problems& problems) {
    Setting list = s;
    out.listed = s.is_list() || (s.is_scalar() && s.value.find(',') != std::string::npos);
    if (s.is_scalar() && s.value.find(',') != std::string::npos) {
      list = Setting::list({}, s.where);
      list.path = s.path;
      // "3," is a list, too, of one epoch.
      for (size_t at = 0; at < s.value.size() || (at == s.value.size() && list.items.size() > 1);) {
        const size_t end = std::min(s.value.find(',', at), s.value.size());
        list.items.push_back(Setting::scalar(s.value.substr(at, end - at), s.where));
        list.items.back().path = s.path;
        at = end + 1;
      }
    }
    Value_of<std::vector<int64_t>>::read(list, out.numbers, constraint, problems);
    if (out.numbers.empty()) problems.add(s, "expected epochs, found none");
  }
  static Setting write(const SaveEpochs& value) {
    std::string out;
    for (const int64_t number : value.numbers) out += text(out.empty() ? "" : ",", number);
    if (value.listed && value.numbers.size() == 1) out += ',';
    return Setting::scalar(out);
  }
};

}  // namespace neon
