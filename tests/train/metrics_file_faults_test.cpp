// A metrics file beside other programs, killed processes and damage.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "neon/core/error.h"
#include "neon/train/file_lock.h"
#include "tests/support/temp_folder.h"
#include "tests/train/metrics_support.h"

using namespace neon;
using namespace neon_test;
using Catch::Matchers::Contains;
using Lines = std::vector<std::string>;

TEST_CASE("a reader that locks the file disturbs neither side") {
  TempFolder folder;
  const std::string path = folder / "run.h5";
  MetricsFile file = small_file(path);
  // h5py with HDF5's locks on, open while the writer goes on.
  const std::string ready = folder / "ready", go = folder / "go";
  FILE* reader = popen(("HDF5_USE_FILE_LOCKING=TRUE /usr/bin/python3 -c \"import h5py, os, time; f = h5py.File('" +
                        path + "', 'r'); open('" + ready + "', 'w'); n = 0\nwhile not os.path.exists('" + go +
                        "') and n < 1000: time.sleep(0.01); n += 1\nprint(f['cost/train'][0])\"")
                           .c_str(),
                       "r");
  REQUIRE(reader);
  for (int i = 0; i < 1000 && !is_file(ready); ++i) usleep(10'000);
  REQUIRE(is_file(ready));
  file.set("cost/train", 0, 42);
  file.flush();
  CHECK(file.take_messages().empty());
  put_file(go, "");
  char out[64] = {};
  CHECK(fgets(out, sizeof out, reader));
  CHECK(pclose(reader) == 0);
  CHECK(std::string(out) == "42.0\n");
}

TEST_CASE("a second run is refused while the first one writes") {
  TempFolder folder;
  const std::string path = folder / "run.h5";
  {
    MetricsFile first = small_file(path);
    first.set("cost/train", 0, 7);
    CHECK_THROWS_WITH(small_file(path), Contains(path + ": another process is writing it"));
    const MetricsFile::History history{path, 1, 1};
    CHECK_THROWS_WITH(small_file(path, &history), Contains("another process is writing it"));
    first.flush();
    CHECK(first.take_messages().empty());
    CHECK(python_says(path, "f['cost/train'][0]") == "7.0");
  }
  small_file(path);
}

TEST_CASE("a removed file is written again, a replaced one is left alone") {
  TempFolder folder;
  const std::string path = folder / "run.h5";
  MetricsFile file = small_file(path);
  file.set("cost/train", 0, 1);
  file.flush();
  std::filesystem::remove(path);
  file.set("cost/train", 1, 2);
  file.flush();
  Lines messages = file.take_messages();
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0], Contains("was removed; it is written again"));
  CHECK(python_says(path, "f['cost/train'][:2].tolist()") == "[1.0, 2.0]");

  std::filesystem::remove(path);
  put_file(path, "other");
  file.set("cost/train", 2, 3);
  file.flush();
  file.flush();
  messages = file.take_messages();
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0], Contains("was replaced by another program"));
  file.close(RunStatus::complete);
  CHECK(file_content(path) == "other");
}

