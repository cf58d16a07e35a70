// torchvision's nets: their modules, ordered by their names alone, come in the order in which PyTorch lists them.
#include "neon/train/torch_families.h"

#include <catch2/catch.hpp>

#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("Modules of torchvision's nets come in the order of their layers") {
  for (const Setting& net : golden("train/golden/torch_orders.json").items) {
    INFO(at(net, "title").value);
    std::map<std::string, TorchModule> modules;
    std::vector<std::string> expected;
    for (const Setting& name : at(net, "modules").items) {
      modules[name.value].name = name.value;
      expected.push_back(name.value);
    }
    const std::optional<TorchOrder> order = torch_order(modules);
    REQUIRE(order);
    CHECK(order->modules == expected);
    CHECK(order->epsilon == (at(net, "title").value == "googlenet" ? 1e-3 : 1e-5));
  }
  std::map<std::string, TorchModule> others;
  others["layer1.0.conv1"].name = "layer1.0.conv1";
  CHECK(torch_order(others));
  others["layer1.0.mixer"].name = "layer1.0.mixer";
  CHECK_FALSE(torch_order(others));
}
