#include "neon/cli/session.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "datasets/image.h"
#include "datasets/streaming.h"
#include "neon/cli/arguments.h"
#include "neon/cli/conversion_notes.h"
#include "neon/cli/data_checks.h"
#include "neon/cli/expected_files.h"
#include "neon/cli/kept_parameters.h"
#include "neon/cli/rank_process.h"
#include "neon/cli/slow_note.h"
#include "neon/cli/verb.h"
#include "neon/cli/whole_ranges.h"
#include "neon/core/free_memory.h"
#include "neon/core/key_error.h"
#include "neon/core/paths.h"
#include "neon/spec/override.h"
#include "neon/spec/spec.h"
#include "neon/train/checkpoint.h"
#include "neon/train/class_names.h"
#include "neon/train/finite.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"

namespace neon {

const std::string& only_operand(const CommandLine& line) {
  const Verb* const verb = find_verb(line.verb);
  const std::string usage = text("; usage: ", verb ? usage_of(*verb) : "a SPEC");
  if (line.operands.empty())
    fail(ErrorKind::config, "nothing to work on", usage, " (neon ", verb && line.verb != "train" ? line.verb + " " : "",
         "--help says more)");
  const std::string& first = line.operands.front();
  if (line.operands.size() > 1)
    fail(ErrorKind::config, in_quotes(line.operands[1]), " is one operand too many after ", in_quotes(first), usage);
  if (first.empty()) fail(ErrorKind::config, "the operand is empty", usage);
  return first;
}

OpenedSpec open_spec(const CommandLine& line, const std::string& path) {
  check_may_be_spec(path);
  const Spec spec = load_spec(path, line.overrides, {values_of(line)});
  print_conversion_notes(line, path, spec);
  // A pipe lies in no folder of the user's.
  const size_t slash = is_read_once(path) ? path.npos : path.rfind('/');
  if (!is_read_once(path)) check_whole_ranges(path, line.overrides, values_of(line), spec.unset, spec.ranges);
  return {std::make_unique<Experiment>(spec.root), slash == path.npos ? "." : path.substr(0, slash),
          spec.conversion.options, spec.unset, spec.notation};
}

std::map<std::string, std::string> values_of(const CommandLine& line) {
  std::map<std::string, std::string> out;
  for (const std::string& given : line.values) {
    const size_t equals = given.find('=');
    if (equals == given.npos || equals == 0 || equals + 1 == given.size())
      fail(ErrorKind::config, "option --value: ", in_quotes(given), ": expected NAME=VALUE");
    if (!out.emplace(given.substr(0, equals), given.substr(equals + 1)).second)
      fail(ErrorKind::config, "option --value gives ", in_quotes(given.substr(0, equals)), " twice; leave one out");
  }
  return out;
}

RunOptions options_of(const CommandLine& line, const OpenedSpec& spec) {
  Setting given = line.run_options;
  for (Setting::Entry entry : spec.options.entries) {
    entry.value.value = expand_home(entry.value.value);  // as those of the command line
    // neon's own folder of data sets serves as well as one that is not there.
    const bool helps = entry.key != "data_dir" || std::filesystem::is_directory(entry.value.value);
    if (helps && !given.find(entry.key)) given.entries.push_back(entry);
  }
  if (means_rounding_on(given, spec.notation)) given.find("rounding")->value = text(kUsualRounding);
  RunOptions out = read_params<RunOptions>(given);
  out.model_file = checkpoint_at(out.model_file, kNetFiles);
  return out;
}

OpenedRun open_checkpoint(const CommandLine& line, const std::string& path) {
  check_is_no_spec(path, "a checkpoint (.safetensors)");
  std::vector<std::string> warnings;
  OpenedRun out{unpack_run(load_checkpoint(path, warnings), path), {}, nullptr};
  print_warnings(warnings);
  Setting& root = out.spec = out.run.spec;
  root.set_paths("");
  const Setting before = root;
  Problems problems;
  for (const Override& given : line.overrides) apply_override(root, given, problems);
  problems.throw_if_any();
  out.experiment = std::make_unique<Experiment>(root);
  if (!line.overrides.empty()) check_kept_parameters(out, before);
  return out;
}

RunOptions options_of(const CommandLine& line, const OpenedRun& opened) {
  const RunOptions& then = opened.run.options;
  Setting out = write_params(then);
  *out.find("backend") = Setting::scalar("");  // here there may be another device
  // What --set says now counts, not the option that the run began with.
  const Setting none = write_params(RunOptions());
  for (const auto& entry : opened.spec.entries) {
    const Field* const field = schema_of<ExperimentParams>().find(entry.key);
    if (!field || !entry.value.where.is_option()) continue;
    if (Setting* option = out.find(field->name)) *option = *none.find(field->name);
  }
  for (const auto& entry : line.run_options.entries) *out.find(entry.key) = entry.value;
  const std::string here = current_dir();
  for (const char* name : {"data_dir", "model_file", "output_file", "log_file", "run_folder"}) {
    Setting& file = *out.find(name);
    if (then.run_dir.empty() || then.run_dir == here || file.value.empty()) continue;
    file.value = join_path(line.run_options.find(name) ? here : then.run_dir, file.value);
  }
  return read_params<RunOptions>(out);
}

void check_caffe(const CommandLine& line, const OpenedRun& opened, const std::string& path) {
  const Setting* const given = line.run_options.find("caffe");
  const bool trained = opened.run.options.caffe;
  if (!given || line.run().caffe == trained) return;
  const std::string mend = given->path == "--caffe"
                               ? text("leave --caffe", trained ? "=false" : "", " out")
                               : text("take `caffe = ", given->value, "` out of the file of options ", given->path);
  fail(ErrorKind::config, path, ": the net was trained with", trained ? "" : "out", " --caffe and stays so; ", mend);
}

TensorFile sound_weights(const OpenedRun& opened, const std::string& path) {
  TensorFile out = evaluated_weights(opened.run.file, opened.experiment->params.ema > 0);
  if (const std::string found = first_not_finite(out); !found.empty())
    fail(ErrorKind::diverged, path, ": its net cannot be used: ", found);
  return out;
}

void outlive_closed_pipes() { signal(SIGPIPE, SIG_IGN); }

double room_for(const RunOptions& options) {
  std::string why_not;
  GpuModule* const module = options.backend == "gpu" ? gpu_module(why_not) : nullptr;
  const double here = free_memory();
  return module ? std::min(here, double(module->free_bytes(int(options.device_id)))) : here;
}

bool may_fetch(const CommandLine& line, const RunOptions& options) {
  return options.data_dir.empty() || line.run_options.find("data_dir");
}

DataContext data_context(const RunOptions& options, const std::string& folder, uint64_t seed,
                         std::vector<std::string>& warnings) {
  DataContext context;
  context.data_dir = options.data_dir;
  context.spec_dir = folder;
  if (options.run_dir != current_dir()) context.run_dir = options.run_dir;
  context.seed = seed;
  context.warnings = &warnings;
  context.room = [options] { return room_for(options); };
  return context;
}

uint64_t seed_of(const Experiment& experiment, const RunOptions& options) {
  return uint64_t(options.rng_seed.value_or(experiment.params.rng_seed.value_or(0)));
}

namespace {

// What `work` gives; parameters that do not fit what is in the files are the spec's.
auto of_dataset(const Experiment& experiment, auto&& work) {
  return experiment.placing([&] {
    try {
      return work();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::config) throw;
      fail_about("dataset", error.what());
    }
  });
}

// What `load` gives. Where the file of a checkpoint's data set is gone, the error tells how to name another place.
Data of_former(const FormerRun* former, const Experiment& experiment, const DataContext& context, auto&& load) {
  try {
    return of_dataset(experiment, load);
  } catch (const Error& error) {
    if (!former || former->other_samples || error.kind() != ErrorKind::data || !lacks_path(experiment, context)) throw;
    fail(ErrorKind::data, error.what(), "; ", former->run.file.path,
         " reads its data there, --set dataset.path=", "PLACE reads them from another place");
  }
}

// Whether samples that take so many bytes are too many for the GPU that was chosen.
bool exceed_gpu(double bytes, const Experiment& experiment, const RunOptions& options) {
  std::string why_not;
  GpuModule* const module = options.backend == "gpu" && bytes > 0 ? gpu_module(why_not) : nullptr;
  if (!module) return false;
  return bytes > experiment.params.dataset->common.memory_share * double(module->free_bytes(int(options.device_id)));
}

}  // namespace

