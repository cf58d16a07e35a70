// crop and resample: samples in parallel, rows as they lie in memory.
#include "backends/graph/images.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/kernel.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

// The arrays that both kernels read and write.
class ImageKernel : public Kernel {
 public:
  ImageKernel(const LoweredKernel& kernel, Context& context)
      : data_(context.slot(kernel.inputs[0])),
        places_(context.slot(kernel.inputs[1])),
        y_(context.slot(kernel.outputs[0])),
        images_(context.type(kernel.inputs[0]).shape[0]),
        rows_(context.type(kernel.inputs[0]).shape[1]),
        columns_(context.type(kernel.inputs[0]).shape[2]),
        channels_(context.type(kernel.inputs[0]).shape[3]),
        samples_(context.type(kernel.outputs[0]).shape[0]),
        height_(kernel.attributes.integer("height")),
        width_(kernel.attributes.integer("width")),
        numbers_(context.type(kernel.inputs[1]).shape[1]) {
    if (kernel.inputs.size() > 2) indices_ = context.slot(kernel.inputs[2]);
    const auto bytes = int64_t(context.type(kernel.outputs[0]).bytes());
    threads_ = team_of(std::min(samples_, bytes / kBytesOfOneThread), context.threads);
  }

  void run(const Run&) override {
    check_indices();
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
    for (int64_t n = 0; n < samples_; ++n) {
      const int64_t image = indices_ ? static_cast<const int32_t*>(*indices_)[n] : n;
      sample(image * rows_ * columns_ * channels_, n);
    }
  }

 protected:
  // Sample n from the image whose first element is `first`.
  virtual void sample(int64_t first, int64_t n) = 0;

  void **data_, **places_, **y_, **indices_ = nullptr;
  const int64_t images_, rows_, columns_, channels_, samples_, height_, width_;
  const int64_t numbers_;  // that a sample has in places_

 private:
  void check_indices() const {
    for (int64_t n = 0; indices_ && n < samples_; ++n)
      if (const int64_t index = static_cast<const int32_t*>(*indices_)[n]; index < 0 || index >= images_)
        fail(ErrorKind::data, "index ", index, " at place ", n, " is not in [0, ", images_, ")");
  }
  int threads_ = 1;
};

class Crop : public ImageKernel {
 public:
  Crop(const LoweredKernel& kernel, Context& context)
      : ImageKernel(kernel, context),
        pixel_(size_t(channels_) * size_of(context.type(kernel.inputs[0]).dtype)),
        border_(Border(kernel.attributes.integer("border"))) {}
  std::string implementation() const override { return "crop"; }

 protected:
  void sample(int64_t first, int64_t n) override {
    const auto* place = static_cast<const int32_t*>(*places_) + 3 * n;
    const std::byte* from = static_cast<const std::byte*>(*data_) + size_t(first / channels_) * pixel_;
    std::byte* to = static_cast<std::byte*>(*y_) + size_t(n * height_ * width_) * pixel_;
    for (int64_t i = 0; i < height_; ++i, to += size_t(width_) * pixel_) {
      const int64_t row = inside(int64_t(place[0]) + i, rows_, border_);
      if (row < 0) std::memset(to, 0, size_t(width_) * pixel_);
      else copy_row(from + size_t(row * columns_) * pixel_, place[1], place[2] != 0, to);
    }
  }

 private:
  // Pixels of a row from column `left` on; those inside it at once, unless they are swapped.
  void copy_row(const std::byte* from, int64_t left, bool flips, std::byte* to) const {
    const int64_t first = std::clamp<int64_t>(-left, 0, width_), last = std::clamp(columns_ - left, first, width_);
    for (int64_t j = 0; j < width_; ++j) {
      const int64_t place = flips ? width_ - 1 - j : j;
      if (!flips && j == first && last > first) {
        std::memcpy(to + size_t(j) * pixel_, from + size_t(left + j) * pixel_, size_t(last - first) * pixel_);
        j = last - 1;
        continue;
      }
      const int64_t column = inside(left + place, columns_, border_);
      if (column < 0) std::memset(to + size_t(j) * pixel_, 0, pixel_);
      else std::memcpy(to + size_t(j) * pixel_, from + size_t(column) * pixel_, pixel_);
    }
  }

