#include "neon/report/run_views.h"

#include <algorithm>
#include <filesystem>

#include "datasets/file.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/report/evaluation.h"
#include "neon/report/net_nodes.h"
#include "neon/train/checkpoint.h"
#include "neon/train/run_folder.h"
#include "neon/train/run_state.h"

namespace neon {

namespace {

constexpr int64_t kMostBytes = int64_t(1) << 28;  // of a file beside the checkpoint

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// Without the view that `add` makes where it throws.
void guarded(std::vector<std::string>& warnings, auto&& add) {
  try {
    add();
  } catch (const Error& error) {
    warnings.push_back(error.what());
  }
}

// Facts of a batch that a checkpoint's net is described with. Labels of steps are as many as a sample's steps, unless
// the checkpoint says more.
DataLayout layout_of(const StoredRun& run) {
  DataLayout out;
  out.meaning() = run.meaning;
  if (out.label_of == LabelOf::step)
    out.target = {out.target_steps > 0 ? out.target_steps : out.sample.rank() > 0 ? out.sample[0] : 1};
  return out;
}

// The first array of filters that look at a neighbourhood; null without one.
const Parameter* first_filters(const std::vector<Parameter>& all) {
  const auto found = std::ranges::find_if(all, [](const Parameter& p) {
    return p.layer_class == "Convolution" && p.shape.rank() == 4 && p.shape[1] * p.shape[2] > 1;
  });
  return found == all.end() ? nullptr : &*found;
}

void add_filters(const StoredRun& run, const std::vector<Parameter>& parameters, const PictureLimits& limits,
                 RunViews& views) {
  const Parameter* const filters = first_filters(parameters);
  if (!filters) return;
  const auto found = std::ranges::find(run.file.tensors, filters->name, &NamedTensor::name);
  if (found == run.file.tensors.end() || found->tensor.shape() != filters->shape) return;
  PictureSheet sheet = picture_sheet(filter_pictures(found->tensor), limits.side);
  sheet.title = text("Filters of ", filters->owner);
  const Shape& s = filters->shape;
  sheet.note = text(sheet.count, " pictures of ", s[0], " filters ", s[1], "x", s[2], " of ", s[3],
                    s[3] == 1 ? " channel; 0 is grey." : " channels; 0 is grey.");
  views.sheets.push_back(std::move(sheet));
}

// The modification time of one file is behind that of another.
bool is_older(const std::string& file, const std::string& other) {
  std::error_code failed;
  const auto one = std::filesystem::last_write_time(file, failed);
  if (failed) return false;
  const auto two = std::filesystem::last_write_time(other, failed);
  return !failed && one < two;
}

struct SampleSheet {
  const char *file, *title;
  const ReportedSamples& samples;
};

void add_samples(const std::string& folder, const ReportedEvaluation& evaluation, const Shape& image,
                 const PictureLimits& limits, RunViews& views, std::vector<std::string>& warnings) {
  for (const auto& [file, title, samples] : {SampleSheet{kPredictionsFile, "Predictions", evaluation.predicted},
                                             SampleSheet{kWorstFile, "Worst samples", evaluation.worst}}) {
    const std::string path = join_path(folder, file);
    if (samples.captions.empty()) continue;
    if (image.rank() != 3 || !is_file(path)) {
      views.tables.push_back({title, samples.heads, samples.rows});
      continue;
    }
    guarded(warnings, [&] {
      const int64_t most = std::min(limits.most, int64_t(samples.captions.size()));
      const int64_t height = evaluation.height > 0 ? evaluation.height : image[1];
      const int64_t width = evaluation.width > 0 ? evaluation.width : image[2];
      PictureSheet sheet =
          picture_sheet(cells_of_sheet(read_file(path, kMostBytes), height, width, most, path), limits.side);
      sheet.title = title;
      if (!evaluation.beside.empty()) sheet.note = text("Beside each sample: ", evaluation.beside, ".");
      sheet.captions.assign(samples.captions.begin(), samples.captions.begin() + sheet.count);
      views.sheets.push_back(std::move(sheet));
    });
  }
}

// guided_LAYER.png: a picture of each map, and the image beside it.
void add_guided(const std::string& folder, const Shape& image, const PictureLimits& limits, RunViews& views,
                std::vector<std::string>& warnings) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (const std::string name = entry.path().filename(); name.starts_with(kGuidedBegin) && name.ends_with(".png"))
      names.push_back(name);
  std::ranges::sort(names);
  for (const std::string& name : names)
    guarded(warnings, [&] {
      const std::string path = join_path(folder, name);
      views.sheets.push_back(
          guided_sheet(name.substr(kGuidedBegin.size(), name.size() - kGuidedBegin.size() - 4),
                       cells_of_sheet(read_file(path, kMostBytes), image[1], image[2], 2 * limits.most, path), limits));
    });
}

// Shapes (C,H,W) of the samples as they are and as the net gets them, where they are images; else empty.
struct ImageShapes {
  Shape sample, input;
};

ImageShapes add_net(const std::string& checkpoint, const PictureLimits& limits, RunViews& views,
                    std::vector<std::string>& warnings) {
  ImageShapes out;
  guarded(warnings, [&] {
    const StoredRun run = unpack_run(load_checkpoint(checkpoint, warnings), checkpoint);
    const Experiment experiment(run.spec);
    const DataLayout data = layout_of(run);
    const DescribedNet net = describe_net(experiment.last_phase(), data, step_options(run.options, experiment.params));
    if (run.meaning.is_image()) out = {run.meaning.sample, net.sample};
    views.net = draw_net(net_nodes(net));
    views.net_summary = net_summary(net);
    add_filters(run, net.parameters, limits, views);
  });
  return out;
}

}  // namespace

PictureSheet guided_sheet(const std::string& layer, const Tensor& pairs, const PictureLimits& limits) {
  PictureSheet out = picture_sheet(pairs, limits.side);
  out.title = text("Guided backpropagation: ", layer);
  out.note = "Pixels that each feature map responds to, and beside them the image that the map responds to most.";
  for (int64_t i = 0; i < out.count; ++i)
    out.captions.push_back(i % 2 == 0 ? std::vector{text("map ", i / 2)} : std::vector<std::string>{""});
  return out;
}

RunViews views_of_folder(const std::string& folder, const PictureLimits& limits, std::vector<std::string>& warnings,
                         std::string checkpoint) {
  RunViews out;
  for (const std::string& name : kNetFiles)
    if (checkpoint.empty() && is_file(join_path(folder, name))) checkpoint = join_path(folder, name);
  const ImageShapes image = checkpoint.empty() ? ImageShapes() : add_net(checkpoint, limits, out, warnings);
  const size_t filters = out.sheets.size();  // which come behind samples
  const std::string path = join_path(folder, kEvaluationFile);
  if (is_file(path))
    guarded(warnings, [&] {
      const ReportedEvaluation evaluation = read_evaluation(read_file(path, kMostBytes), path, warnings);
      out.evaluation = evaluation.json;
      if (is_older(path, checkpoint)) out.evaluation_note = "The checkpoint is newer than this evaluation.";
      add_samples(folder, evaluation, image.sample, limits, out, warnings);
    });
  std::ranges::rotate(out.sheets, out.sheets.begin() + std::ptrdiff_t(filters));
  if (image.input.rank() == 3) add_guided(folder, image.input, limits, out, warnings);
  return out;
}

}  // namespace neon
