#include "neon/cli/predictor.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "neon/cli/heeded_parts.h"
#include "neon/train/gpu_room.h"

namespace neon {

namespace {

// Row i of `from`, which may be shorter, to row `at` of `to`.
void copy_row(const Tensor& from, int64_t i, Tensor& to, int64_t at) {
  const Tensor row = from.rows(i, 1);
  NEON_ASSERT(from.dtype() == to.dtype() && row.bytes() <= to.rows(at, 1).bytes());
  std::memcpy(to.rows(at, 1).data(), row.data(), row.bytes());
}

}  // namespace

Predictor::Predictor(const CommandLine& line, const OpenedRun& opened, const StoredData& stored, std::string path)
    : opened_(opened), stored_(stored), path_(std::move(path)), weights_(sound_weights(opened, path_)) {
  RunOptions options = options_of(line, opened);
  options.rounding = 0;  // of updates alone
  step_ = step_options(options, opened.experiment->params);
  // A few samples are done before a GPU has woken up, so it is used only where it is asked for.
  RunOptions asked = line.run();
  if (asked.backend.empty()) asked.backend = "cpu";
  choose_backend(line, asked, *opened.experiment);
  device_ = device_options(asked, *opened.experiment);
  device_.timed = false;  // as for any evaluation
  indices_ = Tensor(DType::i32, {kMost});
  for (int64_t i = 0; i < kMost; ++i) indices_.set(i, double(i));
  check_graph_heeded(line.verb, opened, [&](const Experiment& of) {
    return evaluation_graph(of.network(), nullptr, {}, layout({stored_.dtype}, 1), 1, step_).graph;
  });
}

DataLayout Predictor::layout(Kind kind, int64_t samples) const {
  DataLayout out;
  out.meaning() = stored_.meaning();
  out.dtype = kind.dtype;
  out.train_size = samples;
  if (kind.held > 0) out.sample = out.sample.with(0, kind.held);
  return kind.steps > 0 ? out.with_steps(kind.steps) : out;
}

StepGraph Predictor::graph_of(Kind kind, int64_t samples) const {
  StepOptions step = step_;
  step.batch = samples;
  return evaluation_graph(opened_.experiment->network(), nullptr, {}, layout(kind, samples), samples, step);
}

std::unique_ptr<Program> Predictor::compile(Kind kind, int64_t batch) {
  const auto bytes = [&](int64_t fewer) {
    GpuNeeds needs(device_);
    needs.add_program(graph_of(kind, fewer).graph, 0, true, false);
    const auto numbers = size_t(layout(kind, fewer).sample.elements());
    needs.hold(size_t(fewer) * (numbers * size_of(kind.dtype) + sizeof(int32_t)));
    return needs.bytes();
  };
  const bool first = programs_.empty();
  const StepGraph graph = graph_of(kind, batch);
  std::unique_ptr<Program> out;
  const auto let_go = [&] {
    out.reset();
    programs_.clear();
    variables_ = {};
  };
  telling_room(device_, [&] { out = compile_program(graph.graph, variables_, device_); }, let_go,
               {.what = "Predictions", .samples = batch, .option = "", .bytes = bytes});
  if (first) {
    declare_variables(graph.graph, variables_);
    restore_variables(weights_, path_, variables_, true);
    variables_.to_device();
  }
  out->bind("indices", indices_.data());
  return out;
}

Predictor::Compiled& Predictor::compiled(Kind kind, int64_t samples) {
  if (const auto found = programs_.find(kind); found != programs_.end() && found->second.back().batch >= samples)
    return *std::ranges::find_if(found->second, [&](const Compiled& one) { return one.batch >= samples; });
  // The first of a kind is of its own size; later ones are of powers of two, so that a few programs do.
  const int64_t batch = programs_.contains(kind) ? int64_t(std::bit_ceil(uint64_t(samples))) : samples;
  std::unique_ptr<Program> program = compile(kind, batch);
  return programs_[kind].emplace_back(batch, std::move(program));
}

void Predictor::check_steps(Kind kind, const std::string& place) {
  const int64_t usual = stored_.sample[0];
  const auto refuse = [&](const std::string& why) {
    fail(ErrorKind::data, place, ": its sequences have ", kind.held, " steps, and the net was trained with ", usual,
         "; it takes no others: ", why,
         stored_.most_steps ? text("; --set dataset.steps=", usual, " cuts longer ones")
                            : text("; give the first ", usual, " steps of longer ones"));
  };
  std::string other;
  try {
    other = other_weight(graph_of({kind.dtype}, 1), graph_of(kind, 1));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config) throw;
    refuse(error.what());
  }
  if (!other.empty()) refuse(text(other, " has numbers for each of ", usual, " steps"));
  if (int64_t(stored_.subtracted.size()) > stored_.sample.elements() / usual)
    refuse("a mean of its own is subtracted from each step");
}

