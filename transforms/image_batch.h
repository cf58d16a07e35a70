// The images of a batch while augmentations work on them. Crops and flips, or a box and a flip, are put off and done as
// one op, which reads the images of the data set. Augmentations draw by seed, epoch and the sample's
// index in its set: whatever the batch and how it was read, an image of an epoch is changed in the same way.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "backends/graph/images.h"
#include "transforms/boxes.h"
#include "transforms/mixture.h"

namespace neon {

// The net sees stored pixels as raw * scale + shift.
struct PixelRange {
  double scale = 1, shift = 0;
};

class ImageBatch {
 public:
  // Sample i is image indices[i] of `data` (n,H,W,C), or where `indices` is invalid, image i. Numbers are in
  // `arithmetic`: f32 or f64.
  ImageBatch(Graph& graph, Value data, Value indices, PixelRange range, DType arithmetic, bool training, uint64_t seed);

  Graph& graph;
  const bool training;  // otherwise nothing is drawn, and the middle is taken
  const bool of_bytes;  // the samples are bytes, whose black and white are 0 and 255
  // The net's values of a black pixel, and of a white one, 255 in bytes and 1 in other types.
  const double black, white;
  // Images (n,H,W,c) of as many rows and columns as the data, such as targets: sample i is indices[i] of them, or where
  // `indices` is invalid, number i. Augmentations that move pixels move theirs alike; colours leave them as they are.
  // `nearest` makes no new numbers where pixels are scaled, as labels need it. To be called before anything moves.
  void accompany(Value images, Value indices, Sampling sampling);
  // (N,H,W,c) of the samples, moved as values() are.
  Value companion();
  // Whether any augmentation moves pixels.
  bool moves() const { return moves_; }
  // Rows of values(): the samples of the batch, or views() times as many.
  int64_t samples() const { return samples_; }
  // How often a sample is there, in an evaluation: row v N + i of values() is view v of sample i.
  int64_t views() const { return views_; }
  int64_t channels() const { return graph.shape(data_)[3]; }
  ImageArea area() const { return area_; }
  // Means of the channels, where they will be subtracted; otherwise empty.
  std::vector<double> means;
  // Boxes (N,M,6) of the objects in the samples (boxes.h), to be set before anything moves; otherwise without a value.
  // values() leaves them as they are in the images that it gives: cut at the border, and without those whose middle is
  // outside.
  Expr boxes;
  // The augmentation that made numbers of the colours which are no colours; empty: they are colours.
  std::string recoded_by;

  // A new draw in [0, 1): numbers (N,columns), 16 at the most, or one for each sample (N,1,1,1) to go with values().
  // The graph then has an input `samples` (N,2) i32: each sample's index, and the epoch.
  Expr draw(int64_t columns = 1) { return drawn(columns, {samples_, kNumbers}); }
  Expr draw_for_values() { return drawn(1, {samples_, 1, 1, kNumbers}); }
  // The same numbers for each sample, (N,K).
  Expr columns(const std::vector<double>& numbers);

  // place (N,3): whole numbers top and left, from 0 on or beyond the border, and 0. Where images are swapped as well,
  // it is a place in the image as it was before: one drawn evenly is as good.
  void crop(Expr place, ImageArea area, Border border);
  // Right and left are swapped in that share of the images.
  void flip(double probability);
  // For an evaluation: cuts every view at each of these places in turn, those of the first place first. A place
  // is top, left and 1 where right and left are swapped.
  void take_views(const std::vector<std::array<double, 3>>& places, ImageArea area, Border border);
  // Boxes of top, left, height and width (N,1), in pixels, none larger than `largest`. Boxes of more than twice as many
  // rows or columns as the result are averaged.
  void resample(Expr top, Expr left, Expr height, Expr width, std::array<double, 2> largest, ImageArea area);
  // The pixel at place p (row, column) from the middle becomes what lies at `matrix` p + `shift`, in pixels, its rows
  // first; numbers (N,1). Beyond the border lie the outermost pixels.
  void warp(const std::array<Expr, 4>& matrix, const std::array<Expr, 2>& shift);
  // The middle, with the border around it where it is larger.
  void crop_middle(ImageArea area, Border border);

  // (N,H,W,C) in the range that the net sees.
  Expr values();
  void set_values(Expr x);
  // A number for each channel, in the shape of values().
  Expr by_channel(const std::vector<double>& numbers);
  // The companion takes these values (N,H,W,c); there must be one.
  void set_companion(Value x) { companion_.data = x; }
  Sampling companion_sampling() const { return companion_.sampling; }

  // Where samples are mixed: for targets that are no companion.
  Mixture mixture;

 private:
  static constexpr int64_t kNumbers = 16;  // that are drawn for a sample at once
  // The next so many of them, along the last axis of all in that shape.
  Expr drawn(int64_t columns, const Shape& all);
  // Images of which sample i is one: number indices[i] of `data`, or i.
  struct Images {
    Value data, indices;
    Sampling sampling = Sampling::linear;
  };
  // Does what was put off; the samples are then data_ itself, and the companion's too.
  void cut();
  Value moved(const Images& images, Value box) const;

  Value data_, indices_;
  Images companion_;
  PixelRange range_;
  DType arithmetic_;
  uint64_t seed_;
  int64_t samples_, views_ = 1;
  ImageArea area_, area_before_;  // now, and of data_
  bool ranged_ = false;           // data_ holds what the net sees
  bool moves_ = false;
  bool crops_ = false, flips_ = false, resamples_ = false;
  Expr place_;
  std::vector<Expr> box_;          // top, left, height, width; and of one that leans by how much, down and right
  Expr shrinks_;                   // 1 for boxes that are averaged (N,1), of so many places for a pixel:
  std::array<int64_t, 2> places_;  // down and across
  Border border_ = Border::zero;
  Value keys_, numbers_;  // what is drawn: (N,2), (N,kNumbers)
  int draws_ = 0;
  int64_t taken_ = kNumbers;  // of numbers_
};

// numbers[k] at place k of an axis of an array of that shape. The whole shape, so that it is computed with what takes
// it.
Expr along_axis(Graph& graph, const std::vector<Expr>& numbers, const Shape& shape, int axis);

}  // namespace neon
