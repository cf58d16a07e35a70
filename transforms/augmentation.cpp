#include "transforms/augmentation.h"

namespace neon {

Expr put_into_box(const PixelBox& box, Expr inside, Expr x) {
  const auto within = [&](int axis, Expr first, Expr length) {
    const Expr place(x.graph(), iota(x.graph(), x.shape(), axis));
    return apply("greater_equal", place, first) * apply("less", place, first + length);
  };
  const Expr covered = within(1, box.top, box.height) * within(2, box.left, box.width);
  return cast(apply("select", cast(covered, x.dtype()), inside, x), x.dtype());
}

Expr grey(ImageBatch& batch, Expr x) {
  static const std::vector<double> kShares = {0.299, 0.587, 0.114};  // of R, G and B (ITU-R BT.601)
  return batch.channels() == 3 ? sum(x * batch.by_channel(kShares), {3}) : x;
}

void check_colours(const ImageBatch& batch, const std::string& name) {
  const std::string& by = batch.recoded_by;
  if (!by.empty())
    fail(ErrorKind::config, name, ": changes colours, and ", by, " makes other numbers of them; write ", name,
         " before ", by);
}

void check_range(const char* name, const std::vector<double>& range) {
  if (range.size() != 2 || range[0] > range[1])
    fail(ErrorKind::config, name, ": expected the least and the largest, as in [0.5, 1]");
}

}  // namespace neon
