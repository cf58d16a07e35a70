// The files and folders that a run reads its data from: no output takes their place, with --overwrite, too.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "neon/train/experiment.h"

namespace neon {

class ReadPlaces {
 public:
  // Both must outlive it. Files are looked for where an output is there already, and at no other time.
  ReadPlaces(const Experiment& experiment, const RunOptions& options) : experiment_(experiment), options_(options) {}
  // Throws a config error where an output is a file that is read; the message begins with `option`, if there is one.
  // `foreign`: neon did not write the file, so that it may be a sample in one of the folders.
  void check_spares(const std::string& option, const std::string& output, bool foreign) const;

 private:
  struct Places {
    std::vector<std::string> all;
    bool all_files = false;   // of a folder are samples, not images alone
    bool are_tables = false;  // which name images beside them
  };
  const Places& places() const;

  const Experiment& experiment_;
  const RunOptions& options_;
  mutable std::optional<Places> places_;
};

// The same for a PNG, which --overwrite may put in the place of any other.
void check_spares_image(const std::string& option, const std::string& png, const ReadPlaces& read);
// Whether neon has drawn the PNG, or it is not there.
bool is_own_preview(const std::string& png);

}  // namespace neon
