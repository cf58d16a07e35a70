// Rules of training: sources of gradients other than a cost of the net's outputs. A rule describes what a step
// computes from a batch and the number whose gradients train the net; optimizers, clipping and the rest are as with a
// cost. Two players take turns: each is a program of its own over the same variables.
#pragma once
#include <string>
#include <vector>

#include "models/network.h"
#include "transforms/cost.h"
#include "transforms/metric.h"

namespace neon {

// A batch as a rule sees it.
struct RuleBatch {
  LayerContext& context;
  const Network& network;
  Expr x;               // (N, ...) samples in the type of activations
  int64_t size = 0;     // N
  int64_t streams = 0;  // samples of a whole batch
  int player = 0;
};

class Rule {
 public:
  static constexpr const char* kCategory = "rule";
  virtual ~Rule() = default;
  virtual const void* params_address() const = 0;
  // A line that says why these layers are not those that the rule trains, or nothing.
  virtual std::string objection(const Network& network) const = 0;

  // Whether the samples must be numbers from 0 to 1.
  virtual bool takes_shares(const Network& network) const {
    (void)network;
    return false;
  }

  // How many players take turns, a program each, and in how many of the phase's first `steps` a player moves. The first
  // moves in every step.
  virtual int players() const { return 1; }
  virtual int64_t moves_before(int player, int64_t steps) const { return player == 0 ? steps : 0; }
  // cost: (1), the number reported for the step. objective: (1), the number whose gradients train.
  struct Step {
    Expr cost, objective;
  };
  virtual Step step(const RuleBatch& batch) const = 0;
  // The branch of the last layer that this player trains; -1: all layers. The largest element of its weights; 0: any.
  virtual int branch_of(int player) const {
    (void)player;
    return -1;
  }
  virtual double clamp(int player) const {
    (void)player;
    return 0;
  }
  // In an evaluation: the net's outputs, the cost of each sample (N,1), and a number of each sample (N,1) for each of
  // results(), whose means are reported.
  struct Measures {
    Expr y, cost;
    std::vector<Expr> results;
  };
  virtual Measures measure(const RuleBatch& batch) const = 0;
  virtual std::vector<Metric::Result> results() const { return {}; }
};

// The source of gradients: a cost or a rule.
struct GradientSource {
  const Cost* cost = nullptr;
  const Rule* rule = nullptr;
};

}  // namespace neon
