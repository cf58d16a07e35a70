// For activations that neither learn nor draw.
#pragma once
#include "transforms/activation.h"

namespace neon_test {

struct NoContext : neon::ActivationContext {
  bool training() const override { return true; }
  neon::Expr learned(const neon::LearnedNumbers& numbers) override {
    neon::fail(neon::ErrorKind::failed, "a test has no ", numbers.name, " to learn");
  }
  neon::Expr draw(const std::string& name, const neon::Shape&) override {
    neon::fail(neon::ErrorKind::failed, "a test draws no ", name);
  }
};

}  // namespace neon_test
