#include "transforms/boxes.h"

#include <algorithm>

#include "transforms/image_batch.h"

namespace neon {

Expr boxes_of_places(Graph& graph, const Shape& maps, const std::array<double, 2>& pitch,
                     const std::vector<std::array<double, 2>>& shapes, DType dtype) {
  const Shape places{maps[1], maps[2], int64_t(shapes.size()), 1};
  const auto middle = [&](int axis) {
    return (cast(Expr(graph, iota(graph, places, axis)), dtype) + 0.5) * pitch[size_t(axis)];
  };
  const Expr y = middle(0), x = middle(1);
  const auto half = [&](size_t which) {
    std::vector<Expr> numbers;
    for (const auto& shape : shapes) numbers.push_back(y.constant(shape[which] / 2));
    return numbers.size() == 1 ? numbers[0] : along_axis(graph, numbers, places, 2);
  };
  const Expr down = half(0), across = half(1);
  return reshape(beside({x - across, y - down, x + across, y + down}, 3), {1, places.elements(), 4});
}

BoxCorners corners_of(Expr x, int64_t first) {
  const int axis = x.shape().rank() - 1;
  return {part(x, axis, first), part(x, axis, first + 1), part(x, axis, first + 2), part(x, axis, first + 3)};
}

Expr area_of(const BoxCorners& box) { return maximum(box.x2 - box.x1, 0) * maximum(box.y2 - box.y1, 0); }

Expr overlap_of(const BoxCorners& a, const BoxCorners& b) {
  const Expr shared = area_of({maximum(a.x1, b.x1), maximum(a.y1, b.y1), minimum(a.x2, b.x2), minimum(a.y2, b.y2)});
  return shared / maximum(area_of(a) + area_of(b) - shared, 1e-30);
}

BoxCorners decoded(const BoxCorners& priors, Expr offsets, double middle, double size) {
  const BoxCorners by = corners_of(offsets);
  const Expr width = priors.x2 - priors.x1, height = priors.y2 - priors.y1;
  const Expr x = priors.x1 + width * 0.5 + by.x1 * width * middle,
             y = priors.y1 + height * 0.5 + by.y1 * height * middle;
  const Expr half_width = width * 0.5 * exp(by.x2 * size), half_height = height * 0.5 * exp(by.y2 * size);
  return {x - half_width, y - half_height, x + half_width, y + half_height};
}

Expr encoded(const BoxCorners& priors, const BoxCorners& boxes, double middle, double size) {
  constexpr double kLeastSize = 1e-6;  // of a row that is no box
  const Expr width = priors.x2 - priors.x1, height = priors.y2 - priors.y1;
  const Expr x = (boxes.x1 + boxes.x2 - priors.x1 - priors.x2) * 0.5,
             y = (boxes.y1 + boxes.y2 - priors.y1 - priors.y2) * 0.5;
  const auto growth = [&](Expr own, Expr prior) { return log(maximum(own, kLeastSize) / prior) * (1 / size); };
  return beside({x / width * (1 / middle), y / height * (1 / middle), growth(boxes.x2 - boxes.x1, width),
                 growth(boxes.y2 - boxes.y1, height)},
                x.shape().rank() - 1);
}

Expr rows_at(Expr x, Expr index) {
  Graph& graph = x.graph();
  const Shape &shape = x.shape(), &wanted = index.shape();
  const Expr number = cast(index, DType::f64), row = cast(Expr(graph, iota(graph, {wanted[0], 1}, 0)), DType::f64);
  const Expr place = cast(maximum(number, 0) + row * double(shape[1]), DType::i32);
  const Value flat = reshape(graph, x, {shape[0] * shape[1], shape[2]});
  const Value rows = gather(graph, flat, reshape(graph, place, {wanted[0] * wanted[1]}));
  const Expr all(graph, reshape(graph, rows, {wanted[0], wanted[1], shape[2]}));
  const Expr there = reshape(apply("greater_equal", number, number.constant(0)), {wanted[0], wanted[1], 1});
  return apply("select", cast(there, all.dtype()), all, all.constant(0));
}

Expr detections_of(const BoxOutputs& outputs, const DetectionParams& by) {
  Graph& graph = outputs.scores.graph();
  const Shape shape = outputs.scores.shape();
  const int64_t samples = shape[0], priors = shape[1], classes = shape[2] - 1;
  const Expr rows = reshape(outputs.scores, {samples * priors, classes + 1});
  const Expr shares(graph, reshape(graph, graph.add("softmax", {rows}), shape));
  const Expr scores(graph, transpose(graph, part(shares, 2, 0, classes), {0, 2, 1}));
  const BoxCorners found = decoded(corners_of(outputs.priors), outputs.offsets);
  const auto cut = [](Expr x) { return minimum(maximum(x, 0), 1); };
  const Expr boxes = beside({cut(found.x1), cut(found.y1), cut(found.x2), cut(found.y2)}, 2);

  const int64_t each = std::min({by.most, by.candidates, priors});
  const Expr chosen(graph, suppressed(graph, boxes, scores, {by.overlap, each, by.candidates, by.least, false}));
  const int64_t count = classes * each;
  const Expr number = reshape(chosen, {samples, count});
  // Scores (N,K,P) as a column of N rows of K P, where class k begins at k P.
  const Expr label_of = cast(Expr(graph, iota(graph, {samples, classes, each}, 1)), DType::f64);
  const Expr there = cast(chosen, DType::f64);
  const Expr place =
      cast(apply("select", apply("greater_equal", there, there.constant(0)), there + label_of * double(priors), there),
           DType::i32);
  const Expr of_class = rows_at(reshape(scores, {samples, classes * priors, 1}), reshape(place, {samples, count}));
  const Expr own_boxes = rows_at(boxes, number);
  // The highest of all classes: boxes of overlap 1 at most suppress none.
  const int64_t most = std::min(by.most, count);
  const Expr last(graph, suppressed(graph, own_boxes, reshape(of_class, {samples, 1, count}), {1, most, 0, 0, false}));
  const Expr index = reshape(last, {samples, most});
  const Expr labels = cast(reshape(label_of, {samples, count, 1}), boxes.dtype());
  const Expr all = beside({labels + 1.0, of_class, own_boxes}, 2);
  const Expr sorted = rows_at(all, index);
  return beside({part(sorted, 2, 0) - 1.0, part(sorted, 2, 1, 5)}, 2);
}

BoxMatch matched(const BoxCorners& priors, Expr boxes, double least) {
  Graph& graph = boxes.graph();
  const Shape shape = boxes.shape();
  const int64_t samples = shape[0], objects = shape[1], count = priors.x1.shape()[1];
  // An object along the last axis: (N,1,M).
  const auto turned = [&](int64_t number) { return reshape(part(boxes, 2, number), {samples, 1, objects}); };
  const Expr label = turned(0), is_object = apply("greater_equal", label, label.constant(0));
  const BoxCorners box{turned(1), turned(2), turned(3), turned(4)};
  const Expr overlap = apply("select", is_object, overlap_of(priors, box), label.constant(-1));
  const auto number = [&](int axis, int64_t size) {
    return cast(Expr(graph, iota(graph, Shape{1, 1, 1}.with(axis, size), axis)), label.dtype());
  };
  const auto place_of_largest = [&](Expr x, int axis) { return cast(reduce("argmax", x, {axis}), label.dtype()); };
  // 1 where the prior box is the one that overlaps the object most.
  const Expr best = apply("equal", place_of_largest(overlap, 1), number(1, count)) * is_object;
  const Expr chosen = best * (1.0 + maximum(overlap, 0));
  const Expr is_best = max(best, {2}), most = max(overlap, {2});
  const Expr object = apply("select", is_best, place_of_largest(chosen, 2), place_of_largest(overlap, 2));
  const Expr mine = apply("equal", object, number(2, objects));  // (N,P,M), 1 at the object
  const auto of_mine = [&](Expr numbers) { return sum(mine * numbers, {2}); };
  return {most,
          maximum(is_best, apply("greater_equal", most, most.constant(least))),
          of_mine(label),
          {of_mine(box.x1), of_mine(box.y1), of_mine(box.x2), of_mine(box.y2)}};
}

}  // namespace neon
