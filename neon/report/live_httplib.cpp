#include <httplib.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>

#include "neon/core/error.h"
#include "neon/report/live.h"
#include "neon/report/page.h"
#include "neon/train/atomic_file.h"
#include "neon/train/signals.h"

namespace neon {

namespace {

constexpr auto kFresh = std::chrono::seconds(1);
constexpr auto kLookForSignal = std::chrono::milliseconds(50);
constexpr size_t kThreads = 4, kMostOfRequest = 8192;

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == "[::1]";
}

// "localhost" of "localhost:8000" and of "[::1]:8000" the address.
std::string without_port(const std::string& host) {
  const size_t colon = host.rfind(':');
  return colon == host.npos || host.ends_with(']') ? host : host.substr(0, colon);
}

// Data that are read again at most once a second, however many pages ask.
class LiveData {
 public:
  explicit LiveData(const std::function<std::string()>& read) : read_(read) {}
  std::string now() {
    const std::lock_guard lock(mutex_);
    const auto time = std::chrono::steady_clock::now();
    if (content_.empty() || time - read_at_ > kFresh) content_ = read_(), read_at_ = time;
    return content_;
  }

 private:
  const std::function<std::string()>& read_;
  std::mutex mutex_;
  std::string content_;
  std::chrono::steady_clock::time_point read_at_;
};

void answer(httplib::Response& response, int status, const std::string& content, const char* type) {
  response.status = status;
  response.set_content(content, type);
}

// Everything but a GET is refused, and so is a page under another name.
void add_refusals(httplib::Server& server, bool loopback) {
  server.set_pre_routing_handler([loopback](const httplib::Request& request, httplib::Response& response) {
    if (loopback && !is_loopback(without_port(request.get_header_value("Host"))))
      answer(response, 403, "this page is for the machine that it runs on\n", "text/plain");
    else if (request.method != "GET" && request.method != "HEAD")
      answer(response, 405, "this page can only be read\n", "text/plain");
    else return httplib::Server::HandlerResponse::Unhandled;
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"X-Frame-Options", "DENY"},
                              {"Cross-Origin-Resource-Policy", "same-origin"}});
  server.set_socket_options([](socket_t socket) {  // not those that let two programs share a port
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_payload_max_length(kMostOfRequest);
  server.set_keep_alive_timeout(5);
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
}

void add_pages(httplib::Server& server, LiveData& data) {
  const auto serve = [&server, &data](const char* path, const char* type, auto&& form) {
    server.Get(path, [&data, type, form](const httplib::Request&, httplib::Response& response) {
      try {
        answer(response, 200, form(data.now()), type);
      } catch (const std::exception& error) {
        answer(response, 503, reason_of(error, "the runs cannot be read"), "text/plain; charset=utf-8");
      }
    });
  };
  serve("/", "text/html; charset=utf-8", [](const std::string& content) { return page_text(content, true); });
  serve("/data\\.json", "application/json", [](const std::string& content) { return content; });
}

// Why nothing can listen there, and how to mend it.
std::string why_not_bound(const LiveOptions& at) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  if (const int error = getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &wanted, &found))
    return text("no address of that name is found (", gai_strerror(error), "); give an address of this machine with ",
                "--host, or leave --host out");
  int reason = 0;
  for (const addrinfo* one = found; one; one = one->ai_next) {
    const FileHandle tried(socket(one->ai_family, one->ai_socktype, one->ai_protocol));
    reason = tried && bind(tried.get(), one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
  }
  freeaddrinfo(found);
  if (reason == 0 || reason == EADDRINUSE)
    return "another program may have it; give another one with --port, or 0 for any";
  if (reason == EADDRNOTAVAIL)
    return "this machine has no such address; give one of its own with --host, or 0.0.0.0 for all of them";
  if (reason == EACCES) return "ports below 1024 are for the administrator; give another one with --port";
  return system_message(reason);
}

void serve_by_httplib(const LiveOptions& options, const std::function<std::string()>& data,
                      const std::function<void(const std::string&)>& ready) {
  LiveData now(data);
  httplib::Server server;
  add_refusals(server, is_loopback(options.host));
  add_pages(server, now);
  int port = options.port;
  const bool bound = port == 0 ? (port = server.bind_to_any_port(options.host.c_str())) > 0
                               : server.bind_to_port(options.host.c_str(), port);
  if (!bound)
    fail(ErrorKind::failed, "cannot listen on ", printable(options.host), " port ", options.port, ": ",
         why_not_bound(options));
  const SignalGuard guard;
  const std::jthread watch([&server](const std::stop_token& ended) {
    for (; !ended.stop_requested(); std::this_thread::sleep_for(kLookForSignal))
      if (stop_signal()) server.stop();  // which does nothing to a server that does not listen yet
  });
  ready(text("http://", options.host.find(':') == options.host.npos ? options.host : "[" + options.host + "]", ':',
             port, '/'));
  server.listen_after_bind();
}

const PartRegistration<LivePart> live_part({serve_by_httplib}, NEON_MODULE_VERSION);

}  // namespace

}  // namespace neon
