#include "datasets/image_samples.h"

#include <omp.h>

#include <algorithm>

#include "datasets/gzip.h"
#include "datasets/stored_images.h"
#include "datasets/untrained_classes.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

constexpr int64_t kMostAutomatic = 256;  // pixels of a side that neon chooses

std::vector<std::string> names_of(const std::vector<LabelledImage>& images) {
  std::vector<std::string> out;
  for (const LabelledImage& image : images) out.push_back(image.name);
  return out;
}

class Loader {
 public:
  Loader(const ImageSet& set, const Shape& sample)
      : params_(set.params),
        store_(*set.store),
        sample_(sample),
        pixels_(DType::u8, Shape{int64_t(set.images.size())}.concat({sample[1], sample[2], sample[0]})),
        troubles_(set.images.size()) {}

  void run() {
    need_image_library();
    const int threads = available_threads();
    std::vector<ReadScratch> scratches(static_cast<size_t>(threads));
    std::vector<bool> came(store_.wanted().size(), false);
    for (auto files = store_.next(); !files.empty(); files = store_.next()) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
      for (size_t i = 0; i < files.size(); ++i) decode(files[i], scratches[size_t(omp_get_thread_num())].resizer);
      for (const ImageStore::File& file : files) came[file.index] = true;
      if (params_.on_bad_sample == "error") throw_first();
    }
    for (size_t i = 0; i < came.size(); ++i)
      if (!came[i]) fail(ErrorKind::data, where(i), ": has disappeared");
  }

  const Tensor& pixels() const { return pixels_; }
  const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  std::string where(size_t index) const { return store_.where(store_.wanted()[index]); }

  // Nothing may be thrown out of a parallel loop.
  void decode(ImageStore::File& file, Resizer& resizer) {
    try {
      store_.load(file);
      read(file, resizer);
    } catch (const std::exception& error) {
      troubles_[file.index] = reason_of(error, where(file.index) + ": cannot be read");
    }
    file.content = {};
  }

  void read(const ImageStore::File& file, Resizer& resizer) {
    const ImageSize wanted{sample_[1], sample_[2]};
    const auto pixels = pixels_.rows(int64_t(file.index), 1).as<uint8_t>();
    const ImageSize size = read_image_to(file.content, params_.format(), where(file.index), wanted, pixels, resizer);
    if (size != wanted) fail(ErrorKind::data, where(file.index), ": ", other_size(size, wanted));
  }

  void throw_first() const {
    for (const std::string& trouble : troubles_)
      if (!trouble.empty()) fail(ErrorKind::data, trouble, " (--set dataset.on_bad_sample=skip leaves such files out)");
  }

  const ImageParams& params_;
  ImageStore& store_;
  const Shape sample_;  // (C,H,W)
  Tensor pixels_;
  std::vector<std::string> troubles_;  // by image; "": none
};

}  // namespace

void Value_of<WantedSize>::read(const Setting& from, WantedSize& out, const Constraint& constraint,
                                Problems& problems) {
  out = {};
  out.automatic = from.is_scalar() && from.value == "auto";
  if (out.automatic) return;
  const bool word = from.is_scalar() && from.value.find_first_of("0123456789") == from.value.npos;
  if (!word) Value_of<SampleSize>::read(from, out, constraint, problems);
  else problems.add(from, text("expected a number of pixels, [height, width] or auto, found ", in_quotes(from.value)));
}

Setting Value_of<WantedSize>::write(const WantedSize& value) {
  return value.automatic ? Setting::scalar("auto") : Value_of<SampleSize>::write(value);
}

void check_image_params(const ImageParams& params) {
  if (params.channels == 2) fail(ErrorKind::config, "channels: an image has 1 (grey) or 3 (RGB), not 2");
}

