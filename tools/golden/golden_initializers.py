"""Initial values, by a generator of the numbers written apart from neon's: see CONTRIBUTING.md, "Numbers".

Philox-4x32-10 (Salmon et al. 2011) keyed by the seed; its counter is the number of the block and the name's FNV-1a of 64
bits. A uniform number takes 53 of two words' bits, two normal ones are Box and Muller's of two uniform ones. Rows of
Orthonormal are those of a QR decomposition, in the signs that Gram and Schmidt's way leaves.
"""
import math

import numpy as np

MASK = 0xFFFFFFFF


def philox(counter, key):
    for _ in range(10):
        a, b = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & MASK, (a >> 32) ^ counter[3] ^ key[1], a & MASK]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return counter


def fnv(name):
    out = 0xCBF29CE484222325
    for byte in name.encode():
        out = ((out ^ byte) * 0x100000001B3) % 2**64
    return out


def words(seed, name):
    identity, block = fnv(name), 0
    while True:
        yield from philox([block & MASK, block >> 32, identity & MASK, identity >> 32], [seed & MASK, seed >> 32])
        block += 1


def in_pairs(bits):
    return (((high >> 5) * 2**26 + (low >> 6)) / 2**53 for high, low in zip(bits, bits))


def uniforms(seed, name):
    return in_pairs(words(seed, name))


def normals(seed, name):
    return normals_of(uniforms(seed, name))


def normals_of(numbers):
    while True:
        radius, angle = math.sqrt(-2 * math.log(1 - next(numbers))), 2 * math.pi * next(numbers)
        yield radius * math.cos(angle)
        yield radius * math.sin(angle)


def orthonormal(seed, name, shape, scale):
    rows, columns = shape[0], math.prod(shape[1:])
    fewer, more = min(rows, columns), max(rows, columns)
    numbers = normals(seed, name)
    drawn = np.array([[next(numbers) for _ in range(more)] for _ in range(fewer)])
    q, r = np.linalg.qr(drawn.T)
    basis = (q * np.sign(np.diag(r))).T
    return scale * (basis if rows <= columns else basis.T)


def below(bits, bound):
    """A whole number without bias (Lemire 2019)."""
    while True:
        product = next(bits) * bound
        if (product & MASK) >= 2**32 % bound:
            return product >> 32


def sparse_eigen(seed, name, shape, few, radius):
    bits = words(seed, name)
    normal, out = normals_of(in_pairs(bits)), np.zeros(shape)
    for row in out:
        order = list(range(shape[1]))
        for i in range(min(few, shape[1])):
            other = i + below(bits, shape[1] - i)
            order[i], order[other] = order[other], order[i]
            row[order[i]] = 0.3 * next(normal)
    square = shape[0] == shape[1]
    return out * radius / np.abs(np.linalg.eigvals(out)).max() if square else out


