#include "neon/core/params.h"

#include <catch2/catch.hpp>

#include "neon/core/registry.h"

using namespace neon;

namespace {

struct Knobs {
  float rate = 0.5f;
  int count = 3;
  std::vector<int64_t> sizes = {1, 2};
  std::string op = "max";
  std::optional<double> limit;
  bool loud = false;
  static void describe(auto&& p) {
    p("rate", &Knobs::rate, "Fraction of inputs zeroed.", half_open(0, 1));
    p("count", &Knobs::count, "How many.", at_least(1), Alias{"number"}, Unit{"samples"});
    p("sizes", &Knobs::sizes, "Sizes.", at_least(1));
    p("op", &Knobs::op, "What to do.", one_of({"max", "avg"}));
    p("limit", &Knobs::limit, "Upper limit.");
    p("loud", &Knobs::loud, "Whether to shout.");
  }
};

struct Shade {
  static constexpr const char* kCategory = "shade";
  virtual ~Shade() = default;
  virtual const void* params_address() const = 0;
};
struct GreyParams {
  double level = 0.25;
  Made<Shade> under;
  static void describe(auto&& p) {
    p("level", &GreyParams::level, "Brightness.", closed(0, 1));
    p("under", &GreyParams::under, "What lies under it.");
  }
};
struct Grey : Parametrized<Shade, GreyParams> {
  using Parametrized::Parametrized;
};
struct Black : Parametrized<Shade, NoParams> {
  using Parametrized::Parametrized;
};
NEON_REGISTER(Shade, Grey, "Something between.", {"Gray"});
NEON_REGISTER(Shade, Black, "Nothing.");

// A category with shared parameters, and classes that refuse what no single parameter shows.
struct Lamp {
  static constexpr const char* kCategory = "lamp";
  struct Common {
    int watts = 40;
    static void describe(auto&& p) { p("watts", &Common::watts, "Power.", at_least(1)); }
  };
  Common common;
  virtual ~Lamp() = default;
  virtual const void* params_address() const = 0;
};
struct BulbParams {
  int low = 1, high = 2;
  static void describe(auto&& p) {
    p("low", &BulbParams::low, "Least.");
    p("high", &BulbParams::high, "Most.");
  }
};
struct Bulb : Parametrized<Lamp, BulbParams> {
  explicit Bulb(BulbParams given) : Parametrized(given) {
    if (params.low > params.high) fail(ErrorKind::config, "low ", params.low, " is above high ", params.high);
  }
  void check() const {
    if (common.watts > 100) fail(ErrorKind::config, common.watts, " watts are too many for a bulb");
  }
};
NEON_REGISTER(Lamp, Bulb, "A light.");

std::string said_of_bulb(std::vector<Setting::Entry> params) {
  auto file = std::make_shared<const std::string>("a.yaml");
  Setting from = Setting::map({{"Bulb", Setting::map(std::move(params), {file, 2, 5}), {file, 1, 3}}});
  from.set_paths("lamp");
  Problems problems;
  return Registry<Lamp>::get().create(from, problems) ? "" : join(problems.lines(), "\n");
}

Setting entry(const char* key, Setting value) { return Setting::map({{key, std::move(value), {}}}); }

}  // namespace

TEST_CASE("defaults are the member initialisers; what is given replaces them") {
  const Knobs knobs =
      read_params<Knobs>(Setting::map({{"number", Setting::scalar("7"), {}}, {"sizes", Setting::scalar("4"), {}}}));
  CHECK(knobs.rate == 0.5f);
  CHECK(knobs.count == 7);
  CHECK(knobs.sizes == std::vector<int64_t>{4});
  CHECK(read_params<Knobs>(Setting::scalar("0.25")).rate == 0.25f);
}

TEST_CASE("an option counts, whichever of a parameter's names it and the file have") {
  const auto option = std::make_shared<const std::string>("--set"),
             file = std::make_shared<const std::string>("a.yaml");
  const Setting seven = Setting::scalar("7", {option, 0, 0}), five = Setting::scalar("5", {file, 1, 1});
  CHECK(read_params<Knobs>(Setting::map({{"number", five, {}}, {"count", seven, {}}})).count == 7);
  CHECK(read_params<Knobs>(Setting::map({{"count", five, {}}, {"number", seven, {}}})).count == 7);
  CHECK_THROWS_WITH(read_params<Knobs>(Setting::map({{"count", seven, {}}, {"number", seven, {}}})),
                    Catch::Contains("'number' and another spelling of it are both given"));
}

TEST_CASE("everything wrong is said at once, with bound and nearest name") {
  auto file = std::make_shared<const std::string>("a.yaml");
  Setting wrong = Setting::map({{"rate", Setting::scalar("1.5", {file, 2, 9}), {file, 2, 3}},
                                {"cuont", Setting::scalar("1"), {file, 3, 3}},
                                {"op", Setting::scalar("mxa", {file, 4, 7}), {file, 4, 3}},
                                {"loud", Setting::scalar("3"), {}},
                                {"limit", Setting::scalar("1e400"), {}}});
  wrong.set_paths("layers[3]");
  Problems problems;
  read_params<Knobs>(wrong, problems);
  REQUIRE(problems.lines().size() == 5);
  CHECK(problems.lines()[0] == "a.yaml:2:9: layers[3].rate: 1.5 is not in [0, 1)");
  CHECK_THAT(problems.lines()[1], Catch::StartsWith("a.yaml:3:3: layers[3]: unknown key 'cuont'; did you mean count?"));
  CHECK_THAT(problems.lines()[2], Catch::Contains("'mxa' is not one of max, avg; did you mean max?"));
  CHECK_THAT(problems.lines()[3], Catch::Contains("expected true or false, found '3'"));
  CHECK_THAT(problems.lines()[4], Catch::Contains("expected a finite number"));
}

