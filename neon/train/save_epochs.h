// Epochs after which a run saves: every N, or those listed.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "neon/core/params.h"

namespace neon {

struct SaveEpochs {
  std::vector<int64_t> numbers = {1};  // one number: every so many epochs; several: these, counted from 1
  bool contains(int64_t epoch) const {
    return numbers.size() == 1 ? epoch % numbers[0] == 0 : std::ranges::count(numbers, epoch) > 0;
  }
};

template <>
struct Value_of<SaveEpochs> {
  static std::string type() { return "integer, or several with commas between them"; }
  static void read(const Setting& s, SaveEpochs& out, const Constraint& constraint, Problems& problems) {
    Setting list = s;
    if (s.is_scalar() && s.value.find(',') != std::string::npos) {
      list = Setting::list({}, s.where);
      list.path = s.path;
      for (size_t at = 0; at <= s.value.size();) {
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
    return Setting::scalar(out);
  }
};

}  // namespace neon