def identity_of_filters(shape):
    out = np.zeros(shape)
    for k in range(min(shape[0], shape[-1])):
        out[(k, *(size // 2 for size in shape[1:-1]), k)] = 1
    return out


def filters_of_matrix(matrix, shape):
    """Filters (K,R,S,C) of neon 0.9's matrix (C R S, K)."""
    return np.moveaxis(matrix.T.reshape(shape[0], shape[-1], *shape[1:-1]), 1, -1)


def initializers():
    cases = []

    def case(initializer, shape, fan, make, seed=1, name="Affine_0/W"):
        values = make(seed, name)
        if not isinstance(values, np.ndarray):
            values = np.array([value for value, _ in zip(values, range(math.prod(shape)))])
        fan = fan if len(fan) == 4 else fan + [1, 1]
        cases.append(dict(initializer=initializer, seed=str(seed), name=name, fan=fan, values=values.reshape(shape)))

    def evenly(low, high):
        return lambda seed, name: (low + (high - low) * u for u in uniforms(seed, name))

    def normally(mean, deviation):
        return lambda seed, name: (mean + deviation * z for z in normals(seed, name))

    # An odd number of elements, other seeds and names; fans in and out, and the sides of neon 1.x's matrix.
    for seed, name in (1, "Affine_0/W"), (2**40 + 7, "conv2_bias/b"), (0, "é"):
        case("Uniform", [3, 5], [5, 3], evenly(0, 1), seed, name)
        case("Gaussian", [3, 5], [5, 3], normally(0, 1), seed, name)
    case({"Uniform": {"low": -0.5, "high": 2}}, [7], [1, 7], evenly(-0.5, 2))
    case({"Gaussian": {"loc": 3, "scale": 0.25}}, [7], [1, 7], normally(3, 0.25))
    for shape, fan in ([4, 6], [6, 4, 4, 6]), ([4, 3, 2, 5], [30, 24, 30, 4]):  # nout, nin; filters (K,R,S,C)
        case("GlorotUniform", shape, fan, evenly(-math.sqrt(6 / sum(fan[:2])), math.sqrt(6 / sum(fan[:2]))))
        case({"GlorotUniform": {"matrix": True}}, shape, fan, evenly(-math.sqrt(6 / sum(fan[2:])), math.sqrt(6 / sum(fan[2:]))))
        case({"Kaiming": {"local": False}}, shape, fan, normally(0, math.sqrt(2 / fan[3])))
        case({"Xavier": {"local": True}}, shape, fan, evenly(-math.sqrt(3 / fan[2]), math.sqrt(3 / fan[2])))
        case("Xavier", shape, fan, evenly(-math.sqrt(3 / fan[0]), math.sqrt(3 / fan[0])))
        case("Kaiming", shape, fan, normally(0, math.sqrt(2 / fan[0])))
        case("AutoUniform", shape, fan, evenly(-math.sqrt(1 / fan[0]), math.sqrt(1 / fan[0])))
        case({"AutoUniform": {"relu": True}}, shape, fan, evenly(-math.sqrt(2 / fan[0]), math.sqrt(2 / fan[0])))
        for scale in 1.0, 4.0:
            most = scale * math.sqrt(6 / sum(fan[2:]))
            case({"NodeNormalized": {"scale": scale}}, shape, fan, evenly(-most, most))
    for shape, few, radius in ([4, 6], 3, 1.2), ([6, 4], 9, 1.2), ([5, 5], 2, 1.2), ([7, 7], 15, 0.5):
        case({"SparseEigen": {"sparseness": few, "eigenvalue": radius}}, shape, [shape[1], shape[0]],
             lambda seed, name: sparse_eigen(seed, name, shape, few, radius))
    for shape in [3, 5], [5, 3], [4, 4], [3, 2, 2, 2]:
        case("Orthonormal", shape, [5, 3], lambda seed, name: orthonormal(seed, name, shape, 1.1))
    case({"Orthonormal": {"scale": 0.5}}, [3, 5], [5, 3], lambda seed, name: orthonormal(seed, name, [3, 5], 0.5))
    case("IdentityInit", [3, 4], [4, 3], lambda *_: np.eye(3, 4))
    for shape in [3, 3, 3, 3], [2, 3, 5, 4], [4, 2, 2, 3], [2, 3, 3, 3, 2]:
        case("IdentityInit", shape, [9, 3], lambda *_: identity_of_filters(shape))
        case({"IdentityInit": {"matrix": True, "scale": 3}}, shape, [9, 3],
             lambda *_: filters_of_matrix(3 * np.eye(math.prod(shape[1:]), shape[0]), shape))
    for shape in [7, 3, 2, 4], [12, 2, 2, 3]:  # the second is of a square matrix
        case({"SparseEigen": {"sparseness": 4, "eigenvalue": 1.2}}, shape, [9, 3],
             lambda seed, name: filters_of_matrix(sparse_eigen(seed, name, [math.prod(shape[1:]), shape[0]], 4, 1.2), shape))
    case({"Constant": {"val": 0.1}}, [2, 3], [3, 2], lambda *_: np.full((2, 3), 0.1))
    case({"Array": {"val": [1, -2, 3, 0.5]}}, [2, 2], [2, 2], lambda *_: np.array([1, -2, 3, 0.5]))
    return cases