TEST_CASE("a run that ends without closing is marked killed; a killed process leaves what was flushed") {
  TempFolder folder;
  const std::string path = folder / "run.h5";
  { MetricsFile file = small_file(path); }
  CHECK(python_says(path, "f.attrs['status']") == "killed");

  const pid_t child = fork();
  if (child == 0) {
    MetricsFile file = small_file(path);
    for (int i = 0; i < 6; ++i) file.set("cost/train", i, i);
    file.flush();
    file.set("cost/train", 6, 6);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(python_says(path, "f.attrs['status'], f['cost/train'][:8].tolist()") ==
        "running [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, nan, nan]");
}

TEST_CASE("a file that another program cuts or fills with zeros is written again") {
  const TempFolder folder;
  const std::string path = folder / "run.h5";
  for (const char* when : {"before a flush", "after the last flush"})
    for (const off_t length : {off_t(0), off_t(1000), off_t(-1)}) {
      INFO(when << ", cut to " << length);
      MetricsFile file(path, run_series(), run_attributes());
      file.set("cost/train", 0, 0.5);
      file.flush();
      const auto meddle = [&] {
        const auto size = off_t(std::filesystem::file_size(path));
        REQUIRE(truncate(path.c_str(), length < 0 ? size - 1 : length) == 0);
        if (length == 0) REQUIRE(truncate(path.c_str(), size) == 0);  // zeros
      };
      if (std::string(when) == "before a flush") meddle();
      file.set("cost/train", 1, 0.25);
      file.flush();
      if (std::string(when) != "before a flush") meddle();
      file.close(RunStatus::complete);
      CHECK(file.take_messages() == Lines{path + " was changed by another program; it is written again"});
      const MetricsContents contents = read_metrics(path);
      const StoredSeries* const cost = contents.find("cost/train");
      REQUIRE(cost);
      CHECK((cost->at(0, 0) == 0.5 && cost->at(1, 0) == 0.25 && std::isnan(cost->at(2, 0))));
    }
}

TEST_CASE("the reader of a process that is killed is killed with it, and holds none of its locks") {
  const TempFolder folder;
  const std::string path = folder / "large.h5", held = folder / "held";
  { MetricsFile(path, run_series(20'000), run_attributes(20'000)); }
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);  // readers left behind become children of this process
  int killed = 0, still_held = 0;
  // A busy machine, or a sanitizer, starts readers later.
  for (int milliseconds = 0; milliseconds < 40 || (killed < 5 && milliseconds < 400); milliseconds += 2) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      if (!lock_file(open(held.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), true)) _exit(1);
      for (;;) read_metrics(path);
    }
    while (!is_in_use(held)) usleep(100);
    usleep(useconds_t(milliseconds) * 1000);
    REQUIRE(kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    still_held += is_in_use(held);
    while (waitpid(-1, &status, 0) > 0) killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  // Not all: a reader may have been about to end, or about to close what it was born with.
  CHECK(killed >= 5);
  CHECK(still_held <= 5);
}

TEST_CASE("a damaged file gives an error or values, never a crash of this process") {
  TempFolder folder;
  const std::string path = folder / "run.h5", damaged = folder / "damaged.h5";
  {
    MetricsFile file(path, {{.path = "cost/train", .length = 20, .time_markers = "minibatch"}},
                     {{"config", "n", int64_t(3)}});
  }
  const std::string whole = file_content(path);
  const auto survives = [&](const std::string& content) {
    put_file(damaged, content);
    try {
      read_metrics(damaged);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::data);
      CHECK_THAT(error.what(), Contains(damaged));
    }
  };
  // Each is read by a process of its own, which takes tens of milliseconds under the sanitizers.
#ifdef NEON_WATCHED
  constexpr size_t kBytesApart = 307, kBitsApart = 211;
#else
  constexpr size_t kBytesApart = 97, kBitsApart = 61;
#endif
  // Behind its head HDF5 finds every short file by its length.
  for (size_t length = 0; length < whole.size(); length += length < 1024 ? kBytesApart : 1009)
    survives(whole.substr(0, length));
  // What HDF5 keeps free for later is zeros, which nobody reads.
  const auto is_free = [&](size_t byte) {
    constexpr size_t kBlock = 32;
    return whole.substr(byte / kBlock * kBlock, kBlock).find_first_not_of('\0') == std::string::npos;
  };
  for (size_t bit = 0; bit < whole.size() * 8; bit += kBitsApart) {
    if (is_free(bit / 8)) continue;
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << bit % 8));
    INFO(bit);
    survives(flipped);
  }
  CHECK_THROWS_WITH(read_metrics(folder / "nobody"), Contains("No such file"));
  put_file(damaged, "");
  CHECK_THROWS_WITH(read_metrics(damaged), Contains("damaged.h5"));
}
