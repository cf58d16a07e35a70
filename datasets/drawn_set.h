// Sets that the program draws itself, from streams of a seed.
#pragma once
#include "datasets/dataset.h"
#include "neon/core/random.h"

namespace neon {

// A set whose training and test samples are drawn from streams of the seed. P has ntrain, ntest and seed.
template <typename P>
class DrawnSet : public Parametrized<Dataset, P> {
 public:
  using Parametrized<Dataset, P>::Parametrized;

  Data load(const DataContext& context) const override {
    Data out;
    const uint64_t seed = this->params.seed.value_or(context.seed);
    out.meaning() = meaning();
    out.source = source();
    out.train = draw(this->params.ntrain, Stream(seed, text(streams(), "/train")));
    out.test = draw(this->params.ntest, Stream(seed, text(streams(), "/test")));
    DataContext drawn = context;
    drawn.some_classes = true;  // classes may be missing among few samples
    return this->finish(std::move(out), drawn);
  }

  DataCheck check(const DataContext&) const override {
    DataCheck out;
    out.found = true;
    out.source = source();
    out.meaning() = meaning();
    out.target = target();
    out.train_size = this->params.ntrain;
    out.test_size = this->params.ntest;
    return this->finish(out);
  }

 protected:
  virtual const char* source() const = 0;   // "drawn strings"
  virtual const char* streams() const = 0;  // the beginning of their names
  virtual SampleMeaning meaning() const = 0;
  virtual Shape target() const { return {}; }  // of a sample, where it is no label
  virtual Split draw(int64_t n, Stream stream) const = 0;
};

}  // namespace neon
