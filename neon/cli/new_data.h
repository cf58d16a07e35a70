// The user's data as neon new sees them: what is in their files, and the lines of a spec that read them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "neon/cli/session.h"

namespace neon {

class NewData {
 public:
  // A key of the data set, with its value as YAML and what stands behind it in the spec.
  struct Line {
    const char* key;
    std::string value, comment;
  };

  // The data set of this class and these parameters, the path first, changed by --set dataset.KEY=VALUE. `looking` has
  // parameters that count only while the files are looked at. Throws a data error for a file that is missing, and a
  // config error for any other --set. An error that asks for a parameter says with which --set to retry.
  NewData(const CommandLine& line, const char* kind, std::vector<Setting::Entry> params,
          const std::vector<Setting::Entry>& looking = {});

  const Dataset& set() const { return *set_; }
  const DataCheck& check() const { return check_; }
  const DataContext& context() const { return context_; }
  // The value that --set gives to a parameter; null without one.
  const Setting* given(std::string_view key) const;
  // "dataset:" and all below it: these lines, with the values of --set in their places, then the other keys of --set.
  std::string spec(const std::vector<Line>& lines) const;

 private:
  std::string kind_;
  std::vector<Setting::Entry> given_;  // by --set
  std::unique_ptr<Dataset> set_;
  std::vector<std::string> warnings_;
  DataContext context_;
  DataCheck check_;
};

}  // namespace neon
