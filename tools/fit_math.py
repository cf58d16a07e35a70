"""Prints the polynomial coefficients of backends/elementwise/math*.inc: minimax fits (Remez exchange) in 60 digits.

    python3 tools/fit_math.py          needs mpmath

Each fit is of a smooth remainder, so that the leading terms of the function stay exact; the weight is the factor by
which an error of the polynomial enters the relative error of the result. The error printed beside a name is that
relative error before rounding: 2^-24 is half a unit in the last place of f32, 2^-53 of f64.
"""
from mpmath import (atanh, cos, erf, erfc, exp, expm1, log, lu_solve, matrix, mp, mpf, pi, sin, sqrt, tanh)

mp.dps = 60


def remez(f, weight, low, high, degree, rounds=12, grid=1500):
    """Coefficients, lowest power first, of the polynomial that minimises max |weight * (p - f)| on [low, high]."""
    n = degree + 2
    xs = [(low + high) / 2 - (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    points = [low + (high - low) * (1 - cos(pi * i / grid)) / 2 for i in range(grid + 1)]
    exact = [(f(x), weight(x)) for x in points]
    for _ in range(rounds):
        rows, right = matrix(n, n), matrix(n, 1)
        for i, x in enumerate(xs):
            for j in range(degree + 1):
                rows[i, j] = x**j
            rows[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = f(x)
        solution = lu_solve(rows, right)
        coefficients = [solution[j] for j in range(degree + 1)]
        errors = []
        for x, (value, w) in zip(points, exact):
            total = mpf(0)
            for c in reversed(coefficients):
                total = total * x + c
            errors.append(w * (total - value))
        # The largest error of each run of one sign is the next reference point.
        peaks, best = [], 0
        for i in range(1, len(errors)):
            if (errors[i] > 0) != (errors[best] > 0):
                peaks.append(best)
                best = i
            elif abs(errors[i]) > abs(errors[best]):
                best = i
        peaks.append(best)
        while len(peaks) > n:
            del peaks[0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1]
        if len(peaks) < n:
            break
        new = [points[p] for p in peaks]
        if max(abs(a - b) for a, b in zip(new, xs)) < (high - low) * mpf(10) ** -7:
            break
        xs = new
    return coefficients, max(abs(e) for e in errors)


def show(name, fit, digits):
    coefficients, error = fit
    print(f"{name}: 2^{float(log(error, 2)):.1f}")
    for c in coefficients:
        print("   ", mp.nstr(c, digits))


def taylor_safe(f, series):
    """f, but `series` where |x| is so small that f cancels."""
    return lambda x: series(x) if abs(x) < mpf(10) ** -12 else f(x)


half_ln2 = log(2) / 2 * mpf("1.002")
exp_rest = taylor_safe(lambda r: (expm1(r) - r) / r**2, lambda r: mpf(1) / 2 + r / 6)
exp_weight = taylor_safe(lambda r: abs(r**2 / expm1(r)), lambda r: abs(r) + mpf(10) ** -30)
log_low, log_high = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1
log_rest = taylor_safe(lambda f: (log(1 + f) - f + f**2 / 2) / f**3, lambda f: mpf(1) / 3 - f / 4)
log_weight = taylor_safe(lambda f: abs(f**3 / log(1 + f)), lambda f: f**2 + mpf(10) ** -30)
s_high = (log_high / (2 + log_high)) ** 2


def atanh_rest(first):
    """2 atanh(s)/s = 2 + 2z/3 + ... with z = s^2, less the terms below z^first, over z^first."""
    def rest(z):
        if z < mpf("1e-6"):
            return sum(2 * z**k / (2 * (k + first) + 1) for k in range(9))
        s = sqrt(z)
        return (2 * atanh(s) / s - sum(2 * z**k / (2 * k + 1) for k in range(first))) / z**first
    return rest


def odd_rest(f, slope, third):
    """(f(x) - slope x)/x^3 as a function of z = x^2, for an odd f."""
    return lambda z: third if z < mpf(10) ** -18 else (f(sqrt(z)) - slope * sqrt(z)) / (z * sqrt(z))


def odd_weight(f):
    return lambda z: mpf(10) ** -30 if z == 0 else abs(z * sqrt(z) / f(sqrt(z)))


def main():
    tail = lambda x: -log(erfc(x))
    for bits, digits, exp_degree in ((24, 10, 4), (53, 19, 9)):
        show(f"exp f{bits}", remez(exp_rest, exp_weight, -half_ln2, half_ln2, exp_degree), digits)
    show("log f24", remez(log_rest, log_weight, log_low, log_high, 7), 10)
    show("log f53", remez(atanh_rest(1), lambda z: z / 2 + mpf(10) ** -30, mpf(0), s_high, 6), 19)
    show("log, extended", remez(atanh_rest(2), lambda z: z**2 / 2 + mpf(10) ** -30, mpf(0), s_high, 6), 19)
    show("tanh f24", remez(odd_rest(tanh, 1, -mpf(1) / 3), odd_weight(tanh), mpf(0), mpf("0.4"), 4), 10)
    k = 2 / sqrt(pi)
    for bits, digits, small, large, high in ((24, 10, 6, 6, 4), (53, 19, 11, 17, 6)):
        show(f"erf(x)/x f{bits}, z <= 1",
             remez(lambda z: k if z < mpf(10) ** -18 else erf(sqrt(z)) / sqrt(z), lambda z: mpf(1), mpf(0), mpf(1), small),
             digits)
        show(f"-log erfc(x) f{bits}, in x - 1",
             remez(lambda t: tail(t + 1), lambda t: erfc(t + 1) / erf(t + 1), mpf(0), mpf(high - 1), large), digits)
    slope = mpf("0.305")
    distance = lambda t: (1 / t - 1) / slope
    share = lambda t: erfc(distance(t) / sqrt(2)) / 2 * exp(distance(t) ** 2 / 2) / t
    show("normal share below -x over e^(-x^2 / 2) t, coarse, in t = 1 / (1 + 0.305 x)",
         remez(share, lambda t: 1 / share(t), 1 / (1 + slope * 13), mpf(1), 5), 10)
    quarter = (pi / 4) ** 2 * mpf("1.002")
    show("sin f53", remez(odd_rest(sin, 1, -mpf(1) / 6), odd_weight(sin), mpf(0), quarter, 5), 19)
    cos_rest = lambda z: mpf(1) / 24 if z < mpf(10) ** -15 else (cos(sqrt(z)) - 1 + z / 2) / z**2
    show("cos f53", remez(cos_rest, lambda z: z**2 / cos(sqrt(z)), mpf(0), quarter, 5), 19)
    for name, value in (("ln 2", log(2)), ("log2 e", 1 / log(2)), ("2/pi", 2 / pi), ("pi/2", pi / 2), ("2/3", mpf(2) / 3)):
        print(name, mp.nstr(value, 50))


if __name__ == "__main__":
    main()