Shape image_sample_shape(const ImageSet& set) {
  const ImageParams& params = set.params;
  ImageStore& store = *set.store;
  if (params.size.given()) return {params.channels, params.size.height, params.size.width};
  need_image_library();
  store.want(names_of(set.images));
  std::string trouble;
  for (auto files = store.next(); !files.empty(); files = store.next())
    for (ImageStore::File& file : files) try {
        store.load(file);
        const ImageSize size = image_size(file.content, store.where(store.wanted()[file.index]));
        return {params.channels, size.height, size.width};
      } catch (const Error& error) {
        if (params.on_bad_sample == "error") throw;
        trouble = error.what();
      }
  fail(ErrorKind::data, store.path(), ": holds no image that can be read: ", trouble);
}

std::array<int64_t, 3> count_parts(const std::vector<LabelledImage>& images) {
  std::array<int64_t, 3> out{};
  for (const LabelledImage& image : images) ++out[image.part];
  return out;
}

std::string other_size(const ImageSize& size, const ImageSize& first) {
  return text(size.width, " x ", size.height, " pixels, the first image has ", first.width, " x ", first.height,
              "; give size: N to bring all to N x N");
}

std::string size_line(const std::vector<ImageSize>& sizes) {
  int64_t side = kMostAutomatic;
  for (const ImageSize& size : sizes) side = std::min({side, size.width, size.height});
  return text("size: ", side);
}

std::vector<CheckedImage> check_images(const ImageSet& set) {
  ImageStore& store = *set.store;
  const std::vector<LabelledImage>& images = set.images;
  need_image_library();
  std::vector<CheckedImage> out(images.size());
  store.want(names_of(images));
  const int threads = available_threads();
  for (auto files = store.next(); !files.empty(); files = store.next()) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (size_t i = 0; i < files.size(); ++i) try {
        ImageStore::File& file = files[i];
        store.load(file);
        const Tensor pixels = read_image(file.content, set.params.format(), store.where(images[file.index].name));
        out[file.index] = {"", {pixels.shape()[0], pixels.shape()[1]}};
      } catch (const std::exception& error) {
        out[files[i].index].trouble = reason_of(error, store.where(images[files[i].index].name) + ": cannot be read");
      }
  }
  return out;
}

namespace {

// A text that differs from that of other samples, whatever their values.
std::string identity_of(const ImageSet& set, const std::vector<LabelledImage>& images, const Shape& sample) {
  std::string all = text(sample.to_string(), set.params.size.to_string());
  for (const LabelledImage& image : images) {
    all += text(image.name, ' ', image.label, ' ', set.store->bytes_of(image.name), '\n');
    for (int64_t k = 0; k < columns_of(set.targets); ++k)
      all += text(set.target_rows.at(image.row * columns_of(set.targets) + k), '\n');
  }
  return text("images ", crc32_of(all));
}

// Images of a set by their numbers: those of one list, or of the folder.
class ImagePaths : public SampleFiles {
 public:
  using Names = std::shared_ptr<const std::vector<std::string>>;
  ImagePaths(std::shared_ptr<const ImageStore> store, Names names, int64_t first)
      : store_(std::move(store)), names_(std::move(names)), first_(first) {}
  std::string path(int64_t number) const override { return store_->where((*names_)[size_t(first_ + number)]); }

