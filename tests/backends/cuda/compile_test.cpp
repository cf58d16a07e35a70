// Sources that NVRTC compiles on several threads, and what is kept of them on disk. Needs no GPU.
#include "backends/cuda/compile.h"

#include <catch2/catch.hpp>

#include "backends/cuda/source.h"
#include "neon/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/variable.h"

using namespace neon;
using neon_test::Variable;

namespace {

constexpr const char* kWrong = "extern \"C\" __global__ void kernel() { nothing(); }";

// A kernel of that name, which its machine code has in it; the text is as much longer as is said.
std::string source_of(const std::string& name, size_t longer = 0) {
  return text("extern \"C\" __global__ void ", name, "(int* p) { *p = 1; }", std::string(longer, ' '));
}

int files_in(const std::string& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) count += entry.is_regular_file();
  return count;
}

bool has(const std::string& code, const std::string& name) { return code.find(name) != code.npos; }

}  // namespace

TEST_CASE("code is where its source was, of equal ones and of long ones, by one thread and by several") {
  const Variable cache("NEON_CACHE_DIR", "/dev/null"), threads("OMP_NUM_THREADS", GENERATE("1", "2"));
  const std::vector<std::string> sources = {source_of("first"),    source_of("second", 50), source_of("first"),
                                            source_of("third", 9), source_of("fourth"),     source_of("second", 50)};
  const std::vector<std::string> codes = cuda::compile_sources(sources, 90);
  REQUIRE(codes.size() == sources.size());
  const char* const names[] = {"first", "second", "first", "third", "fourth", "second"};
  for (size_t i = 0; i < codes.size(); ++i)
    for (const char* name : {"first", "second", "third", "fourth"})
      CHECK(has(codes[i], name) == (name == std::string(names[i])));
  CHECK(cuda::compile_sources({}, 90).empty());
}

TEST_CASE("a source that is wrong is quoted with the compiler's words, and the others are kept") {
  const TempFolder folder;
  const Variable cache("NEON_CACHE_DIR", folder.path().c_str());
  const std::string good[] = {source_of("before"), source_of("after", 100)};
  CHECK_THROWS_WITH(cuda::compile_sources({good[0], kWrong, good[1]}, 90),
                    Catch::Contains("nothing") && Catch::Contains("sm_90"));
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("what was compiled before is taken from the cache, for the same GPU") {
  const TempFolder folder;
  const Variable cache("NEON_CACHE_DIR", folder.path().c_str());
  cuda::DiskCache("cubin", "sm_90 " NEON_CUDA_VERSION).write(kWrong, "its code");
  CHECK(cuda::compile_sources({kWrong}, 90)[0] == "its code");
  CHECK_THROWS(cuda::compile_sources({kWrong}, 80));
}

TEST_CASE("sources whose code nobody waits for are not compiled to the end") {
  const TempFolder folder;
  const Variable cache("NEON_CACHE_DIR", folder.path().c_str());
  std::vector<std::string> sources;
  for (int i = 0; i < 200; ++i) sources.push_back(source_of(text("kernel", i)));
  { cuda::Compilation dropped(sources, 90, nullptr); }
  CHECK(files_in(folder.path()) < 100);
}

TEST_CASE("for a GPU that the compiler does not know yet there is code that its driver compiles") {
  const Variable cache("NEON_CACHE_DIR", "/dev/null");
  const int arch = GENERATE(92, 999);  // between those that there are, and after them
  const std::string code =
      cuda::compile_sources({cuda::source_head() + "extern \"C\" __global__ void kernel() {}"}, arch)[0];
  CHECK(code.find(".version") != code.npos);
  CHECK(code.find(".target sm_" + std::string(arch == 92 ? "90" : "")) != code.npos);
  CHECK(code.find(".entry kernel") != code.npos);
}

TEST_CASE("a cache keeps what is whole and of its version, and without a folder nothing") {
  const TempFolder folder;
  for (const std::string& root : {folder.path(), std::string("/dev/null")}) {
    const Variable cache_folder("NEON_CACHE_DIR", root.c_str());
    const bool kept = root == folder.path();
    const cuda::DiskCache cache("cubin", "1");
    cache.write("source", "code");
    std::string code;
    CHECK(cache.read("source", code) == kept);
    CHECK(code == (kept ? "code" : ""));
    CHECK(cache.folder() == (kept ? folder.path() + "/cuda" : ""));
    CHECK(cache.keeps() == kept);
    CHECK(!cache.read("another source", code));
    CHECK(!cuda::DiskCache("cubin", "2").read("source", code));
  }
}
