// Keys that a spec leaves out, and that a path of --set leads through: layers[0].batch_norm.rho=0.5.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/params.h"

namespace neon {

// The parameter of that name or alias that objects of the class have, of any category; null without one.
const Field* parameter_of_class(std::string_view object, std::string_view key);

// The names of all of these parameters; none of a class that is not registered.
std::vector<std::string> parameters_of_class(std::string_view object);

// Whether values of the parameter are objects, as those of `optimizer` or `init`: their class comes before parameters.
bool takes_objects(const Field& parameter);

}  // namespace neon
