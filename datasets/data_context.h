// A data set reads its files in a context: folders to look in, places that it may read, the seed, the free memory.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "datasets/read_limits.h"
#include "datasets/sample_meaning.h"

namespace neon {

struct DataContext {
  std::string data_dir;  // the folder of data sets, and of downloads; "": default_data_dir()
  // A relative path is looked for in the folder where the run began, the current one, the spec's, and data_dir.
  std::string run_dir, spec_dir;
  uint64_t seed = 0;
  bool may_download = true;
  std::vector<std::string>* warnings = nullptr;  // one line each; may be null
  std::function<double()> room;  // free bytes of memory, which may be slow to query; null: without limit
  std::optional<bool> streams;   // the choice that stream: auto made before, as in a run that is resumed
  int rules = kDataRules;
  // The vocabulary of a net that was trained before: it names the tokens, whatever the training text has.
  std::optional<Vocabulary> vocabulary;
  std::optional<TableColumns> columns;                // of that net's table, where they have codes
  std::vector<std::string> series;                    // of the columns of that net's table, where it is a series
  char series_decimal = '\0';                         // the mark before its decimals; 0: there is no such table
  std::optional<Standard> standard, target_standard;  // of that net's samples and targets, where they are a series
  std::vector<NamedTarget> targets;                   // of that net, where it has several
  SampleSize image_size;                              // of that net's images, where they were brought to one
  int64_t tokens = 0;                // those of that net, with names or without; 0: its samples are no tokens
  bool some_classes = false;         // the samples may be of some classes of that net alone, even of one
  std::optional<ReadLimits> limits;  // of a checkpoint's paths; none: all may be read

  // Whether texts of a table that may be meant as numbers or dates are refused: not for a net that has learnt them.
  bool asks_about_texts() const { return rules >= 6 && !some_classes; }

  // Throws a config error where the limits forbid the folder.
  std::string data_folder() const;
  // The places to look for a path, each once, without those that the limits forbid.
  std::vector<std::string> places_of(const std::string& path) const;
  // After a path was not found: throws a config error where the limits forbid one of its places.
  void refuse_forbidden(const std::string& path) const;
  // Throws a config error where the limits forbid `place`, found for `path`, or a link below it.
  void check_may_read(const std::string& place, const std::string& path) const;
  void warn(std::string line) const;
  // The same for a line that is no warning: it begins with "note: ".
  void note(const std::string& line) const { warn("note: " + line); }
  // Warns in two lines that samples of another set are used. Both names are those of specs: "CIFAR10", "ImageFolder".
  void warn_of_stand_in(const std::string& missing, const std::string& stand_in) const;

 private:
  std::vector<std::string> all_places_of(const std::string& path) const;
};

// The folder of data sets without -w: NEON_DATA_DIR, else ~/nervana/data (neon's) if it exists, else the cache folder.
std::string default_data_dir();

// Finds the file of a spec: absolute, or in one of the context's places. If it is missing, throws a data error that
// lists the places, or returns "" and the list. Throws a config error where the limits forbid one of the places.
std::string find_data_file(const std::string& path, const DataContext& context);
std::string find_data_file(const std::string& path, const DataContext& context, std::string& looked_for);

}  // namespace neon
