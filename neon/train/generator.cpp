#include "neon/train/generator.h"

#include <algorithm>
#include <cstring>

#include "neon/train/run_state.h"

namespace neon {

namespace {

void check_sight(const Network& network) {
  const Link* const layer = network.sees_all_steps();
  if (!layer) return;
  const std::string place = layer->where.to_string();
  fail(ErrorKind::config, place, place.empty() ? "" : ": ", "layer ", layer->name,
       " sees the steps that follow, which a text that goes on does not have; train a net of ", kBlindToSteps);
}

}  // namespace

Generator::Generator(const Network& network, const SampleMeaning& meaning, StepOptions options, Variables& variables,
                     const DeviceOptions& device, int64_t sequences)
    : variables_(variables),
      sequences_(sequences),
      tokens_(meaning.tokens),
      sight_(network.sight()),
      window_(meaning.sample[0]),
      seen_(size_t(sequences)) {
  check_sight(network);
  options.batch = sequences;
  DataLayout layout;
  layout.meaning() = meaning;
  const GenerationSteps steps{.steps = sight_ == Sight::before ? window_ : 1,
                              .places = sight_ == Sight::kept ? window_ : 0};
  const StepGraph step = generation_graph(network, layout, steps, options);
  program_ = compile_program(step.graph, variables, device);
  declare_variables(step.graph, variables);
  input_ = Tensor(DType::i32, {sequences, steps.steps});
  place_ = Tensor(DType::i32, {sequences});
}

Tensor Generator::next(const std::vector<int32_t>& tokens) {
  NEON_ASSERT(int64_t(tokens.size()) == sequences_);
  take(tokens);
  if (sight_ == Sight::before) return last_of_window();
  // A net that sees no steps is at no place, and its state begins once.
  const auto last = int64_t(seen_[0].size()) - 1;
  for (int64_t place = again_ ? 0 : last; place <= last; ++place) run_token(place);
  again_ = false;
  return program_->output("y");
}

void Generator::take(const std::vector<int32_t>& tokens) {
  const bool full = int64_t(seen_[0].size()) == window_;
  const int64_t dropped = !full ? 0 : sight_ == Sight::kept ? (window_ + 1) / 2 : 1;
  for (size_t n = 0; n < tokens.size(); ++n) {
    seen_[n].erase(seen_[n].begin(), seen_[n].begin() + long(dropped));
    seen_[n].push_back(tokens[n]);
  }
  again_ = full && sight_ == Sight::kept;
}

void Generator::run(bool start) {
  // A device reads what is bound at once.
  program_->bind("tokens", input_.data());
  if (sight_ == Sight::kept) program_->bind("place", place_.data());
  program_->set_scalar(kStreamStart, start);
  program_->run(0);
}

void Generator::run_token(int64_t place) {
  for (int64_t n = 0; n < sequences_; ++n) {
    input_.as<int32_t>()[size_t(n)] = seen_[size_t(n)][size_t(place)];
    place_.as<int32_t>()[size_t(n)] = int32_t(place);
  }
  run(!begun_ || (again_ && place == 0));
  begun_ = true;
}

Tensor Generator::last_of_window() {
  const auto input = input_.as<int32_t>();
  // Places behind the last token are seen by none before them.
  for (size_t n = 0; n < seen_.size(); ++n)
    std::copy(seen_[n].begin(), seen_[n].end(), input.begin() + long(n) * window_);
  run(true);
  const Tensor y = program_->output("y");
  Tensor out(y.dtype(), {sequences_, tokens_});
  const auto last = int64_t(seen_[0].size()) - 1;
  for (int64_t n = 0; n < sequences_; ++n)
    std::memcpy(out.rows(n, 1).data(), y.rows(n * window_ + last, 1).data(), out.bytes() / size_t(sequences_));
  return out;
}

void Generator::reorder(const std::vector<int64_t>& from) {
  const auto seen = seen_;
  for (size_t n = 0; n < seen_.size(); ++n) seen_[n] = seen[size_t(from[n])];
  variables_.to_host();
  for (const auto& [name, tensor] : variables_.all())
    if (name.starts_with(kGenerationPrefix)) reorder_rows(variables_.at(name), from);
  variables_.to_device();
}

void Generator::reorder_rows(Tensor& rows, const std::vector<int64_t>& from) const {
  const Tensor before = rows.clone();
  for (size_t n = 0; n < from.size(); ++n)
    std::memcpy(rows.rows(int64_t(n), 1).data(), before.rows(from[n], 1).data(), rows.bytes() / size_t(sequences_));
}

}  // namespace neon
