#include "neon/train/generator.h"

#include <cstring>

#include "neon/train/run_state.h"

namespace neon {

Generator::Generator(const Network& network, const SampleMeaning& meaning, StepOptions options, Variables& variables,
                     const DeviceOptions& device, int64_t sequences)
    : variables_(variables), sequences_(sequences), tokens_(meaning.tokens), seen_(size_t(sequences)) {
  if (network.looks_at_other_steps()) window_ = meaning.sample[0];
  options.batch = sequences;
  DataLayout layout;
  layout.meaning() = meaning;
  const StepGraph step = generation_graph(network, layout, window_, options);
  program_ = compile_program(step.graph, variables, device);
  declare_variables(step.graph, variables);
  input_ = Tensor(DType::i32, {sequences, window_});
  program_->bind("tokens", input_.data());
}

Tensor Generator::next(const std::vector<int32_t>& tokens) {
  NEON_ASSERT(int64_t(tokens.size()) == sequences_);
  const auto input = input_.as<int32_t>();
  for (size_t n = 0; n < tokens.size(); ++n) {
    std::vector<int32_t>& seen = seen_[n];
    if (int64_t(seen.size()) == window_) seen.erase(seen.begin());
    seen.push_back(tokens[n]);
    // Places behind the last token are seen by none before them.
    std::copy(seen.begin(), seen.end(), input.begin() + long(n) * window_);
  }
  program_->set_scalar(kStreamStart, begun_ ? 0 : 1);
  begun_ = true;
  program_->run(0);
  const Tensor y = program_->output("y");
  if (window_ == 1) return y;
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
