// Whether the shapes of arrays to train and to test with go together, and fit in memory.
#include "datasets/arrays.h"
#include "neon/core/free_memory.h"

namespace neon {

namespace {

std::string rows_text(const ArrayForm& form) { return text(form.name, ": has shape ", form.shape); }

// Whether padding may stand behind the sequences of these inputs.
bool may_be_padded(const ArrayParams& params, const ArrayForm& inputs) {
  return params.tokens > 0 || (params.sequences && inputs.floating);
}

// Samples (T',...) of fewer steps than those to train with, (T,...), are padded. More steps are refused.
bool has_fewer_steps(const ArrayParams& params, const ArrayForm& inputs, const Shape& own, const Shape& sample) {
  const bool differ = own.rank() == sample.rank() && own.with(0, 1) == sample.with(0, 1) && own[0] != sample[0];
  if (!differ || !may_be_padded(params, inputs)) return false;
  if (own[0] > sample[0])
    fail(ErrorKind::data, inputs.name, ": its sequences have ", own[0], " steps, those to train with ", sample[0],
         "; pad the shorter ones with ", params.tokens > 0 ? "-1" : "NaN", " to ", own[0]);
  return true;
}

// Whether the targets of both have one shape; targets of steps have it but for the number of steps.
bool are_targets_alike(const ArrayParams& params, const Shape& sample, const SplitForm& train, const SplitForm& test) {
  const Shape wanted = target_shape(train.targets.shape), own = target_shape(test.targets.shape);
  if (own == wanted) return true;
  const bool of_steps = may_be_padded(params, train.inputs) && wanted[0] == sample[0] && own[0] == test.inputs.shape[1];
  return of_steps && own.rank() == wanted.rank() && own.with(0, 1) == wanted.with(0, 1);
}

}  // namespace

void check_forms(const ArrayParams& params, const SplitForm& train, const SplitForm& test) {
  const Shape sample = sample_shape(train.inputs.shape, params, train.inputs.name);
  for (const SplitForm* split : {&train, &test}) {
    const ArrayForm &inputs = split->inputs, &targets = split->targets;
    if (inputs.name.empty()) continue;
    const Shape own = sample_shape(inputs.shape, params, inputs.name);
    if (own != sample && !has_fewer_steps(params, inputs, own, sample))
      fail(ErrorKind::data, inputs.name, ": its samples are ", own, ", those to train with are ", sample);
    if (!targets.name.empty() && (targets.shape.rank() == 0 || targets.shape[0] != inputs.shape[0]))
      fail(ErrorKind::data, rows_text(targets), ", but ", inputs.name, " has ", inputs.shape[0], " samples: expected (",
           inputs.shape[0], ") or (", inputs.shape[0], ", ...)");
  }
  if (!test.inputs.name.empty() && test.targets.name.empty() != train.targets.name.empty())
    fail(ErrorKind::data, test.inputs.name, ": only one of the training and the test set has targets");
  if (!test.targets.name.empty() && !are_targets_alike(params, sample, train, test))
    fail(ErrorKind::data, rows_text(test.targets), ", its targets are ", target_shape(test.targets.shape),
         ", those to train with are ", target_shape(train.targets.shape));
  const double room = free_memory();
  double bytes = 0;
  for (const ArrayForm* form : {&train.inputs, &train.targets, &test.inputs, &test.targets}) {
    bytes += form->bytes;
    if (bytes > room)
      fail(ErrorKind::memory, rows_text(*form), ": it takes ", bytes_text(form->bytes), ", and only ",
           bytes_text(room - (bytes - form->bytes)), " of memory are free");
  }
}

}  // namespace neon