TEST_CASE("of very many problems the first are shown, the others counted") {
  Problems problems;
  CHECK_NOTHROW(problems.throw_if_any());
  for (int i = 1; i <= 23; ++i) problems.add({}, "", text("number ", i));
  CHECK_THROWS_WITH(problems.throw_if_any(),
                    Catch::Contains("number 20\n... and 3 more problems") && !Catch::Contains("number 21"));
}

TEST_CASE("a problem that is met twice is shown once") {
  Problems problems;
  for (const char* line : {"one", "two", "one"}) problems.add({}, "", line);
  CHECK_THROWS_WITH(problems.throw_if_any(), "one\ntwo");
  CHECK(problems.lines().size() == 3);  // each counts for whoever looks for new ones
}

TEST_CASE("a quoted number is text, an integer loses nothing") {
  Setting quoted = Setting::scalar("10");
  quoted.quoted = true;
  Problems problems;
  read_params<Knobs>(entry("count", quoted), problems);
  read_params<Knobs>(entry("count", Setting::scalar("3.7")), problems);
  read_params<Knobs>(entry("count", Setting::scalar("99999999999")), problems);
  CHECK(problems.lines().size() == 3);
  CHECK(read_params<Knobs>(entry("count", Setting::scalar("1e3"))).count == 1000);
}

TEST_CASE("objects are made by name or alias, nested, and written back resolved") {
  Problems problems;
  Setting resolved;
  Setting from = entry("Gray", entry("under", Setting::scalar("Black")));
  auto grey = Registry<Shade>::get().create(from, problems, &resolved);
  REQUIRE(grey);
  CHECK(resolved.to_string() == "{Grey: {level: 0.25, under: {Black: {}}}}");
  Registry<Shade>::get().create(Setting::scalar("Blakc"), problems);
  REQUIRE(problems.lines().size() == 1);
  CHECK_THAT(problems.lines()[0], Catch::Contains("unknown shade 'Blakc'; did you mean Black? (known: Black, Grey)"));
}

namespace {

struct Stack {
  Made<Shade> top, base;
  std::vector<Made<Shade>> others;
  static void describe(auto&& p) {
    p("top", &Stack::top, "What is seen.", Required{});
    p("base", &Stack::base, "What may lie under all.");
    p("others", &Stack::others, "What lies between.");
  }
};

}  // namespace

TEST_CASE("nothing stands for no object, but not for one that is required or listed") {
  const auto error = [](std::vector<Setting::Entry> entries) {
    Setting from = Setting::map(std::move(entries));
    from.set_paths("stack");
    Problems problems;
    read_params<Stack>(from, problems);
    return join(problems.lines(), "\n");
  };
  const Setting::Entry top{"top", Setting::scalar("Grey"), {}}, none{"top", Setting(), {}};
  CHECK(error({top, {"base", Setting(), {}}, {"others", Setting(), {}}}).empty());
  CHECK(error({none}) == "stack.top: no value is given: What is seen.");
  CHECK(error({top, {"others", Setting::list({Setting::scalar("Black"), Setting()}), {}}}) ==
        "stack.others[1]: expected shade, found nothing");
}

TEST_CASE("written parameters read back the same") {
  Knobs knobs;
  knobs.rate = 0.1f;
  knobs.op = "avg";
  knobs.limit = 2.5;
  const Knobs again = read_params<Knobs>(write_params(knobs));
  CHECK(write_params(again).to_string() == write_params(knobs).to_string());
  CHECK(again.rate == 0.1f);
  CHECK(again.limit == 2.5);
}

TEST_CASE("what parameters contradict together is told at their place, not thrown") {
  CHECK(said_of_bulb({{"low", Setting::scalar("1"), {}}, {"watts", Setting::scalar("60"), {}}}) == "");
  CHECK(said_of_bulb({{"low", Setting::scalar("3"), {}}}) == "a.yaml:2:5: lamp.Bulb: low 3 is above high 2");
  CHECK(said_of_bulb({{"watts", Setting::scalar("200"), {}}}) ==
        "a.yaml:2:5: lamp.Bulb: 200 watts are too many for a bulb");
  // Where a parameter is wrong by itself, nothing is said of how they go together.
  CHECK(said_of_bulb({{"low", Setting::scalar("3"), {}}, {"watts", Setting::scalar("0"), {}}}) ==
        "lamp.Bulb.watts: 0 is not at least 1");
  CHECK(said_of_bulb({{"low", Setting::scalar("x"), {}}, {"watts", Setting::scalar("0"), {}}}) ==
        "lamp.Bulb.low: expected an integer, found 'x'\nlamp.Bulb.watts: 0 is not at least 1");
  CHECK(said_of_bulb({{"low", Setting::scalar("2.5"), {}}}) == "lamp.Bulb.low: expected an integer, found '2.5'");
  for (const char* large : {"1e18", "-99999999999999999999"})
    CHECK(said_of_bulb({{"low", Setting::scalar(large), {}}}) ==
          text("lamp.Bulb.low: expected an integer of fewer digits, found '", large, "'"));
}

TEST_CASE("an unknown key may have been meant for a shared parameter") {
  CHECK_THAT(said_of_bulb({{"wats", Setting::scalar("60"), {}}}),
             Catch::Contains("unknown key 'wats'; did you mean watts? (known: low, high, watts)"));
}
