// neon data VERB: which data sets there are, fetching and checking them, what is in them, packing images to shards.
#include <algorithm>
#include <array>

#include "datasets/class_sizes.h"
#include "datasets/file.h"
#include "datasets/hash.h"
#include "datasets/image_samples.h"
#include "datasets/shard_copies.h"
#include "datasets/shard_folder.h"
#include "datasets/tar.h"
#include "datasets/test_images.h"
#include "neon/cli/arguments.h"
#include "neon/cli/data_preview.h"
#include "neon/cli/imbalance_lines.h"
#include "neon/cli/read_places.h"
#include "neon/cli/session.h"
#include "neon/cli/verb.h"
#include "neon/core/counted.h"
#include "neon/core/paths.h"
#include "neon/spec/yaml.h"
#include "neon/train/batch_feed.h"
#include "neon/train/image_sheet.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// So many operands, or a config error with the verb's usage.
const std::vector<std::string>& operands(const CommandLine& line, size_t count) {
  if (line.operands.size() != count)
    fail(ErrorKind::config, line.operands.size() > count ? "an operand too many" : "an operand is missing",
         "; usage: ", usage_of(*find_verb(line.verb)));
  return line.operands;
}

// For verbs that need to know what a net makes of the samples: people give the folder itself.
OpenedSpec open_spec_of_data(const CommandLine& line, const std::string& path) {
  if (!is_spec(path) && (folder_exists(path) || is_tar_name(path)))
    fail(ErrorKind::config, path, ": expected a spec; write one with dataset: {",
         file_exists(join_path(path, "index.json")) ? "Shards" : "ImageFolder", ": {path: ", yaml_text(path), "}}");
  return open_spec(line, path);
}

bool needs_parameters(const Schema& schema) {
  return std::ranges::any_of(schema.fields, [](const Field& field) { return field.required; });
}

int run_data_list(const CommandLine& line) {
  operands(line, 0);
  std::vector<std::string> warnings;
  DataContext context = data_context(line.run(), "", 0, warnings);
  context.may_download = false;
  const std::string there = context.data_dir.empty() ? "" : " -w " + shell_word(context.data_dir);
  for (const auto& entry : Registry<Dataset>::get().entries()) {
    if (needs_parameters(entry->schema())) continue;
    const auto set = Registry<Dataset>::get().create(Setting::scalar(entry->name));
    DataCheck check;
    try {
      check = set->check(context);
    } catch (const Error& error) {
      print_result(formatted("%-14s damaged ", entry->name.c_str()) + error.what());
      continue;
    }
    print_result(formatted("%-14s ", entry->name.c_str()) +
                 (check.found ? "here    " + check.source : text("absent  neon data fetch ", entry->name, there)));
  }
  return 0;
}

int run_data_fetch(const CommandLine& line) {
  outlive_closed_pipes();
  const std::string name = operands(line, 1)[0];
  std::vector<std::string> warnings;
  const DataContext context = data_context(line.run(), "", 0, warnings);
  std::string error;
  const EntryInfo* entry = find_in_category(Dataset::kCategory, name, error);
  if (entry && needs_parameters(entry->schema()))
    fail(ErrorKind::config, entry->name, " reads your own files and has nothing to download; `neon data list` lists ",
         "the sets that have");
  const auto set = Registry<Dataset>::get().create(Setting::scalar(name));
  const bool here = set->check(context).found;
  const Data data = set->load(context);
  print_warnings(warnings);
  print_result(text(here ? "is here already: " : "fetched ", data.source, ": ", data.train.size(), " training and ",
                    data.test.size(), " test samples"));
  return 0;
}

// Whether every checksum, every image and every label is right.
bool check_shards(const CommandLine& line, const std::string& folder) {
  const ShardIndex index = read_shard_index(folder);
  if (!index.pixels) need_image_library();
  int64_t bad = 0, samples = 0, changed = 0;
  for (size_t part = 0; part < 3; ++part) {
    for (const ShardIndex::File& file : index.parts[part])
      if (const std::string sum = sha256_of_file(join_path(folder, file.name)); sum != file.sha256) {
        print_result(text(file.name, ": its SHA-256 is ", sum, ", index.json says ", printable(file.sha256, 80)));
        ++changed;
      }
    ImageParams params;
    params.channels = index.pixels ? index.sample[0] : 3;
    params.on_bad_sample = "skip";
    if (index.sample.rank() == 0) params.size = 64;
    const auto reader = open_shards(folder, index, int(part), params);
    std::vector<uint8_t> pixels(size_t(reader->sample().elements()));
    ReadScratch scratch;
    for (int64_t i = 0; i < reader->size(); ++i, ++samples) try {
        reader->read(i, pixels, scratch);
      } catch (const Error& error) {
        print_result(error.what());
        ++bad;
      }
  }
  print_result(text(folder, ": ", samples, " samples, ", bad, " bad",
                    changed ? text("; ", changed, " files changed since they were packed") : ""));
  std::vector<std::string> copies;
  warn_of_copies(folder, index, data_context(line.run(), "", 0, copies));
  print_warnings(copies);
  return bad == 0 && changed == 0;
}

