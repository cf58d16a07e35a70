// Layers of a spec by the names that the net gives to those without one.
#pragma once
#include <string>

#include "neon/core/setting.h"

namespace neon {

// The layer whose default name is Class_N: N counts the layers of the class from 0 in the order of the spec, named
// ones, those inside of branches and the copies that a Repeat will make among them. Null where no layer has it. One of
// several copies is a config error, since the file has no place for it alone.
Setting* layer_by_default_name(Setting& layers, const std::string& key);

}  // namespace neon
