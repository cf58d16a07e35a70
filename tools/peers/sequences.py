"""The recurrent nets and transformers that tools/bench times, in PyTorch: layer for layer those of specs.py."""
import torch
from torch import nn
from torch.nn import functional


class Recurrent(nn.Module):
    """Cells over numbers or over rows for tokens, and a classifier of the last step or of each step."""

    def __init__(self, kind, features, units, outputs, layers=1, tokens=0, both=False, each_step=False):
        super().__init__()
        self.rows = nn.Embedding(tokens, features) if tokens else nn.Identity()
        self.cells = getattr(nn, kind)(features, units, layers, batch_first=True, bidirectional=both)
        self.classifier = nn.Linear(units * (2 if both else 1), outputs)
        self.each_step = each_step

    def forward(self, x):
        states, _ = self.cells(self.rows(x))
        return self.classifier(states if self.each_step else states[:, -1])


class Block(nn.Module):
    """Causal attention, then two products with GELU between them, each added to what it was given."""

    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(features), nn.LayerNorm(features)
        self.to_heads, self.from_heads = nn.Linear(features, 3 * features), nn.Linear(features, features)
        self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)

    def forward(self, x):
        samples, steps, features = x.shape
        parts = self.to_heads(self.first(x)).view(samples, steps, 3, self.heads, features // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.from_heads(seen.transpose(1, 2).reshape(samples, steps, features))
        return x + self.down(functional.gelu(self.up(self.second(x)), approximate="tanh"))


class Gpt(nn.Module):
    """The classifier's weights are the rows of the tokens."""

    def __init__(self, tokens, steps, features, blocks, heads):
        super().__init__()
        self.rows, self.positions = nn.Embedding(tokens, features), nn.Embedding(steps, features)
        self.blocks = nn.Sequential(*(Block(features, heads) for _ in range(blocks)))
        self.norm = nn.LayerNorm(features)
        self.classifier = nn.Linear(features, tokens, bias=False)
        self.classifier.weight = self.rows.weight

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return self.classifier(self.norm(self.blocks(self.rows(x) + self.positions(places))))


class Rows(nn.Module):
    """Images (N,1,H,W) as H steps of W numbers."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, images):
        return self.net(images.flatten(1, 2))


MAKE = {
    "lstm-rows": lambda: Rows(Recurrent("LSTM", 28, 128, 10)),
    "lstm-512": lambda: Recurrent("LSTM", 512, 512, 512, 2, each_step=True),
    "gru-512": lambda: Recurrent("GRU", 512, 512, 512, 2, each_step=True),
    "lstm-chars": lambda: Recurrent("LSTM", 128, 512, 65, 2, tokens=65, each_step=True),
    "bilstm-words": lambda: Recurrent("LSTM", 128, 128, 2, tokens=20000, both=True),
    "gpt-chars": lambda: Gpt(65, 256, 384, 6, 6),
    "gpt2": lambda: Gpt(50304, 1024, 768, 12, 12),
}