 private:
  const std::shared_ptr<const ImageStore> store_;
  const Names names_;
  const int64_t first_;
};

// Numbers, which count the images of the set, count those of one list from now on, and have their files.
void name_files(const ImageSet& set, std::array<Split, 3>& splits) {
  const auto names = std::make_shared<const std::vector<std::string>>(names_of(set.images));
  for (size_t part = 0; part < 3; ++part) {
    const int64_t first = part == LabelledImage::test ? set.listed_before : 0;
    for (int64_t& number : splits[part].numbers) number -= first;
    splits[part].paths = std::make_shared<ImagePaths>(set.store, names, first);
  }
}

double bytes_of(const ImageSet& set, const Shape& sample) {
  return double(set.images.size()) * double(sample.elements());
}

bool is_streamed(const ImageSet& set, const Shape& sample, const DataContext& context) {
  const HeldReason in_order{set.store->only_in_order(), "unpack it, or let neon data pack make shards of it"};
  const HeldReason several{"a list with several targets is held in memory",
                           "leave stream out; a smaller size takes less memory"};
  return is_streamed(set.params, bytes_of(set, sample), set.memory_share, set.targets.empty() ? in_order : several,
                     context);
}

// The targets of these images: (n) i32 labels, or (n, columns) f32.
Tensor targets_of(const ImageSet& set, std::vector<int64_t> of) {
  for (int64_t& index : of)
    index = set.targets.empty() ? set.images[size_t(index)].label : set.images[size_t(index)].row;
  if (!set.targets.empty()) return take_rows(set.target_rows, of);
  Tensor out(DType::i32, {int64_t(of.size())});
  for (size_t i = 0; i < of.size(); ++i) out.set(int64_t(i), double(of[i]));
  return out;
}

// By LabelledImage::Part.
std::array<Split, 3> held_images(const ImageSet& set, const Shape& sample, const DataContext& context) {
  ImageStore& store = *set.store;
  const std::vector<LabelledImage>& images = set.images;
  store.want(names_of(images));
  Loader loader(set, sample);
  loader.run();
  std::array<Split, 3> out;
  std::array<std::vector<int64_t>, 3> rows;
  int64_t bad = 0;
  std::string first_trouble;
  for (size_t i = 0; i < images.size(); ++i) {
    if (loader.troubles()[i].empty()) {
      rows[images[i].part].push_back(int64_t(i));
    } else if (++bad == 1) {
      first_trouble = loader.troubles()[i];
    }
  }
  if (bad == int64_t(images.size()))
    fail(ErrorKind::data, store.path(), ": none of the ", bad, " images can be read; the first: ", first_trouble);
  if (bad > 0)
    context.warn(text(store.path(), ": ", bad, " of ", images.size(), bad == 1 ? " images is" : " images are",
                      " left out; the first: ", first_trouble));
  for (size_t part = 0; part < 3; ++part) {
    const auto n = int64_t(rows[part].size());
    if (n == 0) continue;
    const bool in_a_row = rows[part].back() - rows[part].front() == n - 1;
    out[part].inputs = in_a_row ? loader.pixels().rows(rows[part].front(), n) : take_rows(loader.pixels(), rows[part]);
    out[part].targets = targets_of(set, rows[part]);
    for (const int64_t i : rows[part])
      if (!set.groups.empty()) out[part].groups.push_back(set.groups[size_t(i)]);
    out[part].numbers = std::move(rows[part]);
  }
  return out;
}

std::array<Split, 3> splits_of(const ImageSet& set, const Shape& sample, const DataContext& context) {
  const bool streamed = is_streamed(set, sample, context);
  if (!streamed) check_room_to_hold(bytes_of(set, sample), set.store->path(), set.targets.empty());
  std::array<std::vector<LabelledImage>, 3> of_part;
  std::array<std::vector<int64_t>, 3> places;
  for (size_t i = 0; i < set.images.size(); ++i) {
    of_part[set.images[i].part].push_back(set.images[i]);
    places[set.images[i].part].push_back(int64_t(i));
  }
  std::array<Split, 3> out;
  if (!streamed) out = held_images(set, sample, context);
  for (size_t i = 0; streamed && i < set.groups.size(); ++i) out[set.images[i].part].groups.push_back(set.groups[i]);
  for (size_t part = 0; part < 3; ++part) {
    if (of_part[part].empty()) continue;
    out[part].identity = identity_of(set, of_part[part], sample);
    if (!set.store->only_in_order().empty()) continue;
    out[part].files = std::make_shared<StoredImages>(set.params, set.store, std::move(of_part[part]), sample);
    if (!streamed) continue;
    out[part].reader = out[part].files;
    out[part].numbers = std::move(places[part]);
  }
  name_files(set, out);
  return out;
}

SampleMeaning meaning_of_images(const ImageSet& set) {
  SampleMeaning out = set.params.meaning(image_sample_shape(set));
  out.classes = set.classes;
  out.class_names = set.class_names;
  out.targets = set.targets;
  return out;
}

// The sizes of the first images, by their headers alone; none of damaged ones.
std::vector<ImageSize> first_sizes(const ImageSet& set, const std::vector<LabelledImage>& images) {
  constexpr size_t kMost = 2000;
  need_image_library();
  ImageStore& store = *set.store;
  std::vector<std::string> names = names_of(images);
  names.resize(std::min(names.size(), kMost));
  std::vector<ImageSize> out(names.size());
  store.want(std::move(names));
  const int threads = available_threads();
  for (auto files = store.next(); !files.empty(); files = store.next()) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (size_t i = 0; i < files.size(); ++i) try {
        store.load(files[i]);
        out[files[i].index] = image_size(files[i].content, store.wanted()[files[i].index]);
        files[i].content = {};
      } catch (const std::exception&) {  // reported when its samples are read
      }
  }
  std::erase(out, ImageSize{});
  return out;
}

