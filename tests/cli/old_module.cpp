// A module of a neon that never was: a program of another version refuses it.
#include "neon/train/metrics_hdf5.h"

namespace {

const neon::PartRegistration<neon::MetricsPart> part({nullptr, nullptr}, "0.0.1");

}  // namespace
