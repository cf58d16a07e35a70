// Embedded columns of a table: a sample has the number of a row for each, and a net begins by looking up these rows.
#pragma once
#include "datasets/sample_meaning.h"
#include "layers/layer.h"

namespace neon {

// The name of that part of the net, as of a layer; parameter columns/NAME/W of the column NAME is (rows, numbers).
constexpr const char* kColumnTables = "columns";

// Tells the layers which columns of the samples are embedded.
void say_columns(LayerContext& context, const SampleMeaning& data);

// Samples x (N,F) in f32 or f64, which hold numbers of 24 bits, -> (N,G) in the type of activations: each embedded
// column is replaced by a row of its table. x itself where no column is embedded.
Expr with_columns_looked_up(LayerContext& context, Expr x);

// Throws a config error where a column is embedded, which `key` does not go with: "key: WHY; give ...".
void refuse_embedded(const SampleMeaning& data, const char* key, const char* why);

}  // namespace neon
