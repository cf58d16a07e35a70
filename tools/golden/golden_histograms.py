"""Histograms of sizes as neon's tests defined them. See make_golden.py."""
import numpy as np

from golden_file import stream


def reference(x, bins, offset):
    """neon's tests/test_backend_hist.py: edges -inf, offset + 1, ..., offset + bins over rint(log2 |x|) in f32."""
    edges = np.array([-np.inf] + [offset + i for i in range(1, bins + 1)], dtype=np.float32)
    with np.errstate(divide="ignore"):
        sizes = np.rint(np.log2(np.abs(x.astype(np.float32)), dtype=np.float32))
    return np.histogram(sizes, edges)[0].tolist()


def around(exponents, count):
    """Neighbours of 2^(k + 1/2), where the rounding turns; at large |k| it is the logarithm's own rounding that decides."""
    out = []
    for k in exponents:
        bits = np.float32(2.0 ** (k + 0.5)).view(np.uint32).astype(np.int64) + np.arange(-count, count + 1)
        out.append(bits.astype(np.uint32).view(np.float32))
    return np.concatenate(out)


def histograms():
    cases = []

    def case(dtype, x, bins=64, offset=-48):
        x = np.asarray(x)
        cases.append(dict(dtype=dtype, x=x.astype(np.float64), bins=bins, offset=offset, counts=reference(x, bins, offset)))

    # neon's own edges
    case("f32", np.float32([2.0 ** -48, 2.0 ** 15]))
    case("f32", np.float32([2.0 ** 5, 63.99998856, 2.0 ** 6, 2.0 ** -3, 2.0 ** -4, 0.11262291, 92.22483826]))
    case("f16", np.float16([45.21875]))
    rng = stream("sizes of f32")
    wide = np.float32(rng.choice([-1, 1], 400) * np.exp2(rng.uniform(-60, 22, 400)))
    for bins, offset in (64, -48), (64, -32), (32, -16), (32, 0), (1, 0), (2, 15):
        case("f32", np.concatenate([wide, np.float32([0, -0.0])]), bins, offset)
    case("f32", around((-120, -47, -33, -9, -2, -1, 0, 1, 2, 12, 14, 15, 16), 24))
    case("f32", np.float32([1e-45, 3e-45, 1e-40, 2e-38, -5e-39]), 100, -150)
    rng = stream("sizes of f16")
    case("f16", np.float16(rng.standard_normal(300) * np.exp2(rng.uniform(-20, 8, 300))))
    case("u8", np.arange(256, dtype=np.uint8), 32, 0)
    case("i8", np.arange(-128, 128, dtype=np.int8))
    return cases
