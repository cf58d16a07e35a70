#include "neon/train/run_start.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>

#include "backends/elementwise/kernels.h"
#include "neon/core/counted.h"
#include "neon/core/team.h"
#include "neon/core/threads.h"
#include "neon/core/version.h"
#include "neon/train/changed_settings.h"
#include "neon/train/fingerprint.h"
#include "neon/train/loss_scale.h"

namespace neon {

uint64_t fresh_seed() { return uint64_t(std::chrono::system_clock::now().time_since_epoch().count()) & 0x7fffffffffff; }

namespace {

std::string device_words(const std::string& name) { return name == "CPU" ? "the CPU" : text("GPU ", name); }

// Warnings of differences that may change the results of a run resumed here.
std::vector<std::string> differences(const Position& then, const Position& here) {
  std::vector<std::string> out;
  if (here.threads < then.threads)
    out.push_back(text("note: the run had ", counted(then.threads, "thread"), ", now ", here.threads,
                       ": results may differ in the last bits"));
  if (here.simd != then.simd)
    out.push_back(text("note: the run used x86-64-", then.simd, ", now x86-64-", here.simd,
                       ": products may differ in the last bits"));
  if (here.device != then.device && !then.device.empty())
    out.push_back(text("note: the run was on ", device_words(then.device), ", now it is on ", device_words(here.device),
                       ": results may differ in the last bits"));
  else if (here.cuda != then.cuda && !then.device.empty())
    out.push_back(text("note: the run had ", then.cuda, ", now ", here.cuda, ": results may differ in the last bits"));
  if (here.version != then.version)
    out.push_back(text("note: the checkpoint was written by neon ", then.version, ", this is ", here.version));
  if (here.device != "CPU" && then.timed && !here.timed)
    out.push_back(
        "note: the run's algorithms were chosen by the clock, now they are not: results may differ in the last bits");
  return out;
}

// Whether an entry of that key, anywhere in a resolved spec, has a value of which `is_meant` is true.
bool has_entry(const Setting& at, std::string_view key, auto&& is_meant) {
  for (const Setting& item : at.items)
    if (has_entry(item, key, is_meant)) return true;
  for (const Setting::Entry& entry : at.entries)
    if ((entry.key == key && is_meant(entry.value)) || has_entry(entry.value, key, is_meant)) return true;
  return false;
}

// Changes of the arithmetic since data rules 9 that the spec of an older run meets.
std::vector<std::string> newer_arithmetic(const StoredRun& stored) {
  std::vector<std::string> out;
  if (stored.meaning.rules >= kRulesOfStepClasses) return out;
  const auto below_one = [](const Setting& value) { return value.is_scalar() && std::atof(value.value.c_str()) < 1; };
  const auto drops = [](const Setting& value) { return value.is_scalar() && std::atof(value.value.c_str()) > 0; };
  const auto is_there = [](const Setting&) { return true; };
  if (has_entry(stored.spec, "layer_decay", below_one))
    out.push_back("note: layer_decay now counts depth along branches; rates of a net with branches differ from before");
  if (stored.meaning.sequence &&
      (has_entry(stored.spec, "Dropout", is_there) || has_entry(stored.spec, "dropout", drops)))
    out.push_back("note: Dropout now numbers its draws by sample and step; it drops other numbers than before");
  return out;
}

// Throws where the samples, or the order in which a step takes them, are not those of the stored run.
void check_same_data(const StoredRun& stored, const Position& here, const RunSetup& setup) {
  constexpr std::string_view kDataset[] = {"dataset"};
  const std::string& path = stored.file.path;
  const std::string changed = changed_settings(stored.spec, setup.experiment.resolved(setup.options), kDataset);
  if (setup.data.streams != stored.meaning.streams && !changed.empty())
    fail(ErrorKind::config, "the order of the samples cannot change when a run goes on: ", changed,
         "; leave it as it was, or start another run from these weights with --model_file ", path);
  if (same_data(here.data, stored.position.data)) return;
  const std::string mend = changed.empty() ? "put the former data back" : changed + "; leave it as it was";
  fail(ErrorKind::data, setup.data.source, ": the data are not those that the run began with: then ",
       stored.position.data, ", now ", here.data, "; ", mend,
       ", or start another run from these weights with --model_file ", path);
}

void resume_from(const StoredRun& stored, const RunSetup& setup, RunStart& start) {
  const Position here = start.position, &then = stored.position;
  check_same_data(stored, here, setup);
  start.notes = differences(then, here);
  std::ranges::move(newer_arithmetic(stored), std::back_inserter(start.notes));
  start.position = then;
  if (then.updates < 0)
    start.position.updates = (then.step - then.skipped) / setup.step.accumulate;  // of an older neon
  start.position.threads = std::min(here.threads, then.threads);
  start.position.ranks = here.ranks;
  start.position.timed = then.timed && here.timed;
  start.position.simd = here.simd;
  start.position.version = here.version;
  start.position.device = here.device;
  start.position.cuda = here.cuda;
}

}  // namespace

RunStart start_of_run(const RunSetup& setup, const StoredRun* resume, std::optional<uint64_t> drawn) {
  const RunOptions& options = setup.options;
  RunStart start;
  Position& position = start.position;
  const auto given = options.rng_seed ? options.rng_seed : setup.experiment.params.rng_seed;
  if (given) position.seed = uint64_t(*given);
  else if (options.deterministic) position.seed = uint64_t(kDeterministicSeed);
  else position.seed = drawn ? *drawn : fresh_seed();
  const bool repeatable = given || options.deterministic;
  start.threads_fixed = setup.gpu || repeatable || resume || setup.ranks;
  position.timed = setup.gpu && !repeatable;
  position.loss_scale = setup.scales_loss() ? kFirstLossScale : 1;
  position.threads = team_size(available_threads());
  position.ranks = setup.rank().ranks;
  position.simd = elementwise::active_level().name;
  position.version = version();
  position.device = setup.device_name;
  position.cuda = setup.cuda;
  if (resume || !options.save_path.empty()) position.data = fingerprint(setup.data);
  if (resume) resume_from(*resume, setup, start);
  return start;
}

void check_position(const Position& position, const RunSetup& setup) {
  const int64_t steps = setup.steps_per_epoch;
  if (position.step_in_epoch > steps || position.step != position.epoch * steps + position.step_in_epoch)
    fail(ErrorKind::data, "the checkpoint's position fits no step of this run: epoch ", position.epoch, ", step ",
         position.step_in_epoch, " of ", steps, ", ", position.step, " steps in all");
  if (position.step == 0) return;
  const PhaseSpan& span = setup.phase_after(position.epoch);
  if (position.phase == span.phase->name && position.phase_first == span.first) return;
  // A run of fewer epochs that ended where this phase begins was in the one before it.
  const auto ends_here = [&](const PhaseSpan& before) {
    return before.phase->name == position.phase && before.first == position.phase_first &&
           before.first + before.epochs == position.epoch;
  };
  if (position.step_in_epoch == 0 && span.first == position.epoch && std::ranges::any_of(setup.phases, ends_here))
    return;
  const auto named = [](const std::string& name, int64_t first) {
    return name.empty() ? std::string("no phase") : text("the phase ", name, " that began after epoch ", first);
  };
  fail(ErrorKind::config, "phases: the checkpoint, of epoch ", position.epoch, ", is in ",
       named(position.phase, position.phase_first), ", the spec has ", named(span.phase->name, span.first),
       " there; leave the phases before it, and -e, as they were");
}

}  // namespace neon
