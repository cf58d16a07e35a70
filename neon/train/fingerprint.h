// Which data a run began with, to tell at a resume whether they are the same.
#pragma once
#include <optional>
#include <string>

#include "datasets/dataset.h"

namespace neon {

// "96 training samples (5e6f7a8b), 40 test samples (12345678)": counts, and a checksum of types, shapes, values and
// scaling of either set. Samples that come from files also have checksums of Split::identity and of the contents of
// some files: "(files 5e6f7a8b, contents 0a1b2c3d, values 1a2b3c4d)". A streamed set has no checksum of values.
// Contents are those of at least 512 files and two a class, spread over the set; of shards, of all samples.
std::string fingerprint(const Data& data);
// The part of one set, which is called "training", "test" or "validation".
std::string fingerprint(const Split& split, const std::string& name, const Data& data);

// Whether two such texts are of the same data: all checksums agree that both have, and there is one for each set. Texts
// of versions before streams have values only, others before contents were sampled have no contents.
bool same_data(const std::string& one, const std::string& other);
// The part of such a text that is about one set; "" if it has none.
std::string part_of(const std::string& fingerprint, const std::string& name);

// Whether the training samples of such a text were streamed; nothing if they could not be.
std::optional<bool> was_streamed(const std::string& fingerprint);

}  // namespace neon
