#include "datasets/download.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "datasets/fetch_part.h"
#include "datasets/file.h"
#include "datasets/hash.h"
#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Held while a file is fetched; the lock goes with the process, however it ends.
class FileLock {
 public:
  explicit FileLock(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(ErrorKind::data, path, ": cannot make the lock file: ", std::strerror(errno));
    while (flock(fd_, LOCK_EX) != 0)
      if (errno != EINTR) {
        const int error = errno;
        close(fd_);
        fail(ErrorKind::data, path, ": cannot lock: ", std::strerror(error));
      }
  }
  ~FileLock() { close(fd_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

// The file while it comes: path.part, gone again unless it is kept.
class PartFile {
 public:
  PartFile(const std::string& path, int64_t cap)
      : path_(path + ".part"), cap_(cap), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(ErrorKind::data, path_, ": cannot write: ", std::strerror(errno));
  }
  ~PartFile() {
    close(fd_);
    if (!kept_) unlink(path_.c_str());
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  bool add(std::string_view bytes) {
    if (head_.size() < 512) head_ += bytes.substr(0, 512 - head_.size());
    size_ += int64_t(bytes.size());
    if (size_ > cap_) return trouble_ = "sends more than the " + std::to_string(cap_) + " bytes expected", false;
    sum_.add(bytes);
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t wrote = write(fd_, bytes.data() + done, bytes.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return trouble_ = "cannot write " + path_ + ": " + std::strerror(errno), false;
      done += size_t(wrote);
    }
    return true;
  }
  std::string sum() { return sum_.hex(); }
  const std::string& head() const { return head_; }
  const std::string& trouble() const { return trouble_; }
  int64_t size() const { return size_; }

  // On disk before it has its name, so that no crash leaves half a file under it.
  void keep_as(const std::string& path) {
    if (fsync(fd_) != 0 || rename(path_.c_str(), path.c_str()) != 0)
      fail(ErrorKind::data, path, ": cannot keep the downloaded file: ", std::strerror(errno));
    kept_ = true;
    const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
      fsync(folder);
      close(folder);
    }
  }

 private:
  std::string path_, head_, trouble_;
  int64_t cap_, size_ = 0;
  Sha256 sum_;
  int fd_;
  bool kept_ = false;
};

// "" when the file came whole; otherwise what went wrong.
std::string fetch(const Download& what, const std::string& url, double connect_seconds, PartFile& file) {
  // Slow but steady bytes pass the limit of a stall; the whole file has its own.
  const double most = connect_seconds + what.stall_seconds + double(what.size_cap) / what.least_rate;
  const FetchOrder order{
      .url = url,
      .protocols = what.https_only ? "https" : "https,http",
      .connect_seconds = connect_seconds,
      .stall_seconds = what.stall_seconds,
      .most_seconds = most,
      .size_cap = what.size_cap,
      .take = [](void* to, std::string_view bytes) { return static_cast<PartFile*>(to)->add(bytes); },
      .to = &file};
  const FetchOutcome outcome = part<FetchPart>().fetch(order);
  if (outcome.came) return "";
  if (!file.trouble().empty()) return file.trouble();
  return outcome.broke_off ? text("broke off after ", file.size(), " bytes") : outcome.problem;
}

// "" when the right file is in place now.
std::string try_mirror(const Download& what, const std::string& url, double connect_seconds) {
  PartFile part(what.path, what.size_cap);
  if (std::string trouble = fetch(what, url, connect_seconds, part); !trouble.empty()) return trouble;
  const std::string sum = part.sum();
  if (sum != what.sha256)
    return text("sent another file: its SHA-256 is ", sum, ", expected ", what.sha256, looks_like_clause(part.head()));
  part.keep_as(what.path);
  return "";
}

// Troubles by host, as "; a.org, b.org: Could not resolve host". A whole address would be long.
class MirrorTroubles {
 public:
  void add(const std::string& url, std::string trouble) {
    const size_t first = url.find("://") == url.npos ? 0 : url.find("://") + 3;
    const std::string host = url.substr(first, url.find('/', first) - first);
    if (const std::string named = ": " + host; trouble.ends_with(named)) trouble.resize(trouble.size() - named.size());
    const auto found = std::ranges::find(all_, trouble, &Hosts::trouble);
    Hosts& hosts = found != all_.end() ? *found : all_.emplace_back(Hosts{trouble, {}});
    if (!std::ranges::count(hosts.names, host)) hosts.names.push_back(host);
  }
  std::string text() const {
    std::string out;
    for (const Hosts& hosts : all_) out += "; " + join(hosts.names, ", ") + ": " + hosts.trouble;
    return out;
  }

 private:
  struct Hosts {
    std::string trouble;
    std::vector<std::string> names;
  };
  std::vector<Hosts> all_;
};

void check_present(const Download& what) {
  const std::string sum = sha256_of_file(what.path);
  if (sum != what.sha256)
    fail(ErrorKind::data, what.path, ": its SHA-256 is ", sum, ", expected ", what.sha256,
         "; delete it to fetch it again");
}

}  // namespace

void download(const Download& what) {
  NEON_ASSERT(!what.urls.empty() && what.size_cap > 0 && what.sha256.size() == 64);
  if (file_exists(what.path)) return check_present(what);
  make_folders(folder_of(what.path));
  const FileLock lock(what.path + ".lock");
  if (file_exists(what.path)) return check_present(what);  // another process was first
  using Clock = std::chrono::steady_clock;
  double left = what.connect_seconds;
  MirrorTroubles troubles;
  for (size_t i = 0; i < what.urls.size(); ++i) {
    // An equal part of what is left for connecting; a mirror that answers at once leaves its part to the next.
    const double part = left / double(what.urls.size() - i);
    const auto start = Clock::now();
    const std::string trouble = try_mirror(what, what.urls[i], part);
    if (trouble.empty()) return;
    left -= std::min(part, std::chrono::duration<double>(Clock::now() - start).count());
    troubles.add(what.urls[i], trouble);
  }
  fail(ErrorKind::data, what.path, ": cannot be downloaded", troubles.text());
}

}  // namespace neon
