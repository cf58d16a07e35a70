// Steps of recurrent cells; level.h says what they compute. Functions and derivatives are those of the rows of
// table.inc, but a product and a sum are one instruction where the processor has it.
// clang-format off
#include "backends/elementwise/level.h"
#include "backends/elementwise/math.inc"
// clang-format on

namespace neon::elementwise::NEON_LEVEL {
namespace {

#include "backends/elementwise/bf16.inc"

[[gnu::always_inline]] inline float logistic_slope(float g, float y) { return g * (y * (1 - y)); }
[[gnu::always_inline]] inline float tanh_slope(float g, float y) { return g * (1 - y * y); }

// Arrays of a step do not overlap but where they are the same.
#define NEON_EACH_UNIT(n) _Pragma("GCC ivdep") for (int64_t j = 0; j < (n); ++j)

// Between what is stored and what is computed with.
[[gnu::always_inline]] inline float value(float x) { return x; }
[[gnu::always_inline]] inline float value(uint16_t bits) { return to_float(bf16{bits}); }
template <typename T>
[[gnu::always_inline]] inline T stored(float x) {
  if constexpr (__is_same(T, float)) return x;
  else return to_bf16(x).bits;
}
template <typename T>
void store(const float* from, T* to, int64_t n) {
  NEON_EACH_UNIT(n) to[j] = stored<T>(from[j]);
}

// A function as a quotient whose divisor is between 1 and 2, so that four divisors share one division.
struct Parts {
  float over, under;
};
// e^-x = 2^n (1 + rest) for x >= 0, of which e^-87 stands for all that are smaller. `whole`: n + kWhole32.
struct Falling {
  float whole, rest;
};
[[gnu::always_inline]] inline Falling falling(float x) {
  x = 87.0f < x ? 87.0f : x;
  const float whole = x * -1.44269504f + neon_math::kWhole32, n = whole - neon_math::kWhole32;
  const float y = (x + n * 0x1.62ep-1f) + n * 0x1.0bfbe8p-15f;
  return {whole, y * y * neon_math::exp_bend(-y) - y};
}
[[gnu::always_inline]] inline Parts logistic_parts(float x) {
  const Falling e = falling(neon_math::abs(x));
  const float fall = (1 + e.rest) * neon_math::power_of_two(e.whole);  // NaN, whatever its bits, stays NaN
  return {x >= 0 ? 1.0f : fall, 1 + fall};
}
// tanh |x| = (1 - e^-2|x|) / (1 + e^-2|x|)
[[gnu::always_inline]] inline Parts tanh_parts(float x) {
  const Falling e = falling(2 * neon_math::abs(x));
  const float power = neon_math::power_of_two(e.whole), lack = power * e.rest + (power - 1);  // e^-2|x| - 1
  return {neon_math::copysign(lack, x), 2 + lack};
}

[[gnu::always_inline]] inline float tanh_of(float x) {
  const Parts parts = tanh_parts(x);
  return parts.over / parts.under;
}

constexpr int64_t kAtOnce = 128;  // units whose gates wait in the fastest cache for being stored

template <typename T>
void lstm(const LstmValues<T>& p) {
  float room[4][kAtOnce];
  for (int64_t first = 0; first < p.n; first += kAtOnce) {
    const int64_t n = p.n - first < kAtOnce ? p.n - first : kAtOnce;
    const T *zi = p.z.at + first, *zf = zi + p.z.gap, *zo = zf + p.z.gap, *zg = zo + p.z.gap;
    const float *si = p.sums.at + first, *sf = si + p.sums.gap, *so = sf + p.sums.gap, *sg = so + p.sums.gap;
    float* gates[4];
    for (int gate = 0; gate < 4; ++gate)
      if constexpr (__is_same(T, float)) gates[gate] = p.gates.at + first + gate * p.gates.gap;
      else gates[gate] = room[gate];
    float *i = gates[0], *f = gates[1], *o = gates[2], *g = gates[3];
    const float* before = p.c_before + first;
    float *c = p.c + first, *state = p.state + first;
    T* h = p.h + first;
    NEON_EACH_UNIT(n) {
      const Parts pi = logistic_parts(value(zi[j]) + si[j]), pf = logistic_parts(value(zf[j]) + sf[j]),
                  po = logistic_parts(value(zo[j]) + so[j]), pg = tanh_parts(value(zg[j]) + sg[j]);
      const float both = pi.under * pf.under, others = po.under * pg.under, one = 1 / (both * others),
                  of_both = one * others, of_others = one * both;
      const float in = pi.over * (of_both * pf.under), forget = pf.over * (of_both * pi.under),
                  candidate = pg.over * (of_others * po.under);
      i[j] = in;
      f[j] = forget;
      o[j] = po.over * (of_others * pg.under);
      g[j] = candidate;
      c[j] = forget * before[j] + in * candidate;
    }
    NEON_EACH_UNIT(n) {
      const T out = stored<T>(o[j] * tanh_of(c[j]));
      h[j] = out;
      state[j] = value(out);
    }
    if constexpr (!__is_same(T, float))
      for (int gate = 0; gate < 4; ++gate) store(gates[gate], p.gates.at + first + gate * p.gates.gap, n);
  }
}

template <typename T>
void lstm_gradient(const LstmGradients<T>& p) {
  const T *gi = p.gates.at, *gf = gi + p.gates.gap, *go = gf + p.gates.gap, *gg = go + p.gates.gap, *g = p.g;
  float *di = p.inner.at, *df = di + p.inner.gap, *d_o = df + p.inner.gap, *dg = d_o + p.inner.gap;
  const float *c = p.c, *before = p.c_before;
  float *dh = p.dh, *dc = p.dc;
  if (p.gc) NEON_EACH_UNIT(p.n) dc[j] += p.gc[j];
  NEON_EACH_UNIT(p.n) {
    const float i = value(gi[j]), f = value(gf[j]), o = value(go[j]), candidate = value(gg[j]), y = tanh_of(c[j]),
                of_h = dh[j] + value(g[j]), total = dc[j] + tanh_slope(of_h * o, y);
    dh[j] = of_h;
    dc[j] = total * f;
    di[j] = logistic_slope(total * candidate, i);
    df[j] = logistic_slope(total * before[j], f);
    d_o[j] = logistic_slope(of_h * y, o);
    dg[j] = tanh_slope(total * i, candidate);
  }
  for (int gate = 0; gate < 4; ++gate) store(di + gate * p.inner.gap, p.dz.at + gate * p.dz.gap, p.n);
}

void gru_gates(const GruValues& p) {
  const float *zr = p.z.at, *zu = zr + p.z.gap, *sr = p.sums.at, *su = sr + p.sums.gap, *h = p.h;
  float *to_r = p.gates.at, *to_u = to_r + p.gates.gap, *reset = p.reset;
  NEON_EACH_UNIT(p.n) {
    const Parts parts = logistic_parts(zr[j] + sr[j]), of_u = logistic_parts(zu[j] + su[j]);
    const float one = 1 / (parts.under * of_u.under), r = parts.over * (one * of_u.under);
    to_r[j] = r;
    to_u[j] = of_u.over * (one * parts.under);
    reset[j] = r * h[j];
  }
}

void gru_state(const GruValues& p) {
  const float *z = p.z.at + 2 * p.z.gap, *sums = p.sums.at, *gate = p.gates.at + p.gates.gap;
  float *to = p.gates.at + 2 * p.gates.gap, *h = p.h;
  NEON_EACH_UNIT(p.n) {
    const float u = gate[j], candidate = tanh_of(z[j] + sums[j]);
    to[j] = candidate;
    h[j] = (1 - u) * h[j] + u * candidate;
  }
}

void gru_candidate_gradient(const GruGradients& p) {
  const float *gate = p.gates.at + p.gates.gap, *value = gate + p.gates.gap, *g = p.g;
  float *dh = p.dh, *dn = p.dn;
  NEON_EACH_UNIT(p.n) {
    const float of_h = dh[j] + g[j];
    dh[j] = of_h;
    dn[j] = tanh_slope(of_h * gate[j], value[j]);
  }
}

void gru_gates_gradient(const GruGradients& p) {
  const float *gr = p.gates.at, *gu = gr + p.gates.gap, *value = gu + p.gates.gap, *h = p.h_before,
              *of_reset = p.of_reset;
  float *dr = p.of_gates.at, *du = dr + p.of_gates.gap, *dh = p.dh;
  NEON_EACH_UNIT(p.n) {
    const float r = gr[j], u = gu[j];
    dr[j] = logistic_slope(of_reset[j] * h[j], r);
    du[j] = logistic_slope(dh[j] * (value[j] - h[j]), u);
    dh[j] = dh[j] * (1 - u) + of_reset[j] * r;
  }
}

}  // namespace

constinit const Cells cells = {lstm<float>, lstm<uint16_t>, lstm_gradient<float>,   lstm_gradient<uint16_t>,
                               gru_gates,   gru_state,      gru_candidate_gradient, gru_gates_gradient};

}  // namespace neon::elementwise::NEON_LEVEL
