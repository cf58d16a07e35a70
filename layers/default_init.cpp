#include "layers/default_init.h"

#include <array>

namespace neon {

namespace {

struct DefaultInit {
  Setting written;
  Made<Initializer> made;
};

DefaultInit default_of(const char* name, const std::vector<std::pair<const char*, const char*>>& values) {
  DefaultInit out{Setting::scalar(name), {}};
  std::vector<Setting::Entry> entries;
  for (const auto& [key, value] : values) entries.push_back({key, Setting::scalar(value), {}});
  if (!entries.empty()) out.written = Setting::map({{name, Setting::map(std::move(entries)), {}}});
  Problems problems;
  Value_of<Made<Initializer>>::read(out.written, out.made, {}, problems);
  problems.throw_if_any();
  return out;
}

// By WeightUse.
const std::array<DefaultInit, 6>& defaults() {
  static const std::array<DefaultInit, 6> all = {
      default_of("Kaiming", {}),
      default_of("GlorotUniform", {}),
      default_of("Gaussian", {{"scale", "0.02"}}),
      default_of("Gaussian", {{"scale", "0.01"}}),
      default_of("Uniform", {{"low", "-1"}, {"high", "1"}}),
      default_of("Constant", {{"val", "0"}}),
  };
  return all;
}

}  // namespace

Made<Initializer> init_or_default(const Made<Initializer>& given, WeightUse use) {
  return given ? given : defaults()[size_t(use)].made;
}

Made<Initializer> init_before(const Made<Activation>& activation, const Made<Initializer>& given) {
  return init_or_default(given, activation && activation->rectifies() ? WeightUse::rectified : WeightUse::product);
}

std::string text_of_default(const Initializer* used) {
  for (const DefaultInit& one : defaults())
    if (used == &*one.made) return one.written.to_string();
  return "";
}

}  // namespace neon
