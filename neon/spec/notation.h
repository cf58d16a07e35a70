// neon 1.x's notations, rewritten to ours.
#pragma once
#include <string>
#include <vector>

#include "neon/core/setting.h"
#include "neon/spec/conversion.h"
#include "neon/spec/document.h"

namespace neon {

// "1.0" or "1.2" when an item of the root's `layers` carries `type`; else "native".
std::string notation_of(const Setting& root);

// Every {type: Name, config: {...}} and {type: Name, parameters} under it to {Name: {...}}, or to Name when there are
// no parameters. A map with a `type` that cannot be a class's name is left as it is, unless an object must
// stand there: `object_expected` says so of the setting itself, or of each item of a list.
void convert_objects(Setting& setting, bool object_expected, Problems& problems);

// The whole root of any notation: objects everywhere, `define` removed. In a 1.x file batchsize becomes
// batch_size, missing epochs are 1, and keys that only hold anchors go; so do unknown ones, with a warning.
void convert_root(Document& document, const std::string& notation, Conversion& conversion,
                  std::vector<std::string>& notes, Problems& problems);
// What --set may still name as the file does: of a 1.x file the dataset's name, and what is in older_keys.h.
void convert_keys(Setting& root, const std::string& notation, Conversion& conversion, std::vector<std::string>& notes,
                  Problems& problems);

// Whether the text can be a class's name, with or without its package: Affine, neon.layers.Affine.
bool is_class_name(std::string_view text);

// The part of a class's name behind its package.
std::string_view last_part(std::string_view dotted);

// Whether it is {Name: ...}.
bool is_object(const Setting& setting);
// The class of an object, `Name` or {Name: ...}; "" of anything else.
std::string_view class_of(const Setting& setting);

}  // namespace neon
