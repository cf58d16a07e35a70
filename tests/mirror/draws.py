"""The uniform numbers of a step: Philox-4x32-10 (Salmon et al. 2011) keyed by seed, name and step, as CONTRIBUTING.md's
"Numbers" has it."""
import numpy as np


def name_hash(name):
    """FNV-1a of 64 bits."""
    out = 0xCBF29CE484222325
    for byte in name.encode():
        out = ((out ^ byte) * 0x100000001B3) % 2**64
    return out


def uniforms(seed, name, step, shape):
    """Numbers in [0, 1) with 24 bits, four from each block."""
    count, identity, mask = int(np.prod(shape)), name_hash(name), np.uint64(0xFFFFFFFF)
    blocks = np.arange(-(-count // 4), dtype=np.uint64)
    fixed = lambda word: np.full_like(blocks, word & 0xFFFFFFFF)
    c = [blocks & mask, (blocks >> np.uint64(32)) ^ fixed(step >> 32), fixed((identity & 0xFFFFFFFF) ^ (step & 0xFFFFFFFF)),
         fixed(identity >> 32)]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), b & mask, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), a & mask]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return (np.stack(c, 1).ravel()[:count] >> np.uint64(8)).astype(float).reshape(shape) / 2**24