bool is_list(std::string path) {
  if (path.ends_with(".gz")) path.resize(path.size() - 3);
  return std::ranges::any_of(std::array{".csv", ".tsv", ".txt", ".lst"},
                             [&](const char* ending) { return path.ends_with(ending); });
}

struct OpenedImages {
  std::shared_ptr<ImageSet> set;
  std::string source;
  uint64_t seed = 0;
  std::vector<std::string> selection;  // what of a spec's set is about the samples used: "subset_pct: 10"
  bool autoencoder = false;
};
// The images of a list without a spec. Its message about further columns names a key of a spec, so that another
// follows.
std::shared_ptr<ImageSet> images_of_list(const CommandLine& line, const Dataset& list, const std::string& path,
                                         const DataContext& context) try {
  return list.images(context);
} catch (const Error& error) {
  const std::string_view said = error.what();
  const size_t mend = said.find("; targets names ");
  if (mend == said.npos) throw;
  fail(error.kind(), said.substr(0, mend),
       line.verb == "data pack"
           ? text("; shards hold one class for each image: give a list of two columns, the file and its class")
           : text("; give a spec in place of the list, with dataset: {ImageList: {path: ", yaml_text(path),
                  ", targets: {COLUMN: KIND}}}"));
}

// Opens the images of a folder, an archive, a list, or the data set of a spec. `test` is ImageFolder's key where there
// is no spec. Prints warnings.
OpenedImages open_images(const CommandLine& line, const std::string& path, const char* test) {
  const RunOptions options = line.run();
  OpenedSpec spec;
  std::unique_ptr<Dataset> own;
  if (is_spec(path)) {
    spec = open_spec(line, path);
  } else {
    if (!line.overrides.empty() || !line.values.empty())
      fail(ErrorKind::config, line.overrides.empty() ? "--value" : "--set", " changes a spec, but ", path,
           " is no spec; leave it out");
    Setting params = Setting::map({{"path", Setting::scalar(path), {}}});
    if (!is_list(path)) params.entries.push_back({"test", Setting::scalar(test), {}});
    own = Registry<Dataset>::get().create(Setting::map({{is_list(path) ? "ImageList" : "ImageFolder", params, {}}}));
  }
  const Dataset& dataset = own ? *own : *spec.experiment->params.dataset;
  std::vector<std::string> warnings;
  OpenedImages out;
  const auto seed_of_spec = own ? std::nullopt : spec.experiment->params.rng_seed;
  out.seed = uint64_t(options.rng_seed.value_or(seed_of_spec.value_or(0)));
  const DataContext context = data_context(options, spec.folder, out.seed, warnings);
  out.set = own && is_list(path) ? images_of_list(line, dataset, path, context) : dataset.images(context);
  print_warnings(warnings);
  if (!out.set) fail(ErrorKind::config, path, ": expected a data set of image files, such as ImageFolder or ImageList");
  out.source = own ? out.set->source : path;
  const Dataset::Common& common = dataset.common;
  if (common.subset_pct < 100) out.selection.push_back(text("subset_pct: ", common.subset_pct));
  if (common.validation > 0) out.selection.push_back(text("validation: ", common.validation));
  out.autoencoder = common.autoencoder;
  return out;
}

// How many whole images are not of the first one's size, where samples are as the images are; of a spec, whose training
// refuses them, it is a trouble of each.
int64_t tell_other_sizes(std::vector<CheckedImage>& checked, const ImageSet& set, bool of_spec) {
  const auto first = std::ranges::find(checked, "", &CheckedImage::trouble);
  if (set.params.size.given() || first == checked.end()) return 0;
  const Shape sample = image_sample_shape(set);
  const ImageSize wanted{sample[1], sample[2]};
  int64_t others = 0;
  for (size_t i = 0; i < checked.size(); ++i) {
    if (!checked[i].trouble.empty() || checked[i].size == wanted) continue;
    ++others;
    if (of_spec)
      checked[i].trouble = text(set.store->where(set.images[i].name), ": ", other_size(checked[i].size, wanted));
  }
  return others;
}

