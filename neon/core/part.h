// Parts of neon that use a library which takes long to load, such as HDF5. A part is a table of functions in a module,
// which is opened when the table is first asked for: a program starts without the library, and a run that needs none
// never loads it. Tests and tools link the files of the module instead, and then open nothing.
#pragma once
#include <typeinfo>

namespace neon {

// A part in messages.
struct PartName {
  const char* module;   // "hdf5": the module is libneon_hdf5.so
  const char* use;      // "HDF5 files need": begins a message
  const char* package;  // Debian's, with the library: "libhdf5-dev"
};

namespace detail {
void add_part(const char* type, const void* table, const char* version);
const void* find_part(const char* type, const PartName& name);
}  // namespace detail

// The table, a struct of pointers to functions that has a `static constexpr PartName kName`. Throws a failed error
// where the module is missing or cannot be opened.
template <typename Table>
const Table& part() {
  static const auto& found = *static_cast<const Table*>(detail::find_part(typeid(Table).name(), Table::kName));
  return found;
}

// Stands at the end of the file that has the functions.
template <typename Table>
struct PartRegistration {
  // `version`: NEON_MODULE_VERSION, of the module's build.
  PartRegistration(const Table& table, const char* version) : table(table) {
    detail::add_part(typeid(Table).name(), &this->table, version);
  }
  const Table table;
};

}  // namespace neon