  const size_t pixel_;  // bytes
  const Border border_;
};

// The place of output i of `count` along an axis of `size` pixels, for a box that begins at `begin` and is `length`
// long; `leaning` is what it leans by where the other axis is.
template <typename R>
R place_in_box(R begin, R length, R leaning, int64_t i, int64_t count, int64_t size) {
  return std::clamp(begin + (R(i) + R(0.5)) * length / R(count) + leaning - R(0.5), R(0), R(size - 1));
}

// From data of type T with boxes of type B, computing in R.
template <typename T, typename B, typename R>
class Resample : public ImageKernel {
 public:
  using ImageKernel::ImageKernel;
  std::string implementation() const override { return "resample"; }

 protected:
  using Out =
      std::conditional_t<std::is_same_v<T, uint8_t>, std::conditional_t<std::is_same_v<B, double>, double, float>, T>;

  void sample(int64_t first, int64_t n) override {
    const B* box = static_cast<const B*>(*places_) + numbers_ * n;
    const T* from = static_cast<const T*>(*data_) + first;
    Out* to = static_cast<Out*>(*y_) + n * height_ * width_ * channels_;
    if (numbers_ == kLeaningBox) return leaning(box, from, to);
    const std::vector<Tap> across = taps(box[1], box[3], width_, columns_);
    const std::vector<Tap> down = taps(box[0], box[2], height_, rows_);
    for (const Tap& row : down)
      for (const Tap& column : across) to = write(row, column, from, to);
  }

 private:
  // Two neighbours and the share of the second.
  struct Tap {
    int64_t first, second;
    R share;
    R mix(R a, R b) const { return (1 - share) * a + share * b; }
  };
  static Tap tap(R at, int64_t size) {
    const auto first = int64_t(at);
    return {first, std::min(first + 1, size - 1), at - R(first)};
  }

  // All channels of a pixel; the place behind it.
  Out* write(const Tap& row, const Tap& column, const T* from, Out* to) const {
    for (int64_t c = 0; c < channels_; ++c) {
      auto pixel = [&](int64_t i, int64_t j) { return load_as<R>(from[(i * columns_ + j) * channels_ + c]); };
      const R above = column.mix(pixel(row.first, column.first), pixel(row.first, column.second));
      const R below = column.mix(pixel(row.second, column.first), pixel(row.second, column.second));
      *to++ = store_as<Out>(row.mix(above, below));
    }
    return to;
  }

  void leaning(const B* box, const T* from, Out* to) const {
    const auto of_box = [&](int which) { return load_as<R>(box[which]); };
    for (int64_t i = 0; i < height_; ++i) {
      const R right = (R(i) + R(0.5)) * of_box(5) / R(height_);
      for (int64_t j = 0; j < width_; ++j) {
        const R down = (R(j) + R(0.5)) * of_box(4) / R(width_);
        to = write(tap(place_in_box(of_box(0), of_box(2), down, i, height_, rows_), rows_),
                   tap(place_in_box(of_box(1), of_box(3), right, j, width_, columns_), columns_), from, to);
      }
    }
  }

  static std::vector<Tap> taps(B begin, B length, int64_t count, int64_t size) {
    std::vector<Tap> out;
    for (int64_t i = 0; i < count; ++i)
      out.push_back(tap(place_in_box(load_as<R>(begin), load_as<R>(length), R(0), i, count, size), size));
    return out;
  }
};

