// Programs of the CPU with the teams of threads that the runtime gives, which may be smaller than asked for. The suite
// runs once for each of several settings of OpenMP in the environment; cases change what a program can change itself.
#include "neon/core/team.h"

#include <omp.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

#include "tests/backends/nets.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int kAsked = 8;  // threads: more than most machines that run this have processors

// OpenMP's settings of the calling thread, which return.
class Settings {
 public:
  Settings(bool dynamic, int levels) : dynamic_(omp_get_dynamic()), levels_(omp_get_max_active_levels()) {
    omp_set_dynamic(dynamic);
    omp_set_max_active_levels(levels);
  }
  ~Settings() {
    omp_set_dynamic(dynamic_);
    omp_set_max_active_levels(levels_);
  }

 private:
  int dynamic_, levels_;
};

// The largest difference of a variable after three steps with `threads` from those with one, by the variable's size.
double difference(const Net& net, int threads) {
  Variables one, several;
  const auto by_one = net.compile(one, ProgramOptions{.threads = 1}),
             by_several = net.compile(several, {.threads = threads});
  for (uint64_t step = 0; step < 3; ++step) by_one->run(step), by_several->run(step);
  double worst = std::abs(by_one->output("cost").at(0) - by_several->output("cost").at(0));
  for (const Parameter& p : net.step.parameters) {
    const Tensor &a = one.at(p.name), &b = several.at(p.name);
    double largest = 1e-3, off = 0;
    for (int64_t i = 0; i < a.elements(); ++i) {
      largest = std::max(largest, std::abs(a.at(i)));
      const double difference = std::abs(a.at(i) - b.at(i));
      if (!(difference <= off)) off = difference;  // also a NaN
    }
    if (!(off / largest <= worst)) worst = off / largest;
  }
  return worst;
}

}  // namespace

TEST_CASE("a team is as large as the runtime makes it") {
  const int size = team_size(kAsked);
  CHECK(size >= 1);
  CHECK(size <= kAsked);
  int seen = 0;
  {
    const Team team(size);
    CHECK(omp_get_max_threads() == size);
    CHECK_FALSE(omp_get_dynamic());
#pragma omp parallel reduction(+ : seen)
    seen += 1;
  }
  CHECK(seen == size);
  const char* const limit = std::getenv("OMP_THREAD_LIMIT");
  const char* const levels = std::getenv("OMP_MAX_ACTIVE_LEVELS");
  if ((limit && std::string(limit) == "1") || (levels && std::string(levels) == "0")) CHECK(size == 1);
  else if (limit) CHECK(size == std::stoi(limit));
  else CHECK(size == kAsked);
}

TEST_CASE("a team leaves the caller's settings as they were") {
  const Settings settings(true, 1);
  omp_set_num_threads(3);
  { const Team team(1); }
  CHECK(omp_get_dynamic());
  CHECK(omp_get_max_threads() == 3);
}

TEST_CASE("training gives the numbers of one thread, whatever the team") {
  const struct {
    bool dynamic;
    int levels;
  } settings[] = {{omp_get_dynamic() != 0, omp_get_max_active_levels()}, {true, 1}, {false, 0}};
  for (const auto& [dynamic, levels] : settings) {
    INFO("dynamic " << dynamic << ", active levels " << levels);
    const Settings set(dynamic, levels);
    CHECK(difference(mnist_small(), kAsked) < 1e-4);
    CHECK(difference(images(DType::f32, 16, 64), kAsked) < 1e-4);
    CHECK(difference(modules(), kAsked) < 1e-4);
    CHECK(difference(three_layers(DType::f32, 500), kAsked) < 1e-4);
  }
}

TEST_CASE("a caller's parallel region gets programs of one thread") {
  for (int levels : {1, 2}) {
    const Settings set(false, levels);
    int teams = 0, wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : teams, wrong)
    {
      teams += omp_get_num_threads() == 2 && team_size(kAsked) != 1;
      wrong += !(difference(images(DType::f32, 16, 64), kAsked) < 1e-4);
    }
    CHECK(teams == 0);
    CHECK(wrong == 0);
  }
}

TEST_CASE("a program made for a team does not run where there is none") {
  const Net net = mnist_small();
  Variables variables;
  const auto program = net.compile(variables, ProgramOptions{.threads = 2});
  const bool several = team_size(2) == 2;
  std::string message;
  const Settings set(false, 0);
  try {
    program->run(0);
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message == (several ? "a program made for 2 threads cannot run where OpenMP gives 1" : ""));
}
