// Keys and parameters that all data sets of neon 0.9 share.
#pragma once
#include "neon/spec/old/old_translation.h"

namespace neon {

// Whether the samples of the data set of that name are no images.
bool is_old_flat(std::string_view name);
OldKeys old_dataset_keys(OldKeys own);
// repo_path, validation_pct and an autoencoder's targets.
void finish_old_dataset(OldTranslation& t, const OldObject& object, OldResult& out);
// A problem where the data layer is for samples of another shape than the data set has.
void check_old_shape(OldTranslation& t, const std::vector<int64_t>& shape);

}  // namespace neon
