"""Products whose operands are made TF32, sign, exponent and the first 10 bits of an f32's mantissa: the others dropped,
as tensor cores read them, or rounded to the nearest beforehand, as some kernels do. Sums are in f64, so what is left
is what the type alone does to a net."""
import numpy as np
import torch


def of_bits(x, change):
    bits = change(x.detach().to(torch.float32).numpy().view(np.uint32)) & np.uint32(0xFFFFE000)
    return torch.from_numpy(bits.view(np.float32).astype(np.float64))


def cut(x):
    return of_bits(x, lambda bits: bits)


def nearest(x):
    """Ties go to the even one."""
    return of_bits(x, lambda bits: bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1)))


class Product(torch.autograd.Function):
    """product(a, b) of two arrays, linear in each, of what `rounded` makes of them; its gradients, too."""

    @staticmethod
    def forward(context, product, rounded, a, b):
        context.product, context.rounded = product, rounded
        context.save_for_backward(a, b)
        return product(rounded(a), rounded(b))

    @staticmethod
    def backward(context, g):
        a, b = (context.rounded(x).requires_grad_() for x in context.saved_tensors)
        with torch.enable_grad():
            y = context.product(a, b)
        return None, None, *torch.autograd.grad(y, (a, b), context.rounded(g))