Data load_data(const Experiment& experiment, const RunOptions& options, const std::string& folder,
               const FormerRun* former) {
  std::vector<std::string> warnings;
  DataContext context = data_context(options, folder, seed_of(experiment, options), warnings);
  if (former) keep_meaning(*former, context);
  Data data = of_former(former, experiment, context, [&] {
    const SlowNote note("reading the data set ...");
    return experiment.params.dataset->load(context);
  });
  print_warnings(warnings);
  print_warnings(notes_on_metrics(experiment, data));
  check_blanks(experiment, data);
  if (former && data.vocabulary != former->run.meaning.vocabulary)
    fail(ErrorKind::config, former->run.file.path, ": its net was trained on ",
         former->run.meaning.vocabulary.empty() ? text("no text")
                                                : text(name_of(former->run.meaning.vocabulary.unit), " of a text"),
         ", the data set ", data.source, " has ",
         data.vocabulary.empty() ? text("none") : text(name_of(data.vocabulary.unit)),
         "; give it data of the same kind");
  if (former) match_classes(data, former->run.meaning, former->run.file.path, former->other_samples);
  else if (!options.model_file.empty()) match_classes_of_weights(data, options.model_file);
  const bool stays = exceed_gpu(held_bytes(data), experiment, options);
  for (Split* split : {&data.train, &data.test, &data.validation}) split->stays_on_host = stays;
  Normalize normalize = experiment.params.normalize;
  if (former && normalize.is_measured() && int64_t(former->run.meaning.means.size()) == data.sample[0])
    normalize = {former->run.meaning.means, former->run.meaning.deviations};
  experiment.placing([&] { set_normalization(normalize, data); });
  return data;
}