int run_data_check(const CommandLine& line) {
  const std::string given = operands(line, 1)[0];
  std::vector<std::string> none;
  std::string looked_for;
  const std::string path = find_image_store(given, data_context(line.run(), "", 0, none), looked_for);
  if (!path.empty() && file_exists(join_path(path, "index.json")))
    return check_shards(line, path) ? 0 : exit_code(ErrorKind::data);
  const auto [set, source, seed, selection, autoencoder] = open_images(line, given, "none");
  if (!selection.empty())
    print_warnings({text(source, ": ", join(selection, ", "), " changes nothing here: all images are checked")});
  std::vector<CheckedImage> checked = check_images(*set);
  const int64_t others = tell_other_sizes(checked, *set, is_spec(given));
  int64_t bad = 0;
  for (const CheckedImage& image : checked) {
    if (image.trouble.empty()) continue;
    print_result(image.trouble);
    ++bad;
  }
  const bool skipped = set->params.on_bad_sample == "skip";
  print_result(text(source, ": ", set->images.size(), " images of ",
                    set->targets.empty() ? text(set->classes, " classes") : text_of(set->targets), ", ", bad, " bad",
                    bad && skipped ? ", which on_bad_sample: skip leaves out" : ""));
  std::vector<ImageSize> sizes;
  for (const CheckedImage& image : checked)
    if (image.size != ImageSize{}) sizes.push_back(image.size);
  if (others > 0)
    print_warnings(
        {text(source, ": ", others, " images differ in size from the first; a spec brings all to one size with ",
              size_line(sizes), " in the data set")});
  std::vector<std::string> copies;
  warn_of_copies(*set, data_context(line.run(), "", 0, copies));
  print_warnings(copies);
  return bad && !skipped ? exit_code(ErrorKind::data) : 0;
}

std::string list_of(const std::vector<double>& numbers, double scale = 1) {
  std::string out;
  for (double value : numbers) out += text(out.empty() ? "[" : ", ", float(scale * value));
  return out + "]";
}

// A split and its classes.
struct CountedSplit {
  const char* name;
  const Split* split;
  std::vector<int64_t> sizes;
};

// A line for each class or label of the named ones, by the sizes that `sizes_in` finds.
void print_sizes(const std::vector<CountedSplit>& splits, const char* word, int64_t classes,
                 const std::vector<std::string>& names, auto&& sizes_in) {
  for (int64_t k = 0; k < classes; ++k) {
    const std::string name = size_t(k) < names.size() ? names[size_t(k)] : "";
    std::string row = formatted("%s %-4lld", word, (long long)k);
    for (const CountedSplit& one : splits)
      if (one.split->size() > 0) row += formatted(" %s %-7lld", one.name, (long long)sizes_in(one)[size_t(k)]);
    print_result(text(row, " ", printable(name, 200)));
  }
}

void print_classes(const Data& data, const std::vector<CountedSplit>& splits) {
  if (data.label_of != LabelOf::sample)
    print_result(text(data.label_of == LabelOf::box ? "boxes" : text(name_of(data.label_of), "s"), " of each class:"));
  print_sizes(splits, "class", data.classes, data.class_names, [](const CountedSplit& one) { return one.sizes; });
  for (size_t k = 0; k < data.targets.size(); ++k) {
    const NamedTarget& target = data.targets[k];
    if (target.kind == TargetKind::number) continue;
    const bool one_each = target.kind == TargetKind::classes;
    print_result(text("samples of each ", one_each ? "class" : "label", " of ", in_quotes(target.name), ":"));
    print_sizes(splits, one_each ? "class" : "label", target.width, target.names,
                [&](const CountedSplit& one) { return sizes_of_target(one.sizes, data.targets, k); });
  }
}

int run_data_stats(const CommandLine& line) {
  const std::string path = operands(line, 1)[0];
  const OpenedSpec spec = open_spec_of_data(line, path);
  Data data = load_data(*spec.experiment, options_of(line, spec), spec.folder);
  print_result(text(data.source, ": samples ", data.sample, " of ", name_of(data.train.dtype())));
  std::vector<CountedSplit> splits = {
      {"train", &data.train, {}}, {"validation", &data.validation, {}}, {"test", &data.test, {}}};
  for (CountedSplit& one : splits) {
    if (one.split->size() > 0) print_result(formatted("%-10s %lld samples", one.name, (long long)one.split->size()));
    one.sizes = class_sizes(*one.split, data, data.source);
  }
  print_classes(data, splits);
  for (const std::string& note : imbalance_lines(spec.experiment->params, data, splits[0].sizes)) print_result(note);
  if (!data.is_image()) return 0;
  set_normalization({{}, {}, true}, data);
  for (const std::string& message : left_out_messages(data)) print_message(message);
  print_result(text("normalize: {mean: ", list_of(data.means), ", std: ", list_of(data.deviations), "}"));
  return 0;
}

