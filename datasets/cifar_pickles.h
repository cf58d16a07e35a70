// The version of CIFAR-10 and CIFAR-100 for Python, which neon 0.9 and 1.x fetched.
#pragma once
#include <string>

#include "datasets/cifar_files.h"

namespace neon {

// Whether a folder or an archive of the set is of that version.
bool is_pickled_cifar(const CifarKind& kind, const std::string& place);
// The name that a file of the binary version has there: "data_batch_1", "meta".
std::string pickled_cifar_name(const CifarKind& kind, const std::string& name);
// The content of such a file as that of the binary version called `name`: records, or a name a line.
std::string unpickled_cifar(const CifarKind& kind, const std::string& name, const std::string& content,
                            const std::string& source);

}  // namespace neon