DataCheck check_data(const Experiment& experiment, const RunOptions& options, const std::string& folder) {
  std::vector<std::string> warnings;
  DataContext context = data_context(options, folder, seed_of(experiment, options), warnings);
  context.may_download = false;
  DataCheck check = of_dataset(experiment, [&] { return experiment.params.dataset->check(context); });
  print_warnings(warnings);
  print_warnings(notes_on_metrics(experiment, check));
  check.stays_on_host = exceed_gpu(held_bytes(check), experiment, options);
  experiment.placing([&] { set_normalization(experiment.params.normalize, check); });
  return check;
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    print_message(warning.starts_with("note: ") ? warning : "warning: " + warning);
}

void note_unused_gpu(const std::string& why) { print_message("note: the GPU is not used: " + why); }

void note_unused_tf32(const std::string& where) {
  print_message(text("note: --tf32 does nothing ", where, ": it is for products of f32 on a GPU"));
}

namespace {

// The first GPU, where -i names none, unless it cannot be used and another can. False where none can.
bool name_gpu(RunOptions& options, const std::vector<GpuInfo>& gpus) {
  const auto usable = std::ranges::find(gpus, "", &GpuInfo::unusable);
  if (usable == gpus.end()) return false;
  options.device_id = usable - gpus.begin();
  if (options.device_id > 0)
    print_message(text("note: GPU ", options.device_id, " (", usable->name, ") is used; GPU 0 (", gpus[0].name,
                       ") cannot be: ", gpus[0].unusable));
  return true;
}

std::string why_unusable(const std::vector<GpuInfo>& gpus) {
  std::vector<std::string> all;
  for (const GpuInfo& gpu : gpus)
    all.push_back(text(gpus.size() > 1 ? text("GPU ", all.size(), ", ") : "", gpu.name, ": ", gpu.unusable));
  return join(all, "; ");
}

// Whether a GPU, which nobody asked for, is used.
bool takes_gpu(RunOptions& options) {
  std::string why_not;
  GpuModule* const module = gpu_module(why_not);
  if (const std::string unused = unused_gpu(); !unused.empty()) note_unused_gpu(unused);
  if (!module) return false;
  const std::vector<GpuInfo> gpus = module->devices();
  const bool found = options.device_id > 0 || name_gpu(options, gpus);
  if (found) check_gpu(int(options.device_id));  // that of a run that goes on may have gone
  else note_unused_gpu(why_unusable(gpus));
  return found;
}

// `asked_for_cpu`: by an option or the spec. A file of options is for every verb and type, so it contradicts nothing.
void check_tf32(const CommandLine& line, const RunOptions& options, DType type, bool asked_for_cpu) {
  const Setting* const given = line.run_options.find("tf32");
  const std::string where = type != DType::f32         ? text("in ", name_of(type))
                            : options.backend == "cpu" ? "on the CPU"
                                                       : "";
  if (!given || !options.tf32 || where.empty()) return;
  if (given->path == "--tf32" && (type != DType::f32 || asked_for_cpu))
    fail(ErrorKind::config, "option --tf32 does nothing ", where, ": it is for products of f32 on a GPU; leave it out");
  note_unused_tf32(where);
}

}  // namespace