// Training refuses images of several sizes where the set names none.
void warn_of_sizes(const ImageSet& set, const DataContext& context) {
  if (set.params.size.given()) return;
  const std::vector<ImageSize> sizes = first_sizes(set, set.images);
  const auto others = sizes.empty() ? 0 : std::ranges::count_if(sizes, [&](auto& size) { return size != sizes[0]; });
  if (others > 0)
    context.warn(text(set.source, ": ", others, " of the first ", sizes.size(), " images are not of the first one's ",
                      sizes[0].width, " x ", sizes[0].height, " pixels; add to the data set: ", size_line(sizes),
                      ", or size: auto, by the training images"));
}

}  // namespace

void choose_size(ImageSet& set, const DataContext& context) {
  if (!set.params.size.automatic) return;
  if (context.image_size.given()) {
    set.params.size = WantedSize(context.image_size.height, context.image_size.width);
    return;
  }
  std::vector<LabelledImage> training;
  std::ranges::copy_if(set.images, std::back_inserter(training), [](auto& image) { return image.part == image.train; });
  const std::vector<ImageSize> sizes = first_sizes(set, training);
  if (sizes.empty()) fail(ErrorKind::data, set.source, ": holds no training image that can be read, for size: auto");
  if (std::ranges::all_of(sizes, [&](const ImageSize& size) { return size == sizes[0]; })) {
    set.params.size = WantedSize(sizes[0].height, sizes[0].width);
    return;
  }
  std::vector<int64_t> sides;
  for (const ImageSize& size : sizes) sides.push_back(std::min(size.height, size.width));
  const auto middle = sides.begin() + long(sides.size() / 2);
  std::ranges::nth_element(sides, middle);
  set.params.size = WantedSize(std::min<int64_t>(*middle, kMostAutomatic));
  context.note(text(set.source, ": images of several sizes are brought to ", set.params.size.to_string(), " x ",
                    set.params.size.to_string(), " pixels, the median of their shorter sides",
                    *middle > kMostAutomatic ? " being larger" : "", "; size: N names another size"));
}

Data load_image_set(const ImageSet& set, const DataContext& context) {
  Data data;
  data.meaning() = meaning_of_images(set);
  auto splits = splits_of(set, data.sample, context);
  data.train = std::move(splits[LabelledImage::train]);
  data.test = std::move(splits[LabelledImage::test]);
  data.validation = std::move(splits[LabelledImage::validation]);
  data.source = set.source;
  data.took_fold = set.took_fold;
  return data;
}

DataCheck check_image_set(const ImageSet& set, const DataContext& context) {
  DataCheck out;
  out.source = set.source;
  out.found = true;
  out.meaning() = meaning_of_images(set);
  const auto counts = count_parts(set.images);
  out.train_size = counts[LabelledImage::train];
  out.test_size = counts[LabelledImage::test];
  out.validation_size = counts[LabelledImage::validation];
  out.class_counts.resize(size_t(set.classes));
  if (!set.targets.empty()) out.target = {columns_of(set.targets)};
  for (const LabelledImage& image : set.images)
    if (set.targets.empty() && image.part == LabelledImage::train) ++out.class_counts[size_t(image.label)];
  out.streamed = is_streamed(set, out.sample, context);
  out.took_fold = set.took_fold;
  warn_of_sizes(set, context);
  note_alike_classes(out, set.source, context);
  return out;
}

}  // namespace neon
