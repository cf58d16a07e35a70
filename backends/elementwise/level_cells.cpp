// Steps of recurrent cells; level.h says what they compute. Functions and derivatives are those of the rows of
// table.inc, but a product and a sum are one instruction where the processor has it.
// clang-format off
#include "backends/elementwise/level.h"
#include "backends/elementwise/math.inc"
// clang-format on

namespace neon::elementwise::NEON_LEVEL {
namespace {

using neon_math::logistic;
using neon_math::tanh;

[[gnu::always_inline]] inline float logistic_slope(float g, float y) { return g * (y * (1 - y)); }
[[gnu::always_inline]] inline float tanh_slope(float g, float y) { return g * (1 - y * y); }

// Arrays of a step do not overlap but where they are the same.
#define NEON_EACH_UNIT(n) _Pragma("GCC ivdep") for (int64_t j = 0; j < (n); ++j)

void lstm(const LstmValues& p) {
  const float *zi = p.z.at, *zf = zi + p.z.gap, *zo = zf + p.z.gap, *zg = zo + p.z.gap;
  const float *si = p.sums.at, *sf = si + p.sums.gap, *so = sf + p.sums.gap, *sg = so + p.sums.gap;
  float *to_i = p.gates.at, *to_f = to_i + p.gates.gap, *to_o = to_f + p.gates.gap, *to_g = to_o + p.gates.gap;
  const float* before = p.c_before;
  float *to_c = p.c, *to_h = p.h;
  // Short chains of dependent operations, so that a processor computes several units at once.
  NEON_EACH_UNIT(p.n) to_i[j] = logistic(zi[j] + si[j]);
  NEON_EACH_UNIT(p.n) to_f[j] = logistic(zf[j] + sf[j]);
  NEON_EACH_UNIT(p.n) to_o[j] = logistic(zo[j] + so[j]);
  NEON_EACH_UNIT(p.n) {
    const float g = tanh(zg[j] + sg[j]);
    to_g[j] = g;
    to_c[j] = to_f[j] * before[j] + to_i[j] * g;
  }
  NEON_EACH_UNIT(p.n) to_h[j] = to_o[j] * tanh(to_c[j]);
}

void lstm_gradient(const LstmGradients& p) {
  const float *gi = p.gates.at, *gf = gi + p.gates.gap, *go = gf + p.gates.gap, *gg = go + p.gates.gap;
  float *di = p.dz.at, *df = di + p.dz.gap, *d_o = df + p.dz.gap, *dg = d_o + p.dz.gap;
  const float *c = p.c, *before = p.c_before, *g = p.g;
  float *dh = p.dh, *dc = p.dc;
  if (p.gc) NEON_EACH_UNIT(p.n) dc[j] += p.gc[j];
  NEON_EACH_UNIT(p.n) {
    const float i = gi[j], f = gf[j], o = go[j], candidate = gg[j], y = tanh(c[j]), of_h = dh[j] + g[j],
                total = dc[j] + tanh_slope(of_h * o, y);
    dh[j] = of_h;
    dc[j] = total * f;
    di[j] = logistic_slope(total * candidate, i);
    df[j] = logistic_slope(total * before[j], f);
    d_o[j] = logistic_slope(of_h * y, o);
    dg[j] = tanh_slope(total * i, candidate);
  }
}

void gru_gates(const GruValues& p) {
  const float *zr = p.z.at, *zu = zr + p.z.gap, *sr = p.sums.at, *su = sr + p.sums.gap, *h = p.h;
  float *to_r = p.gates.at, *to_u = to_r + p.gates.gap, *reset = p.reset;
  NEON_EACH_UNIT(p.n) {
    const float r = logistic(zr[j] + sr[j]);
    to_r[j] = r;
    to_u[j] = logistic(zu[j] + su[j]);
    reset[j] = r * h[j];
  }
}

void gru_state(const GruValues& p) {
  const float *z = p.z.at + 2 * p.z.gap, *sums = p.sums.at, *gate = p.gates.at + p.gates.gap;
  float *to = p.gates.at + 2 * p.gates.gap, *h = p.h;
  NEON_EACH_UNIT(p.n) {
    const float u = gate[j], candidate = tanh(z[j] + sums[j]);
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

constinit const Cells cells = {lstm, lstm_gradient, gru_gates, gru_state, gru_candidate_gradient, gru_gates_gradient};

}  // namespace neon::elementwise::NEON_LEVEL
