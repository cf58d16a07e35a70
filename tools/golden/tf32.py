"""Products whose operands are cut to TF32, as tensor cores read them: of f32, sign, exponent and the first 10 bits of
the mantissa, the others dropped. Sums are in f64, so what is left is what the type alone does to a net."""
import numpy as np
import torch


def cut(x):
    bits = x.detach().to(torch.float32).numpy().view(np.uint32) & np.uint32(0xFFFFE000)
    return torch.from_numpy(bits.view(np.float32).astype(np.float64))


class Product(torch.autograd.Function):
    """product(a, b) of two arrays, linear in each; its gradients are products of cut operands, too."""

    @staticmethod
    def forward(context, product, a, b):
        context.product = product
        context.save_for_backward(a, b)
        return product(cut(a), cut(b))

    @staticmethod
    def backward(context, g):
        a, b = (cut(x).requires_grad_() for x in context.saved_tensors)
        with torch.enable_grad():
            y = context.product(a, b)
        return None, *torch.autograd.grad(y, (a, b), cut(g))
