// Imageset of neon 0.9: images in macrobatches on disk. Ours reads the images that they were made of.
#include <filesystem>

#include "neon/core/paths.h"
#include "neon/spec/old/old_datasets.h"

namespace neon {

namespace {

constexpr double kImageNetBatches = 418;  // macrobatches of its training set in 0.9, of 3072 images
constexpr int64_t kImageNetSize = 3072;
const std::vector<double> kImageNetMeans = {124, 117, 104};  // of R, G and B
constexpr double kMiddle = 127;

bool is_image_net(const std::string& imageset) { return imageset.starts_with("I1K"); }

Setting integer_list(const std::vector<double>& numbers, const Location& where) {
  Setting out = Setting::list({}, where);
  for (double each : numbers) out.items.push_back(Setting::scalar(number(each), where));
  return out;
}

// The macrobatches, if they are there.
Setting macrobatches_of(OldTranslation& t, const OldObject& object) {
  const auto folder = t.path_of(object, "save_dir");
  if (!folder) return {};
  std::error_code ignored;
  const std::filesystem::path cache = std::filesystem::path(expand_home(folder->value)) / "dataset_cache.pkl";
  return std::filesystem::exists(cache, ignored) ? *folder : Setting();
}

// image_dir, else the set's folder in repo_path.
Setting folder_of(OldTranslation& t, const OldObject& object) {
  if (const auto folder = t.path_of(object, "image_dir")) return *folder;
  const auto repository = t.path_of(object, "repo_path");
  const std::string root = repository ? repository->value : ".", name = t.word_of(object, "imageset", "");
  return Setting::scalar(root + (root.ends_with('/') ? "" : "/") + name, object.where_of("imageset"));
}

// A net saw a pixel minus its mean, divided by 128 or 256 with unit_norm.
void translate_pixels(OldTranslation& t, const OldObject& object, OldResult& out, size_t channels) {
  const bool mean = t.truth_of(object, "mean_norm", false), unit = t.truth_of(object, "unit_norm", false);
  const Location where = object.where_of(mean ? "mean_norm" : unit ? "unit_norm" : "imageset");
  out.set("normalize", Setting::scalar("false", where));
  const bool known = mean && channels == 3 && is_image_net(t.word_of(object, "imageset", ""));
  std::vector<Setting::Entry> entries;
  if (mean && !known) entries.push_back({"measure_mean", Setting::scalar("true", where), where});
  else
    entries.push_back(
        {"mean", integer_list(known ? kImageNetMeans : std::vector<double>(channels, kMiddle), where), where});
  if (unit) entries.push_back({"std", integer_list(std::vector<double>(channels, mean ? 128 : 256), where), where});
  t.normalize = Setting::map(std::move(entries), where);
  t.remark(
      where,
      text("pixels minus ",
           known  ? "ImageNet's means of R, G and B"
           : mean ? "the means of the training images, by channel"
                  : "127",
           unit ? ", divided" : "",
           mean ? "; 0.9 subtracted train_mean of its cache, their mean image, in numbers of 8 bits, in which a pixel "
                  "128 or more above it became negative"
                : "; 0.9 did so in numbers of 8 bits"));
}

void translate_crops(OldTranslation& t, const OldObject& object, int64_t size, int64_t crop) {
  const Location where = object.where_of("dotransforms");
  if (t.truth_of(object, "dotransforms", false)) {
    Setting params = Setting::map({{"size", Setting::scalar(text(crop), where), where}}, where);
    t.augment = Setting::list(
        {Setting::map({{"RandomCrop", std::move(params), where}}, where), Setting::scalar("Flip", where)}, where);
    t.remark(where,
             "dotransforms: random crops and flips in training, the middle of the image in an evaluation, where 0.9 "
             "went on with flips");
  } else if (crop < size) {
    const Location cropped = object.where_of("cropped_image_size");
    Setting params = Setting::map({{"size", Setting::scalar(text(crop), cropped), cropped}}, cropped);
    t.augment = Setting::list({Setting::map({{"CenterCrop", std::move(params), cropped}}, cropped)}, cropped);
    t.remark(cropped, text("CenterCrop: the middle of an image, in training, too, as in 0.9"));
  }
}

// Numbers of macrobatches, where they are read as they are.
void choose_macrobatches(OldTranslation& t, const OldObject& object, OldResult& out) {
  std::vector<Setting::Entry> entries;
  for (const char* key : {"ntrain", "train_start", "nval", "val_start"})
    if (const auto number = t.whole_of(object, key)) {
      const Location where = object.where_of(key);
      entries.push_back({key, Setting::scalar(text(*number), where), where});
    }
  if (entries.empty()) return;
  const Location where = entries.front().where;
  out.set("macrobatches", Setting::map(std::move(entries), where));
}

// The same where the images are read that they would be made of.
void translate_counts(OldTranslation& t, const OldObject& object, OldResult& out) {
  const auto train = t.whole_of(object, "ntrain"), size = t.whole_of(object, "macro_size");
  if (train && size && is_image_net(t.word_of(object, "imageset", ""))) {
    const double share = double(*train) * double(*size) / (kImageNetBatches * kImageNetSize);
    if (share < 1) out.set("subset_pct", Setting::scalar(number(100 * share), object.where_of("ntrain")));
    t.remark(object.where_of("ntrain"),
             text("ntrain: ", *train, " of ImageNet's 418 macrobatches, as a share of the images"));
  } else if (train) {
    t.warning(object.where_of("ntrain"),
              text("ntrain: ", *train, " macrobatches is left out: all images are used; subset_pct takes a share"));
  }
  if (object.find("nval")) t.warning(object.where_of("nval"), "nval is left out: all validation images are used");
  for (const char* key : {"train_start", "val_start"})
    if (object.find(key))
      t.warning(object.where_of(key), text(key, " is left out: all macrobatches are used, from the first"));
}

void remark_macro_size(OldTranslation& t, const OldObject& object) {
  if (const auto size = t.whole_of(object, "macro_size"))
    t.remark(object.where_of("macro_size"),
             text("macro_size: ", *size,
                  " has no effect: a macrobatch may hold any number of images; 0.9 refused one "
                  "of another size than its cache's"));
}

void finish_imageset(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_dataset(t, object, out);
  const bool image_net = is_image_net(t.word_of(object, "imageset", ""));
  const Setting batches = macrobatches_of(t, object);
  const Setting folder = batches.is_null() ? folder_of(t, object) : batches;
  out.params.entries.insert(out.params.entries.begin(), {"path", folder, folder.where});
  const int64_t size = t.whole_of(object, "output_image_size").value_or(0),
                crop = t.whole_of(object, "cropped_image_size").value_or(size),
                depth = t.whole_of(object, "num_channels").value_or(3);
  out.set("size", Setting::scalar(text(size), object.where_of("output_image_size")));
  if (depth != 3) out.set("channels", Setting::scalar(text(depth), object.where_of("num_channels")));
  if (depth < 1 || depth > 16) return t.problem(object.where_of("num_channels"), "num_channels must be 1 or 3");
  translate_pixels(t, object, out, size_t(depth));
  translate_crops(t, object, size, crop);
  if (batches.is_null()) translate_counts(t, object, out);
  else choose_macrobatches(t, object, out);
  remark_macro_size(t, object);
  std::erase_if(out.params.entries, [](const auto& entry) { return entry.key == "validation"; });
  if (!image_net && batches.is_null()) {
    const Location where = object.where_of("validation_pct");
    out.set("test", Setting::scalar("none", where));
    out.set("validation", Setting::scalar(number(t.number_of(object, "validation_pct", 0.2)), where));
  }
  t.shuffle = true;
  t.remark(object.node.where(),
           text("images are read from ", folder.value, batches.is_null() ? "" : ", the macrobatches",
                "; neon data pack ", shell_word(folder.value),
                " SHARDS checks and packs them once, and dataset: {Shards: {path: SHARDS, ...}} reads that"));
  check_old_shape(t, {depth, crop, crop});
}

OldKey idle_with(std::string_view name) {
  return old_idle(name, "images are decoded by all threads, as the net needs them");
}

const OldClasses imagesets(std::vector<OldClass>{
    {"datasets.Imageset", "data set", "ImageFolder",
     old_dataset_keys({old_word("save_dir"),
                       required(old_word("imageset")),
                       required(old_read("macro_size")),
                       required(old_read("output_image_size")),
                       required(old_read("cropped_image_size")),
                       old_word("image_dir"),
                       old_read("num_channels"),
                       old_read("dotransforms"),
                       old_read("mean_norm"),
                       old_read("unit_norm"),
                       old_read("ntrain"),
                       old_read("nval"),
                       idle_with("num_workers"),
                       old_read("train_start"),
                       old_read("val_start"),
                       idle_with("preprocess_done"),
                       idle_with("square_crop"),
                       old_idle("nclass", "the folders say the classes"),
                       old_idle("label_list", "a sample has one label"),
                       old_idle("tdims", "0.9 did not fill these targets"),
                       old_idle("file_pattern", "all JPEG and PNG files are images"),
                       old_idle("class_samples_max", "all images are used"),
                       old_idle("shuffle_macro", "images come in a new order in each epoch")}),
     finish_imageset},
});

}  // namespace

}  // namespace neon
