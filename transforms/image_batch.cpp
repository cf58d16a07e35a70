#include "transforms/image_batch.h"

#include <algorithm>
#include <cmath>

namespace neon {

Expr along_axis(Graph& graph, const std::vector<Expr>& numbers, const Shape& shape, int axis) {
  Expr out = numbers.back();
  const Expr place = cast(Expr(graph, iota(graph, shape, axis)), compute_type(out.dtype()));
  for (size_t k = numbers.size() - 1; k-- > 0;)
    out = apply("select", apply("equal", place, place.constant(double(k))), numbers[k], out);
  return out;
}

namespace {

// x (N,H,W,C) -> (N,H/down,W/across,C)
Value mean_of_blocks(Graph& graph, Value x, int64_t down, int64_t across) {
  const std::vector<int64_t> block = {down, across, 1};
  return graph.add(
      "pool_avg", {x},
      {{"window", block}, {"strides", block}, {"padding", std::vector<int64_t>(6, 0)}, {"count_padding", int64_t(0)}});
}

// Boxes (N,M,6) of images of `before`, in the images of which pixel (row, column), as shares of the whole, lies at top
// + row rows + column leans_down, and left + column columns + row leans_right, in pixels of those before. `place` has
// these six numbers (N,1), or the first four. A box becomes the one about its four corners.
Expr moved_boxes(Expr boxes, std::vector<Expr> place, ImageArea before) {
  Graph& graph = boxes.graph();
  const int64_t samples = boxes.shape()[0];
  const Expr none(graph, graph.constant(0));
  place.resize(6, none);
  for (Expr& column : place) column = reshape(Expr(graph, broadcast_to(graph, column, {samples, 1})), {samples, 1, 1});
  const Expr &top = place[0], &left = place[1], &rows = place[2], &columns = place[3], &leans_down = place[4],
             &leans_right = place[5];
  const Expr whole = rows * columns - leans_down * leans_right;
  const BoxCorners own = corners_of(boxes, 1);
  std::vector<Expr> down, across;
  for (const Expr& y : {own.y1, own.y2})
    for (const Expr& x : {own.x1, own.x2}) {
      const Expr v = y * double(before.height) - top, u = x * double(before.width) - left;
      down.push_back((v * columns - u * leans_down) / whole), across.push_back((u * rows - v * leans_right) / whole);
    }
  const auto least = [](const std::vector<Expr>& x) { return minimum(minimum(x[0], x[1]), minimum(x[2], x[3])); };
  const auto most = [](const std::vector<Expr>& x) { return maximum(maximum(x[0], x[1]), maximum(x[2], x[3])); };
  const auto inside = [](Expr low, Expr high) {
    const Expr middle = (low + high) * 0.5;
    return apply("greater_equal", middle, middle.constant(0)) * apply("less", middle, middle.constant(1));
  };
  const auto kept = [](Expr x) { return minimum(maximum(x, 0), 1); };
  const BoxCorners now{least(across), least(down), most(across), most(down)};
  const Expr label = part(boxes, 2, 0), stays = inside(now.x1, now.x2) * inside(now.y1, now.y2);
  return beside({apply("select", stays, label, label.constant(-1)), kept(now.x1), kept(now.y1), kept(now.x2),
                 kept(now.y2), part(boxes, 2, 5)},
                2);
}

}  // namespace

ImageBatch::ImageBatch(Graph& graph, Value data, Value indices, PixelRange range, DType arithmetic, bool training,
                       uint64_t seed)
    : graph(graph),
      training(training),
      of_bytes(graph.dtype(data) == DType::u8),
      black(range.shift),
      white(range.shift + range.scale * (of_bytes ? 255 : 1)),
      data_(data),
      indices_(indices),
      range_(range),
      arithmetic_(arithmetic),
      seed_(seed),
      samples_(graph.shape(indices ? indices : data)[0]),
      area_{graph.shape(data)[1], graph.shape(data)[2]},
      area_before_(area_) {}

// Number c of sample i in epoch e is element i · kNumbers + c of stream augment/0 at step e, of augment/1 when those
// are used up, and so on.
Expr ImageBatch::drawn(int64_t columns, const Shape& all) {
  NEON_ASSERT(training && columns <= kNumbers);
  if (!keys_) keys_ = graph.input("samples", DType::i32, {samples_, 2});
  if (taken_ + columns > kNumbers) {
    numbers_ = keyed_uniform(graph, keys_, kNumbers, seed_, text("augment/", draws_++));
    taken_ = 0;
  }
  const Attributes which = {{"axis", int64_t(all.rank() - 1)}, {"first", taken_}, {"count", columns}};
  taken_ += columns;
  return {graph, graph.add("slice", {reshape(graph, numbers_, all)}, which)};
}

Expr ImageBatch::columns(const std::vector<double>& numbers) {
  std::vector<Expr> all;
  for (double value : numbers) all.push_back({graph, graph.constant(value)});
  return along_axis(graph, all, {samples_, int64_t(numbers.size())}, 1);
}

void ImageBatch::accompany(Value images, Value indices, Sampling sampling) {
  NEON_ASSERT(!moves_ && graph.shape(images)[1] == area_.height && graph.shape(images)[2] == area_.width);
  companion_ = {images, indices, sampling};
}

Value ImageBatch::companion() {
  cut();
  return companion_.data;
}

// `box` (N,4) or (N,6) of what is resampled.
Value ImageBatch::moved(const Images& images, Value box) const {
  const auto& [data, indices, sampling] = images;
  if (crops_ || flips_) return neon::crop(graph, data, cast(place_, DType::i32), indices, area_, border_);
  if (!resamples_) return indices ? gather(graph, data, indices) : data;
  const Value plain = neon::resample(graph, data, box, indices, area_, sampling);
  const auto [down, across] = places_;
  if (down * across == 1 || sampling == Sampling::nearest) return plain;
  const Value fine = neon::resample(graph, data, box, indices, {area_.height * down, area_.width * across});
  const Expr mean(graph, mean_of_blocks(graph, fine, down, across));
  const Value each = broadcast_to(graph, shrinks_, {samples_, 1});
  const Expr shrinks(graph, reshape(graph, each, {samples_, 1, 1, 1}));
  return apply("select", cast(shrinks, mean.dtype()), mean, Expr(graph, plain));
}

void ImageBatch::cut() {
  Value box;
  if (resamples_) {
    const Shape shape{samples_, int64_t(box_.size())};
    box = broadcast_to(graph, along_axis(graph, box_, shape, 1), shape);
  }
  if (boxes.value() && (crops_ || flips_)) {
    const Expr swapped = part(place_, 1, 2), height(graph, graph.constant(double(area_.height)));
    const auto width = double(area_.width);
    boxes = moved_boxes(
        boxes, {part(place_, 1, 0), part(place_, 1, 1) + swapped * width, height, width * (1.0 - 2.0 * swapped)},
        area_before_);
  } else if (boxes.value() && resamples_) {
    boxes = moved_boxes(boxes, box_, area_before_);
  }
  data_ = moved({data_, indices_}, box);
  area_before_ = area_;
  indices_ = {};
  if (companion_.data) companion_ = {moved(companion_, box), {}, companion_.sampling};
  crops_ = flips_ = resamples_ = false;
  border_ = Border::zero;
}

void ImageBatch::crop(Expr place, ImageArea area, Border border) {
  if (crops_ || resamples_) cut();  // beyond its border is not what lies there in the data
  place_ = flips_ ? place_ + place : place;
  crops_ = moves_ = true;
  area_ = area;
  border_ = border;
}

void ImageBatch::flip(double probability) {
  moves_ = true;
  if (resamples_) {
    // A box that begins at its right end and is as wide to the left.
    const Expr swapped = apply("less", draw(), Expr(graph, graph.constant(probability)));
    for (const size_t k : box_.size() == 4 ? std::vector<size_t>{1} : std::vector<size_t>{1, 0}) {
      Expr& across = box_[k == 1 ? 3 : 4];  // what a step to the right changes of the column, and of the row
      box_[k] = box_[k] + swapped * across;
      across = across * (1.0 - 2.0 * swapped);
    }
    return;
  }
  if (flips_) cut();
  const Expr place = apply("less", draw(3), columns({0, 0, probability}));
  place_ = crops_ ? place_ + place : place;
  flips_ = true;
}

void ImageBatch::take_views(const std::vector<std::array<double, 3>>& places, ImageArea area, Border border) {
  NEON_ASSERT(!training);
  if (companion_.data)
    fail(ErrorKind::config,
         "`average` is for outputs that all views of an image share, such as classes; here they are "
         "images, leave it out");
  if (boxes.value())
    fail(ErrorKind::config,
         "`average` is for outputs that all views of an image share, such as classes; here they are "
         "boxes of objects, leave it out");
  cut();
  moves_ = true;
  std::vector<Value> views;
  for (const auto& [top, left, swapped] : places) {
    const Expr place = cast(columns({top, left, swapped}), DType::i32);
    views.push_back(neon::crop(graph, data_, place, {}, area, border));
  }
  data_ = graph.add("concat", views, {{"axis", int64_t(0)}});
  samples_ *= int64_t(places.size());
  views_ *= int64_t(places.size());
  area_ = area;
}

void ImageBatch::resample(Expr top, Expr left, Expr height, Expr width, std::array<double, 2> largest, ImageArea area) {
  if (crops_ || flips_ || resamples_) cut();
  box_ = {top, left, height, width};
  shrinks_ = maximum(apply("greater", height, height.constant(2 * double(area.height))),
                     apply("greater", width, width.constant(2 * double(area.width))));
  // A place is a mean of the four pixels around it, and so of two in a row.
  const auto places = [](double pixels, int64_t of) { return int64_t(std::ceil(pixels / (2 * double(of)) - 1e-9)); };
  places_ = {std::max<int64_t>(places(largest[0], area.height), 1),
             std::max<int64_t>(places(largest[1], area.width), 1)};
  resamples_ = moves_ = true;
  area_ = area;
}

void ImageBatch::warp(const std::array<Expr, 4>& matrix, const std::array<Expr, 2>& shift) {
  if (crops_ || flips_ || resamples_) cut();
  const auto height = double(area_.height), width = double(area_.width);
  const auto& [rows, leans_down, leans_right, columns] = matrix;
  box_ = {height / 2 + shift[0] - rows * (height / 2) - leans_down * (width / 2),
          width / 2 + shift[1] - leans_right * (height / 2) - columns * (width / 2),
          rows * height,
          columns * width,
          leans_down * width,
          leans_right * height};
  shrinks_ = {};
  places_ = {1, 1};
  resamples_ = moves_ = true;
}

void ImageBatch::crop_middle(ImageArea area, Border border) {
  if (area == area_) return;
  const bool is_inside = area.height <= area_.height && area.width <= area_.width;  // then no border is seen
  crop(columns({double((area_.height - area.height) / 2), double((area_.width - area.width) / 2), 0}), area,
       is_inside ? Border::zero : border);
}

Expr ImageBatch::values() {
  cut();
  Expr x = cast(Expr(graph, data_), arithmetic_);
  if (!ranged_ && range_.scale != 1) x = x * range_.scale;
  if (!ranged_ && range_.shift != 0) x = x + range_.shift;
  return x;
}

void ImageBatch::set_values(Expr x) {
  NEON_ASSERT(!crops_ && !flips_ && !resamples_ && !indices_);
  data_ = x;
  ranged_ = true;
}

Expr ImageBatch::by_channel(const std::vector<double>& numbers) {
  std::vector<Expr> all;
  for (double value : numbers) all.push_back({graph, graph.constant(value, arithmetic_)});
  return all.size() == 1 ? all.front() : along_axis(graph, all, graph.shape(data_), 3);
}

}  // namespace neon
