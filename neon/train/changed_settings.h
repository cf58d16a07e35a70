// Names the keys of a spec that a resume has changed, for messages that refuse such a run.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "neon/core/setting.h"

namespace neon {

// One sentence for each of the first changes of two resolved specs under `keys`, as in "dataset.Text.steps was 8 and is
// 6 now"; "" without a change. Keys that only one of them has are left out: a newer neon may have added them.
std::string changed_settings(const Setting& then, const Setting& now, std::span<const std::string_view> keys);

}  // namespace neon
