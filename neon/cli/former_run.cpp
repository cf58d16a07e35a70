#include "neon/cli/session.h"
#include "neon/train/fingerprint.h"

namespace neon {

void keep_meaning(const FormerRun& former, DataContext& context) {
  const SampleMeaning& kept = former.run.meaning;
  context.may_download = former.may_fetch, context.limits = former.limits;
  if (!kept.vocabulary.empty()) context.vocabulary = kept.vocabulary;
  if (!kept.table.codes.empty()) context.columns = kept.table;
  if (kept.sequence) context.series = kept.table.features, context.series_decimal = kept.table.decimal;
  if (!kept.standard.empty()) context.standard = kept.standard;
  if (!kept.target_standard.empty()) context.target_standard = kept.target_standard;
  context.targets = kept.targets, context.tokens = kept.tokens, context.image_size = kept.image_size;
  context.rules = kept.rules, context.some_classes = former.other_samples;
  if (former.goes_on) context.streams = was_streamed(former.run.position.data);
}

}  // namespace neon