bool choose_backend(const CommandLine& line, RunOptions& options, const Experiment& experiment) {
  const std::string& backend = options.backend.empty() ? experiment.params.backend : options.backend;
  if (!backend.empty() && backend != "cpu" && backend != "mkl" && backend != "gpu" && backend != "mgpu")
    fail(ErrorKind::config, "backend '", backend, "' is not one of cpu, gpu", did_you_mean(backend, {"cpu", "gpu"}));
  const bool asked = backend == "gpu" || backend == "mgpu";
  bool gpu = asked;
  if (asked) {
    std::string why_not;
    GpuModule* const module = gpu_module(why_not);
    if (!module) fail(ErrorKind::device, "the GPU cannot be used: ", why_not, kCpuHint);
    if (options.device_id == 0 && !line.run_options.find("device_id")) name_gpu(options, module->devices());
    check_gpu(int(options.device_id));
  } else if (backend.empty() && data_type(options, experiment.params) != DType::f64) {
    gpu = takes_gpu(options);
  }
  const bool asked_for_cpu = !backend.empty() && !asked;
  options.backend = gpu ? "gpu" : "cpu";
  if (gpu) take_gpu_of_rank(line, options);
  check_tf32(line, options, data_type(options, experiment.params), asked_for_cpu);
  return asked;
}

std::vector<std::jthread> wake_gpu(const RunOptions& options, const Experiment& experiment) {
  if (options.backend != "gpu") return {};
  std::string why_not;
  const bool by_library = data_type(options, experiment.params) != DType::f64;
  return gpu_module(why_not)->wake(int(options.device_id), by_library && experiment.network().has_own_library());
}

namespace {

// For verbs without a progress line.
class PlainListener : public Listener {
 public:
  void waiting(const std::string& what) override { print_message(what); }
};

}  // namespace

DeviceOptions device_options(const RunOptions& options, const Experiment& experiment) {
  static PlainListener listener;
  DeviceOptions out;
  out.gpu = options.backend == "gpu";
  out.gpu_index = int(options.device_id);
  out.timed = !options.rng_seed && !experiment.params.rng_seed && !options.deterministic;
  out.tf32 = options.tf32;
  out.name = "the net";
  out.listener = &listener;
  return out;
}

}  // namespace neon
