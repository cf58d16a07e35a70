// The page, served to browsers while runs go on.
#pragma once
#include <functional>
#include <string>

#include "neon/core/part.h"

namespace neon {

struct LiveOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any that is free
};

// Serves the page and newer data until a stop_signal() comes. `data` gives page_data() of the runs as they are now; its
// errors are answers to the browser. There are two addresses, / and /data.json, and no path of a request reaches the
// file system. Bound to the loopback address, the server refuses requests that name another host, so that no site can
// read the runs through a name of its own. `ready` gets the page's address once it can be opened. Throws a failed error
// that says why where the address or the port cannot be had, or where neon was built without cpp-httplib.
void serve_page(const LiveOptions& options, const std::function<std::string()>& data,
                const std::function<void(const std::string&)>& ready);

// By cpp-httplib, in a module of its own: with the libraries that it needs it takes four milliseconds to load.
struct LivePart {
  static constexpr PartName kName = {"live", "option --live needs", "libcpp-httplib-dev"};
  void (*serve)(const LiveOptions& options, const std::function<std::string()>& data,
                const std::function<void(const std::string&)>& ready);
};

}  // namespace neon
