// Limits for the paths of a checkpoint, which may come from somebody else and name any file.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace neon {

struct ReadLimits {
  std::string asks;  // the checkpoint, for messages
  // Files and folders that the user names, by an option or a setting of the machine. Links below them are followed.
  std::vector<std::string> named;
  // The checkpoint's own folder and the current one. Links that lead out of them are refused.
  std::vector<std::string> own;
  std::map<std::string, std::string, std::less<>> keys;  // of paths in the spec, for messages: "dataset.path"

  // Whether a file or a folder, there already or not, may be read by the name `place`.
  bool allow(const std::string& place) const;
  // Throws a config error unless `place` and, of a folder, everything that links below it lead to may be read. `path`
  // is how the checkpoint writes the name.
  void check(const std::string& place, const std::string& path) const;
  // Throws the config error for a place that is not allowed, or for a link below it. It names the options to give.
  [[noreturn]] void refuse(const std::string& place, const std::string& path, const std::string& link) const;

 private:
  bool is_named(const std::string& place) const;
};

}  // namespace neon
