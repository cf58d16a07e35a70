#include "models/coded_columns.h"

#include "models/several_targets.h"
#include "neon/core/key_error.h"

namespace neon {

namespace {

std::string name_of_column(const TableColumns& table, size_t k) {
  return k < table.features.size() ? table.features[k] : std::to_string(table.positions[k]);
}

// The same for the name of an array, in which a '/' would say that it belongs to another: a%2Fb.
std::string part_of_name(const TableColumns& table, size_t k) {
  std::string out;
  for (const char c : name_of_column(table, k)) out += c == '/' ? "%2F" : c == '%' ? "%25" : std::string(1, c);
  return out;
}

// As of tables of tokens (WeightUse::table), where a spec may give another.
Made<Initializer> init_of_tables() {
  Made<Initializer> out;
  Problems problems;
  const Setting scale = Setting::map({{"scale", Setting::scalar("0.02"), {}}});
  Value_of<Made<Initializer>>::read(Setting::map({{"Gaussian", scale, {}}}), out, {}, problems);
  problems.throw_if_any();
  return out;
}

// As `of_others`, but for row 0, which begins at zeros: no training row may have a rare or missing value, and then the
// row stays as it is. So an unknown category adds nothing, as one of a column that is not embedded.
class InitOfTable : public Initializer {
 public:
  const void* params_address() const override { return nullptr; }
  void fill(Tensor& tensor, const Fan& fan, Stream& stream) const override {
    of_others_->fill(tensor, fan, stream);
    for (int64_t i = 0; i < tensor.shape()[1]; ++i) tensor.set(i, 0);
  }

 private:
  const Made<Initializer> of_others_ = init_of_tables();
};

// The rows (N,width) of the column's table that x (N,F) names.
Expr rows_of_table(LayerContext& context, const LayerContext::CodedColumn& column, Expr x) {
  static const InitOfTable init;
  const Expr table =
      context.parameter({.name = text(kColumnTables, '/', column.name, "/W"),
                         .layer = kColumnTables,
                         .layer_class = "Embedding",
                         .shape = {column.rows, column.width},
                         .initializer = &init,
                         .fan = {.in = column.rows, .out = column.width, .rows = column.rows, .columns = column.width}},
                        context.master_dtype);
  const Expr codes = cast(columns_of(x, column.place, 1), DType::i32);
  const Value rows = reshape(context.graph, codes, {x.shape()[0]});
  return cast(context.expr(gather(context.graph, table, rows)), context.dtype);
}

}  // namespace

void say_columns(LayerContext& context, const SampleMeaning& data) {
  int64_t place = 0;
  for (size_t k = 0; k < data.table.codes.size(); ++k) {
    const ColumnCode& code = data.table.codes[k];
    if (code.embedded > 0)
      context.coded_columns.push_back({part_of_name(data.table, k), place, code.table_rows(), code.embedded});
    place += code.width();
  }
}

Expr with_columns_looked_up(LayerContext& context, Expr x) {
  if (context.coded_columns.empty()) return x;
  Scope scope(context.graph, kColumnTables);
  context.layer = kColumnTables;
  std::vector<Expr> parts;
  int64_t next = 0;
  const auto add_numbers = [&](int64_t end) {
    if (end > next) parts.push_back(cast(columns_of(x, next, end - next), context.dtype));
  };
  for (const LayerContext::CodedColumn& column : context.coded_columns) {
    add_numbers(column.place);
    parts.push_back(rows_of_table(context, column, x));
    next = column.place + 1;
  }
  add_numbers(x.shape()[1]);
  return joined_outputs(parts);
}

void refuse_embedded(const SampleMeaning& data, const char* key, const char* why) {
  for (size_t k = 0; k < data.table.codes.size(); ++k)
    if (data.table.codes[k].embedded > 0)
      fail_about(key, why, ", and column ", in_quotes(name_of_column(data.table, k)),
                 " of the table is embedded; give it the kind one_hot, under columns of the data set");
}

}  // namespace neon
