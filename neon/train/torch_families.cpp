#include "neon/train/torch_families.h"

#include <algorithm>

#include "neon/core/text.h"

namespace neon {

namespace {

// The words that the names of a family's modules are made of, in the order in which they come at each level. A word
// stands for all of its numbers, unless it is listed with them: "layer" for layer1, layer2. Numbers alone are ordered
// as numbers. GoogLeNet's further classifiers come last, as the branches of a Tree.
struct Family {
  std::string name, sign;  // sign: a word that no other family has
  std::vector<std::string> words;
  double epsilon = kTorchEpsilon;
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"ResNet", "layer1", {"conv1", "bn1", "conv2", "bn2", "conv3", "bn3", "downsample", "layer", "fc"}},
      {"DenseNet",
       "denseblock1",
       {"features", "conv0", "norm0", "denseblock1", "transition1", "denseblock2", "transition2", "denseblock3",
        "transition3", "denseblock4", "denselayer", "norm1", "conv1", "norm2", "conv2", "norm", "conv", "norm5",
        "classifier"}},
      {"GoogLeNet",
       "inception3a",
       {"conv1", "conv2", "conv3", "inception3a", "inception3b", "inception4a", "inception4b", "inception4c",
        "inception4d", "inception4e", "inception5a", "inception5b", "branch", "conv", "bn", "fc", "aux"},
       1e-3},
      {"AlexNet, VGG, MobileNetV2 or SqueezeNet",
       "features",
       {"features", "conv", "squeeze", "expand1x1", "expand3x3", "classifier"}},
  };
  return all;
}

std::vector<std::string> words_of(const std::string& module) {
  std::vector<std::string> out(1);
  for (const char c : module)
    if (c == '.') out.emplace_back();
    else out.back() += c;
  return out;
}

using Key = std::vector<std::pair<int64_t, int64_t>>;  // for each word of a name its place in the table, its number

std::optional<Key> key_of(const std::string& module, const Family& family) {
  const auto place = [&](const std::string& word) {
    return int64_t(std::ranges::find(family.words, word) - family.words.begin());
  };
  const auto none = int64_t(family.words.size());
  Key out;
  for (const std::string& word : words_of(module)) {
    const size_t end = word.find_last_not_of("0123456789") + 1;
    const std::string digits = word.substr(end);
    if (digits.size() > 6) return {};
    const int64_t number = digits.empty() ? -1 : std::stoll(digits);
    if (const int64_t whole = place(word); whole < none) out.emplace_back(whole, -1);
    else if (const int64_t base = place(word.substr(0, end)); base < none) out.emplace_back(base, number);
    else if (end == 0 && number >= 0) out.emplace_back(none, number);
    else return {};
  }
  return out;
}

bool has_word(const std::map<std::string, TorchModule>& modules, const std::string& sign) {
  return std::ranges::any_of(modules,
                             [&](const auto& entry) { return std::ranges::count(words_of(entry.first), sign) > 0; });
}

}  // namespace

std::optional<TorchOrder> torch_order(const std::map<std::string, TorchModule>& modules) {
  for (const Family& family : families()) {
    if (!has_word(modules, family.sign)) continue;
    std::vector<std::pair<Key, std::string>> keyed;
    for (const auto& [name, module] : modules) {
      const std::optional<Key> key = key_of(name, family);
      if (!key) return {};
      keyed.emplace_back(*key, name);
    }
    std::ranges::sort(keyed);
    TorchOrder out{family.name, family.epsilon, {}};
    for (const auto& [key, name] : keyed) out.modules.push_back(name);
    return out;
  }
  return {};
}

std::string torch_families() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.push_back(family.name);
  return join(names, ", ");
}

}  // namespace neon