// The pixel that each place lies in, copied whatever its type; boxes of type B.
template <typename B>
class Nearest : public ImageKernel {
 public:
  Nearest(const LoweredKernel& kernel, Context& context)
      : ImageKernel(kernel, context), pixel_(size_t(channels_) * size_of(context.type(kernel.inputs[0]).dtype)) {}
  std::string implementation() const override { return "resample"; }

 protected:
  void sample(int64_t first, int64_t n) override {
    const B* box = static_cast<const B*>(*places_) + numbers_ * n;
    const std::byte* from = static_cast<const std::byte*>(*data_) + size_t(first / channels_) * pixel_;
    std::byte* to = static_cast<std::byte*>(*y_) + size_t(n * height_ * width_) * pixel_;
    if (numbers_ == kLeaningBox) return leaning(box, from, to);
    const std::vector<int64_t> across = places(box[1], box[3], width_, columns_);
    for (const int64_t row : places(box[0], box[2], height_, rows_))
      for (const int64_t column : across) to = write(row, column, from, to);
  }

 private:
  using R = std::conditional_t<std::is_same_v<B, double>, double, float>;
  static int64_t place(R begin, R length, R leaning, int64_t i, int64_t count, int64_t size) {
    return int64_t(place_in_box(begin, length, leaning, i, count, size) + R(0.5));
  }
  static std::vector<int64_t> places(B begin, B length, int64_t count, int64_t size) {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < count; ++i)
      out.push_back(place(load_as<R>(begin), load_as<R>(length), R(0), i, count, size));
    return out;
  }

  std::byte* write(int64_t row, int64_t column, const std::byte* from, std::byte* to) const {
    std::memcpy(to, from + size_t(row * columns_ + column) * pixel_, pixel_);
    return to + pixel_;
  }

  void leaning(const B* box, const std::byte* from, std::byte* to) const {
    const auto of_box = [&](int which) { return load_as<R>(box[which]); };
    for (int64_t i = 0; i < height_; ++i) {
      const R right = (R(i) + R(0.5)) * of_box(5) / R(height_);
      for (int64_t j = 0; j < width_; ++j) {
        const R down = (R(j) + R(0.5)) * of_box(4) / R(width_);
        to = write(place(of_box(0), of_box(2), down, i, height_, rows_),
                   place(of_box(1), of_box(3), right, j, width_, columns_), from, to);
      }
    }
  }

  const size_t pixel_;  // bytes
};

std::unique_ptr<Kernel> make_crop(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).shape.elements() == 0) return nullptr;
  return std::make_unique<Crop>(kernel, context);
}

std::unique_ptr<Kernel> make_resample(const LoweredKernel& kernel, Context& context) {
  const DType data = context.type(kernel.inputs[0]).dtype, box = context.type(kernel.inputs[1]).dtype;
  if (context.type(kernel.outputs[0]).shape.elements() == 0) return nullptr;
  if (takes_nearest(kernel.attributes))
    return dispatch(box, [&]<typename B>() -> std::unique_ptr<Kernel> {
      if constexpr (std::is_integral_v<B>) return nullptr;
      else return std::make_unique<Nearest<B>>(kernel, context);
    });
  return dispatch(data, [&]<typename T>() -> std::unique_ptr<Kernel> {
    return dispatch(box, [&]<typename B>() -> std::unique_ptr<Kernel> {
      constexpr bool wide = std::is_same_v<T, double> || (std::is_same_v<T, uint8_t> && std::is_same_v<B, double>);
      using R = std::conditional_t<wide, double, float>;
      if constexpr (!std::is_same_v<T, uint8_t> && std::is_integral_v<T>) return nullptr;
      else if constexpr (std::is_integral_v<B>) return nullptr;
      else return std::make_unique<Resample<T, B, R>>(kernel, context);
    });
  });
}

const KernelRegistration images_kernels[] = {{ops::crop, 0, make_crop}, {ops::resample, 0, make_resample}};

}  // namespace

}  // namespace neon::cpu
