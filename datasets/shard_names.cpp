#include "datasets/shard_names.h"

#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>

#include "datasets/file.h"
#include "neon/core/error.h"

namespace neon {

namespace {

class ShardNames : public SampleFiles {
 public:
  ShardNames(std::string path, int64_t samples) : path_(std::move(path)), samples_(samples) {}

  std::string path(int64_t number) const override {
    std::call_once(read_, [&] { read(); });
    return fault_.empty() ? names_.at(size_t(number)) : text("sample ", number, " (", fault_, ")");
  }

 private:
  // Names are for people: results do not end with a fault of theirs.
  void read() const try {
    constexpr int64_t kMostBytes = int64_t(1) << 32;
    const auto json = nlohmann::json::parse(read_file(path_, kMostBytes), nullptr, false);
    for (const auto& name : json.is_array() ? json : nlohmann::json::array())
      if (name.is_string()) names_.push_back(name.get<std::string>());
    if (int64_t(names_.size()) != samples_)
      fault_ =
          text(path_, " has no list of ", samples_, " names; neon data pack makes the folder anew from the images");
  } catch (const Error& error) {
    fault_ = error.what();
  }

  const std::string path_;
  const int64_t samples_;
  mutable std::once_flag read_;
  mutable std::vector<std::string> names_;
  mutable std::string fault_;
};

}  // namespace

std::string names_file(const std::string& part) { return part + ".names.json"; }

void write_shard_names(const std::string& path, const std::vector<std::string>& names) {
  const std::string content =
      nlohmann::json(names).dump(0, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::FILE* const file = std::fopen(path.c_str(), "wbe");
  const bool good = file && std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (!file || (std::fclose(file) != 0) || !good) fail(ErrorKind::failed, path, ": cannot be written");
}

std::shared_ptr<const SampleFiles> shard_names(const std::string& path, int64_t samples) {
  return std::make_shared<ShardNames>(path, samples);
}

}  // namespace neon
