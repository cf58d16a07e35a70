#include "neon/spec/old/old_class.h"

#include <algorithm>

namespace neon {

namespace {

std::vector<OldClass>& old_classes() {
  static std::vector<OldClass> classes;
  return classes;
}

std::vector<OldMissing>& old_missing_classes() {
  static std::vector<OldMissing> classes;
  return classes;
}

constexpr std::string_view kOldTag = "!obj:", kOldPackage = "neon.";

}  // namespace

OldKeys operator+(OldKeys a, const OldKeys& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

OldClasses::OldClasses(std::vector<OldClass> classes) { std::ranges::move(classes, std::back_inserter(old_classes())); }

OldClasses::OldClasses(std::vector<OldMissing> missing) {
  std::ranges::move(missing, std::back_inserter(old_missing_classes()));
}

std::string old_class_name(std::string_view tag) {
  if (tag.starts_with(kOldTag)) tag.remove_prefix(kOldTag.size());
  if (tag.starts_with(kOldPackage)) tag.remove_prefix(kOldPackage.size());
  const size_t first = tag.find('.'), last = tag.rfind('.');
  if (first == tag.npos) return std::string(tag);
  return std::string(tag.substr(0, first)) + std::string(tag.substr(last));
}

const OldClass* find_old_class(std::string_view name) {
  const auto found = std::ranges::find(old_classes(), name, &OldClass::name);
  return found == old_classes().end() ? nullptr : &*found;
}

const OldMissing* find_old_missing(std::string_view name) {
  const auto found = std::ranges::find(old_missing_classes(), name, &OldMissing::name);
  return found == old_missing_classes().end() ? nullptr : &*found;
}

std::vector<std::string> old_class_names() {
  std::vector<std::string> out;
  for (const OldClass& known : old_classes()) out.emplace_back(known.name);
  for (const OldMissing& known : old_missing_classes()) out.emplace_back(known.name);
  return out;
}

}  // namespace neon
