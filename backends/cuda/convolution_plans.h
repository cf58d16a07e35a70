// Plans for the convolutions of a GPU's programs. Making them takes cuDNN long, some are compiled: those of all shapes
// of a program are made by several threads at once. The choice is remembered on disk. While a program has a plan, equal
// convolutions of any program share it.
#pragma once
#include <exception>
#include <map>

#include "backends/cuda/convolution_case.h"

namespace neon::cuda {

class ConvolutionPlans {
 public:
  explicit ConvolutionPlans(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Has those made that `cases` will ask for.
  void make(const std::vector<ConvolutionCase>& cases, ColdStart* cold);

  // The plan that was chosen before, or those to choose from; neither where there is no engine for it. Throws what
  // making them threw.
  struct Found {
    std::shared_ptr<const Plan> chosen;
    std::vector<Plan> candidates;
  };
  Found take(const ConvolutionCase& of, ColdStart* cold);

  // The choice; `for_good`: it need not be made again.
  std::shared_ptr<const Plan> choose(const ConvolutionCase& of, Plan plan, bool for_good);

 private:
  struct Entry {
    std::string known;  // as the disk has it
    Found found;
    std::exception_ptr problem;
  };
  void add(const ConvolutionCase& of, ColdStart* cold, std::vector<std::pair<const ConvolutionCase*, Entry*>>& work);
  void make_one(const ConvolutionCase& of, Entry& entry, size_t worker) const;

  const std::shared_ptr<Device> device_;
  std::map<std::string, Entry> made_;                      // until they are taken
  std::map<std::string, std::weak_ptr<const Plan>> used_;  // by programs
};

}  // namespace neon::cuda
