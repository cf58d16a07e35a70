#include "layers/default_init.h"

namespace neon {

namespace {

const Made<Initializer>& usual_init(bool rectifies) {
  static const Made<Initializer> before_rectifiers("Kaiming"), before_others("GlorotUniform");
  return rectifies ? before_rectifiers : before_others;
}

}  // namespace

Made<Initializer> init_before(const Made<Activation>& activation, const Made<Initializer>& given) {
  return given ? given : usual_init(activation && activation->rectifies());
}

std::string name_of_default(const Initializer* used) {
  for (const bool rectifies : {true, false})
    if (used == &*usual_init(rectifies)) return usual_init(rectifies).resolved().entries.front().key;
  return "";
}

}  // namespace neon
