// Plain kernels of region pooling.
#include <cmath>

#include "backends/cpu/plain.h"
#include "backends/graph/ops.h"
#include "backends/graph/regions.h"

namespace neon::cpu {

namespace {

void region_max(PlainArguments& a) {
  const Tensor &x = a.inputs[0], &regions = a.inputs[1];
  Tensor &y = a.outputs[0], &position = a.outputs[1];
  const int64_t rows = x.shape()[1], columns = x.shape()[2], channels = x.shape()[3], count = regions.shape()[1];
  const int64_t height = y.shape()[2], width = y.shape()[3];
  for (int64_t k = 0; k < y.elements(); ++k) {
    const int64_t c = k % channels, q = k / channels % width, p = k / channels / width % height,
                  r = k / channels / width / height, n = r / count;
    double corners[4], best;
    for (int64_t i = 0; i < 4; ++i) corners[i] = regions.at(4 * r + i);
    const Region region = region_of(corners, a.node.attributes.real("scale"), best);
    const Bin down = bin_of(region.rows, p, height, rows), across = bin_of(region.columns, q, width, columns);
    int64_t where = -1;
    for (int64_t i = down.begin; i < down.end; ++i)
      for (int64_t j = across.begin; j < across.end; ++j) {
        const double value = x.at(((n * rows + i) * columns + j) * channels + c);
        if (where >= 0 && (value <= best || std::isnan(best))) continue;
        best = value, where = i * columns + j;
      }
    y.set(k, best);
    position.set(k, double(where));
  }
}

void region_max_gradient(PlainArguments& a) {
  const Tensor &y = a.inputs[0], &position = a.inputs[1];
  const Shape& shape = a.outputs[0].shape();
  const int64_t channels = shape[3], outputs = y.elements() / std::max<int64_t>(shape[0], 1);
  std::vector<double> x(size_t(a.outputs[0].elements()), 0);
  for (int64_t k = 0; k < y.elements(); ++k)
    if (position.at(k) >= 0)
      x[size_t((k / outputs * shape[1] * shape[2] + int64_t(position.at(k))) * channels + k % channels)] += y.at(k);
  for (size_t i = 0; i < x.size(); ++i) a.outputs[0].set(int64_t(i), x[i]);
}

const PlainRegistration plain_regions_functions[] = {{ops::region_max, region_max},
                                                     {"region_max_gradient", region_max_gradient}};

}  // namespace

}  // namespace neon::cpu
