// Files of images with classes, as data: arrays that all threads decode, or readers of them.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/image.h"
#include "datasets/image_store.h"
#include "datasets/streaming.h"

namespace neon {

// A size that a spec names, or `auto`: neon's choice for the training images.
struct WantedSize : SampleSize {
  using SampleSize::SampleSize;
  bool automatic = false;
};
template <>
struct Value_of<WantedSize> {
  static std::string type() { return "integer, [height, width] or auto"; }
  static void read(const Setting& from, WantedSize& out, const Constraint& constraint, Problems& problems);
  static Setting write(const WantedSize& value);
};

// The parameters that all readers of images share.
struct ImageParams : StreamParams {
  WantedSize size;
  int64_t channels = 3;
  bool normalize = true;
  std::string on_bad_sample = "error";
  static void describe(auto&& p) {
    p("size", &ImageParams::size,
      "Side of the samples in pixels, or [height, width]: neon scales an image until it just covers this size, and "
      "takes the middle. auto, for a folder or a list: the size of the training images where all have one, otherwise "
      "the median of their shorter sides, at most 256. 0: the images' own size.",
      closed(0, 8192), Unit{"pixels"});
    p("channels", &ImageParams::channels,
      "Channels: 3 for RGB, 1 for grey (0.299 R + 0.587 G + 0.114 B, as in JPEG). Transparent pixels "
      "are drawn on black; a PNG's gamma is applied. JPEGs and TIFFs are turned upright.",
      closed(1, 3), Alias{"channel_count"});
    p("normalize", &ImageParams::normalize, "Scales pixels to 0 to 1 instead of 0 to 255.");
    p("on_bad_sample", &ImageParams::on_bad_sample,
      "Treatment of damaged images: error ends the run, skip leaves them out with a warning. In a streamed training "
      "set the next image takes the place of a damaged one.",
      one_of({"error", "skip"}));
    StreamParams::describe(p);
  }
  ImageFormat format() const { return {channels, size}; }
  // The meaning of samples of that shape.
  SampleMeaning meaning(const Shape& sample) const {
    SampleMeaning out;
    out.sample = sample;
    out.channels_last = true;
    out.image_size = size;
    out.dtype = DType::u8;
    if (normalize) out.scale_bytes();
    return out;
  }
};

// A file, its class, and what it is for.
struct LabelledImage {
  enum Part { train, test, validation };
  std::string name;
  int32_t label = 0;
  Part part = train;
  int64_t row = -1;  // of ImageSet::target_rows
};
// Images and what is known of them without their contents.
struct ImageSet {
  std::string source;  // the folder, archives or list
  std::shared_ptr<ImageStore> store;
  std::vector<LabelledImage> images;
  std::vector<std::string> class_names;  // empty where classes are numbers
  int64_t classes = 0;
  ImageParams params;                     // how the set has them read
  double memory_share = 0.5;              // Dataset::Common::memory_share
  std::vector<NamedTarget> targets = {};  // in place of classes
  Tensor target_rows = {};                // (n, columns of all) f32 of these; such a set is held in memory
  std::vector<int64_t> groups = {};       // by image, as Split::groups; empty: not known
  bool took_fold = false;                 // the test images are those of the fold
  int64_t listed_before = 0;              // images of the list before those of a test list
};

// Sizes of the parts where no image is bad.
std::array<int64_t, 3> count_parts(const std::vector<LabelledImage>& images);

// Throws a config error for what ImageParams cannot say by ranges.
void check_image_params(const ImageParams& params);

// Reads every image to its end.
struct CheckedImage {
  std::string trouble = "has disappeared";  // "" where nothing is wrong
  ImageSize size{};                         // of one that is whole
};
std::vector<CheckedImage> check_images(const ImageSet& set);
// "size: 64", a line of a spec that brings images of these sizes to one size: the smallest shorter side, at most 256.
std::string size_line(const std::vector<ImageSize>& sizes);
// Settles a size of `auto`: that of a net that was trained before, else the one that fits the training images, by the
// headers of the first 2000, which a note says. A data error where none of them can be read.
void choose_size(ImageSet& set, const DataContext& context);
// "38 x 36 pixels, the first image has 36 x 37; give size: N to bring all to N x N"
std::string other_size(const ImageSize& size, const ImageSize& first);

// Shape (C,H,W) of the samples: of set.params.size, or that of the first image that the store gives.
Shape image_sample_shape(const ImageSet& set);

// The data that Dataset::load gives to finish(). A part's samples are (n,H,W,C) u8 and (n) labels, in the order given,
// or a reader of them if params and context ask for a stream. Bad images throw, or are left out, as params say. A
// warning has the number of bad images in memory, and the first of them.
Data load_image_set(const ImageSet& set, const DataContext& context);
// The same for Dataset::check, where only headers are read.
DataCheck check_image_set(const ImageSet& set, const DataContext& context);

}  // namespace neon