// Whether these are sequences of other steps than those of training. A row may also have all numbers of a sample.
bool Predictor::have_other_steps(const Tensor& samples) const {
  const bool are_rows = samples.shape().rank() <= stored_.sample.rank();
  return stored_.sequence && !are_rows && samples.shape()[1] != stored_.sample[0];
}

Tensor Predictor::run(const Tensor& samples, const std::string& place) {
  if (have_other_steps(samples)) {
    const Kind kind{samples.dtype(), 0, samples.shape()[1]};
    if (!programs_.contains(kind)) check_steps(kind, place);
    return run_alike(samples, kind);
  }
  if (!buckets_) find_buckets(samples.dtype());
  return buckets_->empty() ? run_alike(samples, {samples.dtype()}) : run_by_length(samples);
}

Tensor Predictor::run_alike(const Tensor& samples, Kind kind) {
  const int64_t count = samples.shape()[0];
  Compiled& with = compiled(kind, count);
  const Tensor* all = &samples;
  if (count < with.batch) {
    filled_ = Tensor(samples.dtype(), Shape{with.batch}.concat(samples.shape().slice(1, samples.shape().rank())));
    for (int64_t i = 0; i < with.batch; ++i) copy_row(samples, std::min(i, count - 1), filled_, i);
    all = &filled_;
  }
  with.program->bind("data", all->data());
  with.program->run(0);
  if (with.program->lowered().graph.outputs().contains("predicted")) predicted_ = with.program->output("predicted");
  if (with.program->lowered().graph.outputs().contains("own")) own_ = with.program->output("own");
  return with.program->output("y");
}

void Predictor::find_buckets(DType dtype) {
  buckets_.emplace();
  const Buckets& asked = opened_.experiment->params.buckets;
  if (!asked.is_given() || !stored_.ragged) return;
  const int64_t longest = stored_.sample[0];
  std::vector<int64_t> lengths = asked.steps;
  for (int64_t k = 1; k <= asked.count; ++k) lengths.push_back(std::max<int64_t>(longest * k / asked.count, 1));
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::erase_if(lengths, [&](int64_t steps) { return steps >= longest; });
  const StepGraph whole = graph_of({dtype}, 1);
  for (const int64_t steps : lengths)  // the next bucket takes sequences that are too short
    if (step_of_length(whole, longest, steps, [&] { return graph_of({dtype, steps}, 1); })) buckets_->push_back(steps);
  for (const auto& [name, value] : whole.graph.outputs()) whole_.emplace(name, whole.graph.type(value));
}

std::map<int64_t, std::vector<int64_t>> Predictor::by_length(const Tensor& samples) const {
  std::map<int64_t, std::vector<int64_t>> out;
  const std::vector<int32_t> lengths = sequence_lengths(samples);
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto found = std::ranges::lower_bound(*buckets_, int64_t(lengths[i]));
    out[found == buckets_->end() ? 0 : *found].push_back(int64_t(i));
  }
  return out;
}

// Samples of a bucket run together, and their numbers go back to their places. Numbers of steps that a bucket has not
// are those of padding: 0, and -1 among labels.
Tensor Predictor::run_by_length(const Tensor& samples) {
  const auto rows_of = [&](const char* name) {
    const auto type = whole_.find(name);
    if (type == whole_.end()) return Tensor();
    return Tensor(type->second.dtype, type->second.shape.with(0, samples.shape()[0]));
  };
  Tensor y = rows_of("y"), predicted = rows_of("predicted"), own = rows_of("own");
  for (int64_t i = 0; i < (predicted.empty() ? 0 : predicted.elements()); ++i) predicted.set(i, -1);
  for (const auto& [steps, rows] : by_length(samples)) {
    Tensor some(samples.dtype(), samples.shape().with(0, int64_t(rows.size())));
    for (size_t i = 0; i < rows.size(); ++i) copy_row(samples, rows[i], some, int64_t(i));
    const Tensor found = run_alike(some, {samples.dtype(), steps});
    const auto put = [&](const Tensor& from, Tensor& to) {
      for (size_t i = 0; i < rows.size() && !to.empty(); ++i) copy_row(from, int64_t(i), to, rows[i]);
    };
    put(found, y), put(predicted_, predicted), put(own_, own);
  }
  predicted_ = predicted, own_ = own;
  return y;
}

}  // namespace neon
