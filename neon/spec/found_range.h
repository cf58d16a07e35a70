// Ranges of a document, at their nodes.
#pragma once
#include <string_view>
#include <vector>

#include "neon/spec/search_range.h"

namespace neon {

constexpr std::string_view kRangeKey = "search", kOldRangeTag = "!hyperopt";

struct FoundRange {
  uint32_t node;
  SearchRange range;
  std::vector<uint32_t> options;  // the nodes of a choice's options
};

// In the order of the file; an option's own ranges come behind the choice.
std::vector<FoundRange> find_ranges(const RawDocument& document, const Source& source, Problems& problems);

}  // namespace neon
