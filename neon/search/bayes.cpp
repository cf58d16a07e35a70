// The method bayes, where neon was built with dlib.
#include "neon/core/error.h"
#include "neon/search/bayes_part.h"

namespace neon {

namespace {

#ifdef NEON_HAVE_DLIB

std::unique_ptr<Sampler> make_bayes(const Space& space, int64_t, uint64_t seed) {
  return part<BayesPart>().make(space, seed);
}

#else

std::unique_ptr<Sampler> make_bayes(const Space&, int64_t, uint64_t) {
  fail(ErrorKind::config,
       "--method bayes needs dlib, and this build has none: install libdlib-dev and build again, or "
       "give --method random");
}

#endif

const MethodRegistration bayes_method({"bayes", "models the outcomes so far and tries the most promising values (dlib)",
                                       false, make_bayes});

}  // namespace

}  // namespace neon
