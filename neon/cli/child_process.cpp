#include "neon/cli/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "neon/core/error.h"

extern char** environ;

namespace neon {

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& string : strings) out.push_back(string.data());
  out.push_back(nullptr);
  return out;
}

// Given settings replace the parent's own.
std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  std::vector<std::string> out;
  for (char** own = environ; *own; ++own) {
    const std::string_view setting = *own, name = setting.substr(0, setting.find('=') + 1);
    bool replaced = false;
    for (const std::string& given : settings) replaced = replaced || given.starts_with(name);
    if (!replaced) out.emplace_back(setting);
  }
  out.insert(out.end(), settings.begin(), settings.end());
  return out;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words, const std::vector<std::string>& settings,
                           const std::string& messages)
    : messages_(messages) {
  std::vector<std::string> all = {"neon"}, environment = environment_with(settings);
  all.insert(all.end(), words.begin(), words.end());
  const std::vector<char*> arguments = pointers_to(all), variables = pointers_to(environment);
  make_folder_of(messages);
  const FileHandle log(::open(messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  const FileHandle nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int ends[2];
  if (!log || !nothing || pipe2(ends, O_CLOEXEC) != 0)
    fail(ErrorKind::failed, messages, ": a trial cannot be started: ", system_message(errno));
  pipe_ = FileHandle(ends[0]);
  const FileHandle writes(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const pid_t parent = getpid();
  id_ = fork();
  if (id_ < 0) fail(ErrorKind::memory, "a trial cannot be started: ", system_message(errno));
  if (id_ > 0) return;
  // Between fork and exec only what is safe where other threads hold locks.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || dup2(nothing.get(), STDIN_FILENO) < 0 || dup2(writes.get(), STDOUT_FILENO) < 0 ||
      dup2(log.get(), STDERR_FILENO) < 0)
    _exit(127);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_IGN);  // a terminal's Ctrl-C is for the parent, which ends its children
  execve("/proc/self/exe", arguments.data(), variables.data());
  _exit(127);
}

ChildProcess::~ChildProcess() {
  end();
  if (id_ > 0) waitpid(id_, nullptr, 0);
}

std::vector<std::string> ChildProcess::lines() {
  char part[4096];
  for (ssize_t n; pipe_; unread_.append(part, size_t(n))) {
    n = ::read(pipe_.get(), part, sizeof part);
    if (n < 0 && errno == EINTR) n = 0;
    else if (n < 0) break;  // nothing more for now
    else if (n == 0) pipe_.close();
  }
  std::vector<std::string> out;
  for (size_t end; (end = unread_.find('\n')) != unread_.npos; unread_.erase(0, end + 1))
    out.push_back(unread_.substr(0, end));
  return out;
}

void ChildProcess::end() {
  if (id_ > 0) kill(id_, SIGKILL);
}

std::string ChildProcess::failure() {
  int status = 0;
  if (id_ <= 0 || waitpid(id_, &status, 0) != id_) return "";
  id_ = -1;
  if (WIFSIGNALED(status)) return text("was ended by SIG", sigabbrev_np(WTERMSIG(status)));
  return WEXITSTATUS(status) ? text("ended with exit code ", WEXITSTATUS(status)) : "";
}

std::string ChildProcess::last_message() const {
  std::ifstream file(messages_);
  std::string out;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) out = line;
  return out.substr(0, 500);
}

}  // namespace neon
