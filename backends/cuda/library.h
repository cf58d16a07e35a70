// A shared library opened at run time.
#pragma once
#include <string>
#include <vector>

namespace neon::cuda {

class Library {
 public:
  // Opens the first of `names` that is found; throws a device error that says what `purpose` needs it for.
  Library(const std::vector<std::string>& names, const std::string& purpose);
  Library(const Library&) = delete;
  ~Library() = default;  // stays open: CUDA's libraries cannot be closed while a driver runs

  template <typename Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }
  const std::string& name() const { return name_; }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace neon::cuda
