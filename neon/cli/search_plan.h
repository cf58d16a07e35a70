// A search as the command line asks for it: its ranges, its folder, and how a trial is started.
#pragma once
#include "neon/cli/session.h"
#include "neon/search/sampler.h"
#include "neon/search/trials.h"

namespace neon {

struct SearchPlan {
  std::string path;  // the spec
  std::string folder;
  Space space;   // ranges that change the spec
  Values fixed;  // of the other ranges
  uint64_t seed;
  std::string backend;  // cpu or gpu
  int64_t first_device, at_once;
  nlohmann::ordered_json settings;  // that all trials of a folder share
};

// The options of training steps and --set, as words that give them again; the seed and the device are left out.
std::vector<std::string> words_of_options(const CommandLine& line);

// Throws for a spec that is wrong or has no range, and for devices that are not there.
SearchPlan plan_search(const CommandLine& line);

// The spec with its ranges, as a text.
std::string whole_spec(const CommandLine& line, const std::string& path);
// Throws where the spec is no longer the text that it was `before`: processes that follow read its file. The message
// ends with `mend`.
void check_unchanged(const CommandLine& line, const std::string& path, const std::string& before,
                     const std::string& mend);

// The words of a trial's command line, behind the program's name. `slot` counts the trials that run at once.
std::vector<std::string> words_of_trial(const CommandLine& line, const SearchPlan& plan, const Trial& trial,
                                        int64_t slot, bool with_curve);
// Settings for the environment of a trial: its share of the processors.
std::vector<std::string> settings_of_trial(const SearchPlan& plan);

}  // namespace neon