// The data set of a spec that reads the shards as the set that they were packed from; `various`: images have no size in
// common, and the set gives none.
std::string shards_setting(const std::string& folder, const OpenedImages& packed, const SampleSize& size,
                           bool various) {
  const ImageParams& params = packed.set->params;
  std::vector<std::string> says{"path: " + yaml_text(folder)};
  if (size.given()) says.push_back("size: " + size.to_string());
  if (various) says.push_back("size: N");
  if (params.channels != 3) says.push_back(text("channels: ", params.channels));
  if (!params.normalize) says.push_back("normalize: false");
  says.insert(says.end(), packed.selection.begin(), packed.selection.end());
  if (packed.autoencoder) says.push_back("autoencoder: true");
  return text("dataset: {Shards: {", join(says, ", "), "}}", various ? "  # N: the side to scale all images to" : "");
}

// Files are packed as they are, and brought to size when they are read.
PackOptions pack_options(const CommandLine& line, const OpenedImages& opened) {
  PackOptions options;
  options.pixels = line.of_verb.pixels;
  options.images = opened.set->params;
  if (line.of_verb.size) options.images.size = *line.of_verb.size;
  if (!options.pixels) options.images.size = {};
  if (line.of_verb.skip_bad) options.images.on_bad_sample = "skip";
  options.seed = opened.seed;
  return options;
}

int run_data_pack(const CommandLine& line) {
  outlive_closed_pipes();
  const auto given = operands(line, 2);
  const OpenedImages opened = open_images(line, given[0], "auto");
  if (line.of_verb.size.value_or(0) > 0 && !line.of_verb.pixels)
    fail(ErrorKind::config, "--size: files are packed as they are; give --pixels too, or size: N in the spec");
  const auto& [set, source, seed, selection, autoencoder] = opened;
  const PackOptions options = pack_options(line, opened);
  if (!selection.empty())
    print_warnings(
        {text(source, ": ", join(selection, ", "),
              " changes nothing here: all images are packed; the line `dataset` below selects from the shards")});
  const PackResult packed = pack_images(*set, given[1], options);
  if (packed.left_out > 0)
    print_warnings({text(source, ": ", counted(packed.left_out, "image"), packed.left_out == 1 ? " is" : " are",
                         " left out; the first: ", packed.first_trouble)});
  size_t shards = 0;
  for (const auto& part : packed.index.parts) shards += part.size();
  print_result(text("wrote ", given[1], ": ", packed.index.samples(LabelledImage::train), " training and ",
                    packed.index.samples(LabelledImage::test), " test samples of ", packed.index.classes.size(),
                    " classes in ", shards, " shards"));
  const double scale = set->params.normalize ? 1 : 255;  // of what the net sees, from 0 to 1
  const bool various = packed.index.sample.rank() == 0 && !set->params.size.given();
  // Pixels have it already; but a net of them is given photos, too, which it brings to the size that its set names.
  const SampleSize size = options.pixels ? options.images.size : set->params.size;
  print_result(shards_setting(given[1], opened, size, various));
  print_result(text("normalize: {mean: ", list_of(packed.index.means, scale),
                    ", std: ", list_of(packed.index.deviations, scale), "}"));
  return 0;
}

int run_data_preview(const CommandLine& line) {
  outlive_closed_pipes();
  const auto given = operands(line, 2);
  const OpenedSpec spec = open_spec_of_data(line, given[0]);
  if (!given[1].ends_with(".png"))
    fail(ErrorKind::config, in_quotes(given[1]), ": the preview is a PNG file; give a name that ends with .png");
  if (!line.of_verb.overwrite) check_preview_place(given[1]);
  RunOptions options = options_of(line, spec);
  options.spec_dir = spec.folder;
  check_spares_image("", given[1], {*spec.experiment, options});
  const Data data = load_data(*spec.experiment, options, spec.folder);
  spec.experiment->fit_batch(line.run(), data.train.size());
  const std::string shown = spec.experiment->placing(
      [&] { return write_preview(*spec.experiment, data, line.run(), line.of_verb.count, given[1]); });
  print_result(text("wrote ", given[1], ": ", shown));
  return 0;
}

}  // namespace

NEON_VERB(run_data_list, "data list", 90, computes, "", "list the data sets and whether they are here");
NEON_VERB(run_data_fetch, "data fetch", 91, computes, "NAME", "download a data set");
NEON_VERB(run_data_check, "data check", 92, takes_data | takes_values | computes, "PATH",
          "read every image of a folder, archive, list, packed folder or spec and list the damaged ones");
NEON_VERB(run_data_stats, "data stats", 93, takes_data | takes_values | computes, "SPEC",
          "print the classes, and the means and deviations of the channels");
NEON_VERB(run_data_pack, "data pack", 94, takes_data | takes_values | computes, "PATH FOLDER",
          "write the images of a folder, archive, list (FILE,CLASS) or spec as shards with checksums");
NEON_VERB(run_data_preview, "data preview", 95, takes_data | takes_values | computes, "SPEC PNG",
          "draw the first batch as the net sees it, augmented, on one sheet");

}  // namespace neon
