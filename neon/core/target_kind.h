// Kinds of targets, where a data set says the kind of each of several.
#pragma once
#include <cstdint>
#include <string_view>

namespace neon {

// `classes`: one class of several; `labels`: any number of labels, each present or not.
enum class TargetKind : uint8_t { number, classes, labels };
constexpr std::string_view name_of(TargetKind kind) {
  constexpr std::string_view kNames[] = {"number", "classes", "labels"};
  return kNames[size_t(kind)];
}

}  // namespace neon
