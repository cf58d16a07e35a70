#include "neon/train/rank_agreement.h"

#include "neon/core/version.h"
#include "neon/train/fingerprint.h"

namespace neon {

namespace {

void check_alike(Ranks& ranks, const std::string& what, const std::string& own, bool show) {
  const std::vector<std::string> all = ranks.gather_texts(own);
  for (size_t k = 1; k < all.size(); ++k)
    if (all[k] != all[0])
      fail(ErrorKind::config, "the ranks of a run must have the same ", what, ", but rank ", k, " of ", all.size(),
           show ? text(" has ", all[k], ", and rank 0 has ", all[0]) : " has not that of rank 0",
           "; start all of them with the same program, spec, options and data");
}

}  // namespace

void check_ranks(const RunSetup& setup, const Position& position) {
  Ranks& ranks = *setup.ranks;
  check_alike(ranks, "version of neon", std::string(version()), true);
  RunOptions options = setup.options;
  options.save_path.clear(), options.output_file.clear(), options.log_file.clear();  // of rank 0 alone
  options.progress_bar = true;
  options.device_id = 0;
  options.serialize = {};
  options.history = 1;
  check_alike(ranks, "spec and options", setup.experiment.resolved(options).to_string(), false);
  check_alike(ranks, "place to begin at",
              text("step ", position.step, " of a run with seed ", position.seed, " and batches of ", setup.step.batch),
              true);
  check_alike(ranks, "data", position.data.empty() ? fingerprint(setup.data) : position.data, true);
  ranks.set_started();
}

std::string first_text(Ranks& ranks, const std::string& own) {
  for (const std::string& text : ranks.gather_texts(own))
    if (!text.empty()) return text;
  return "";
}

}  // namespace neon
