#include "neon/core/sample_size.h"

namespace neon {

void Value_of<SampleSize>::read(const Setting& from, SampleSize& out, const Constraint& constraint,
                                Problems& problems) {
  std::vector<int64_t> sizes;
  const size_t before = problems.lines().size();
  Value_of<std::vector<int64_t>>::read(from, sizes, constraint, problems);
  if (problems.lines().size() > before) return;
  if (sizes.size() == 1) out = SampleSize(sizes[0]);
  else if (sizes.size() == 2 && sizes[0] > 0 && sizes[1] > 0) out = SampleSize(sizes[0], sizes[1]);
  else problems.add(from, text("expected a number of pixels, or [height, width], found ", from.to_string()));
}

Setting Value_of<SampleSize>::write(const SampleSize& value) {
  if (value.is_square()) return Value_of<int64_t>::write(value.height);
  return Value_of<std::vector<int64_t>>::write({value.height, value.width});
}

}  // namespace neon
