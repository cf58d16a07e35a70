#include "neon/train/output_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "neon/train/signals.h"

namespace neon {

namespace {

std::vector<bool> seen;  // what waits have reported
bool tells_nothing(bool waits) {
  seen.push_back(waits);
  return false;
}
bool tells_of_signal(bool waits) {
  seen.push_back(waits);
  return true;
}

// Nobody reads it unless asked to.
struct FullPipe {
  FullPipe() {
    REQUIRE(pipe(ends) == 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const std::string page(4096, 'x');
    while (write(ends[1], page.data(), page.size()) > 0) continue;
  }
  ~FullPipe() {
    close(ends[0]);
    close(ends[1]);
  }
  void read_some() const {
    std::string page(8192, ' ');
    REQUIRE(read(ends[0], page.data(), page.size()) > 0);
  }
  int ends[2] = {-1, -1};
};

}  // namespace

TEST_CASE("a writer waits for a reader, and reports that it does") {
  const FullPipe full;
  seen.clear();
  on_wait_for_reader(tells_nothing);
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    full.read_some();
  });
  CHECK(wait_for_reader(full.ends[1]));
  reader.join();
  CHECK(seen == std::vector<bool>{true, false});
  CHECK(wait_for_reader(full.ends[1]));
  CHECK(seen.size() == 2);
}

TEST_CASE("a writer waits no longer after a signal, of its own or of whoever started it") {
  const FullPipe full;
  {
    const SignalGuard guard;
    seen.clear();
    on_wait_for_reader(tells_nothing);
    std::thread sender([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      kill(getpid(), SIGTERM);
    });
    const auto before = std::chrono::steady_clock::now();
    CHECK_FALSE(wait_for_reader(full.ends[1]));
    sender.join();
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(1));
    CHECK(seen == std::vector<bool>{true, false});
  }
  // So do later ones, while the program ends.
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) CHECK_FALSE(wait_for_reader(full.ends[1]));
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(1));
  {
    const SignalGuard next;  // forgets the signal
  }
  on_wait_for_reader(tells_of_signal);
  CHECK_FALSE(wait_for_reader(full.ends[1]));
  full.read_some();
  CHECK(wait_for_reader(full.ends[1]));
  on_wait_for_reader(tells_nothing);
}

}  // namespace neon
