#include "neon/cli/sample_images.h"

#include <omp.h>

#include <algorithm>

#include "datasets/image.h"
#include "datasets/image_labels.h"
#include "datasets/store_files.h"
#include "neon/cli/session.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

// x (H,W,C) as (C,H,W)
Tensor channels_first(const Tensor& x) {
  const int64_t channels = x.shape()[2], places = x.elements() / channels;
  Tensor out(DType::u8, {channels, x.shape()[0], x.shape()[1]});
  for (int64_t i = 0; i < places; ++i)
    for (int64_t c = 0; c < channels; ++c)
      out.as<uint8_t>()[size_t(c * places + i)] = x.as<uint8_t>()[size_t(i * channels + c)];
  return out;
}

void refuse_image_of_table(const std::string& where, const StoredData& stored) {
  if (stored.table.codes.empty() && stored.table.features.empty()) return;
  fail(ErrorKind::data, where, ": is an image, and the net takes rows of a table",
       stored.table.features.empty() ? "" : text(" with the columns ", list_text(stored.table.features)));
}

[[noreturn]] void fail_size(const std::string& where, const ImageSize& size, const StoredData& stored) {
  fail(ErrorKind::data, where, ": an image of ", size.width, " x ", size.height, " pixels, the net takes ",
       stored.sample, "; scale it to that size, or train with size: ",
       stored.is_image() ? SampleSize(stored.sample[1], stored.sample[2]).to_string() : "N",
       " in the data set, which predict applies too");
}

// An image made as those of the training were, or of the net's own size.
void decode(std::string_view content, const std::string& where, const StoredData& stored, std::span<uint8_t> to,
            Resizer& resizer) {
  const bool images = stored.is_image();
  const ImageFormat format{images ? stored.sample[0] : 1, stored.image_size};
  if (stored.label_of == LabelOf::box && stored.image_size.given()) {
    // Boxes are shares of the image, which is stretched to the samples' size, as BoxImages does.
    const Tensor whole = read_image(content, {stored.sample[0], 0}, where);
    resize_middle(whole.as<uint8_t>().data(), {whole.shape()[0], whole.shape()[1]}, stored.sample[0], stored.image_size,
                  to, elementwise::active_level(), true);
    return;
  }
  if (images && stored.channels_last) {
    const ImageSize wanted{stored.sample[1], stored.sample[2]};
    const ImageSize size = read_image_to(content, format, where, wanted, to, resizer);
    if (size != wanted) fail_size(where, size, stored);
    return;
  }
  Tensor image = read_image(content, format, where);
  const ImageSize size{image.shape()[0], image.shape()[1]};
  if (images ? size != ImageSize{stored.sample[1], stored.sample[2]} : image.elements() != stored.sample.elements())
    fail_size(where, size, stored);
  if (images) image = channels_first(image);
  std::ranges::copy(image.as<uint8_t>(), to.begin());
}

class ImageSamples : public SampleSource {
 public:
  ImageSamples(std::unique_ptr<ImageStore> store, std::string prefix, const StoredData& stored)
      : store_(std::move(store)), prefix_(std::move(prefix)), stored_(stored), resizers_(size_t(available_threads())) {
    need_image_library();
  }

  Tensor next(int64_t most, std::vector<std::string>& names) override {
    if (pixels_.empty() || pixels_.shape()[0] < most)
      pixels_ = Tensor(DType::u8, Shape{most}.concat(stored_.stored_sample()));
    names.clear();
    while (int64_t(names.size()) < most && more()) {
      const size_t count = std::min(size_t(most) - names.size(), files_.size() - at_);
      read(count, int64_t(names.size()));
      take(count, names);
    }
    if (names.empty()) tell_left_out();
    return names.empty() ? Tensor() : without_mean(pixels_.rows(0, int64_t(names.size())), stored_);
  }

 private:
  bool more() {
    if (at_ < files_.size()) return true;
    files_ = store_->next();
    at_ = 0;
    return !files_.empty();
  }

  // The next files into rows from `row` on. Nothing may be thrown out of a parallel loop.
  void read(size_t count, int64_t row) {
    if (count > 0) refuse_image_of_table(store_->where(store_->wanted()[files_[at_].index]), stored_);
    troubles_.assign(count, "");
#pragma omp parallel for num_threads(int(resizers_.size())) schedule(dynamic, 4)
    for (size_t i = 0; i < count; ++i) try {
        ImageStore::File& file = files_[at_ + i];
        store_->load(file);
        decode(file.content, store_->where(store_->wanted()[file.index]), stored_,
               pixels_.rows(row + int64_t(i), 1).as<uint8_t>(), resizers_[size_t(omp_get_thread_num())]);
        std::string().swap(file.content);
      } catch (const std::exception& error) {
        troubles_[i] = error.what();
      }
  }

  // Names of the rows that were read; those behind a bad one move up.
  void take(size_t count, std::vector<std::string>& names) {
    const int64_t first = int64_t(names.size());
    for (size_t i = 0; i < count; ++i) {
      if (!troubles_[i].empty()) {
        leave_out(troubles_[i]);
        continue;
      }
      const int64_t from = first + int64_t(i), to = int64_t(names.size());
      if (from != to) std::ranges::copy(pixels_.rows(from, 1).as<uint8_t>(), pixels_.rows(to, 1).as<uint8_t>().begin());
      names.push_back(prefix_ + store_->wanted()[files_[at_ + i].index]);
    }
    at_ += count;
    read_ += int64_t(names.size()) - first;
  }

  void leave_out(const std::string& trouble) {
    if (stored_.on_bad_sample != "skip")
      fail(ErrorKind::data, trouble,
           stored_.on_bad_sample.empty() ? "" : " (--set dataset.on_bad_sample=skip leaves such files out)");
    if (++bad_ == 1) first_trouble_ = trouble;
  }

  void tell_left_out() const {
    const std::string source = store_->path().empty() ? "" : store_->path() + ": ";
    if (read_ == 0 && bad_ > 0)
      fail(ErrorKind::data, source, "none of the ", bad_, " images can be read; the first: ", first_trouble_);
    if (bad_ > 0)
      print_warnings({text(source, bad_, " of ", read_ + bad_, bad_ == 1 ? " images is" : " images are",
                           " left out; the first: ", first_trouble_)});
  }

  const std::unique_ptr<ImageStore> store_;
  const std::string prefix_;
  const StoredData& stored_;
  std::vector<Resizer> resizers_;  // by thread
  std::vector<ImageStore::File> files_;
  size_t at_ = 0;  // the next of files_
  std::vector<std::string> troubles_;
  Tensor pixels_;
  int64_t read_ = 0, bad_ = 0;
  std::string first_trouble_;
};

}  // namespace

void want_images(ImageStore& store) {
  const StoreFiles files = sort_files(store);
  if (!files.others.empty()) print_warnings({other_files_text(store, files.others, false)});
  store.want(without_fields(files.images, files.labels));
}

std::unique_ptr<SampleSource> samples_of_images(std::unique_ptr<ImageStore> store, std::string prefix,
                                                const StoredData& stored) {
  return std::make_unique<ImageSamples>(std::move(store), std::move(prefix), stored);
}

Tensor image_sample(std::string_view content, const std::string& name, const StoredData& stored) {
  refuse_image_of_table(name, stored);
  Tensor out(DType::u8, Shape{1}.concat(stored.stored_sample()));
  Resizer resizer;
  decode(content, name, stored, out.as<uint8_t>(), resizer);
  return out;
}

}  // namespace neon
