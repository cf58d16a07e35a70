#include "support.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "datasets/streaming.h"
#include "neon/core/registry.h"

namespace neon_test {

std::string TempDir::write(const std::string& name, const std::string& content) const {
  const std::string path = *this / name;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string golden(const std::string& name) { return std::string(NEON_GOLDEN) + "/" + name; }

void copy_file(const std::string& from, const std::string& to) {
  std::filesystem::create_directories(std::filesystem::path(to).parent_path());
  std::filesystem::copy_file(from, to);
}

neon::Setting object(const std::string& name, const Keys& keys) {
  std::vector<neon::Setting::Entry> entries;
  for (const auto& [key, value] : keys) {
    neon::Setting setting = neon::Setting::scalar(value);
    if (value.starts_with('[')) {
      std::vector<neon::Setting> items;
      for (size_t at = 1; at < value.size();) {
        const size_t end = value.find_first_of(",]", at);
        items.push_back(neon::Setting::scalar(value.substr(at, end - at)));
        at = end + (value[end] == ']' ? 1 : 2);
      }
      setting = neon::Setting::list(std::move(items));
    }
    if (value.starts_with('{')) {  // "{a: b, c: d}"
      std::vector<neon::Setting::Entry> items;
      for (size_t at = 1; at < value.size();) {
        const size_t colon = value.find(": ", at), end = value.find_first_of(",}", colon);
        items.push_back(
            {value.substr(at, colon - at), neon::Setting::scalar(value.substr(colon + 2, end - colon - 2)), {}});
        at = end + (value[end] == '}' ? 1 : 2);
      }
      setting = neon::Setting::map(std::move(items));
    }
    entries.push_back({key, std::move(setting), {}});
  }
  return neon::Setting::map({{name, neon::Setting::map(std::move(entries)), {}}});
}

std::unique_ptr<neon::Dataset> make(const std::string& name, const Keys& keys) {
  return neon::Registry<neon::Dataset>::get().create(object(name, keys));
}

neon::DataContext offline(const std::string& folder, uint64_t seed) {
  neon::DataContext context;
  context.data_dir = folder;
  context.seed = seed;
  context.may_download = false;
  return context;
}

std::vector<double> values(const neon::Tensor& tensor) {
  std::vector<double> out;
  for (int64_t i = 0; i < tensor.elements(); ++i) out.push_back(tensor.at(i));
  return out;
}

bool agrees(const neon::DataCheck& check, const neon::Data& data) {
  CHECK(check.found);
  CHECK(check.sample == data.sample);
  CHECK(check.channels_last == data.channels_last);
  CHECK(check.classes == data.classes);
  CHECK(check.dtype == data.train.dtype());
  CHECK(check.scale == data.scale);
  CHECK(check.shift == data.shift);
  const neon::Shape& targets = data.train.targets.shape();
  if (data.train.rows) CHECK(check.target == data.sample);
  else if (data.train.targets.empty()) CHECK(check.target.rank() == 0);
  else CHECK(check.target == (targets.rank() > 1 ? targets.slice(1, targets.rank()) : neon::Shape{1}));
  CHECK(check.train_size == data.train.size());
  CHECK(check.test_size == data.test.size());
  CHECK(check.validation_size == data.validation.size());
  CHECK(check.source == data.source);
  CHECK(neon::held_bytes(check) == neon::held_bytes(data));
  for (const neon::Split* split : {&data.train, &data.test, &data.validation})
    if (split->size() > 0 && !split->rows)
      CHECK(split->inputs.shape().slice(1, split->inputs.shape().rank()) == data.stored_sample());
  return check.found && check.train_size == data.train.size();
}

}  // namespace neon_test
