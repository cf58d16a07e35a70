"""The MLP of examples/mlp/mnist-small.yaml in PyTorch, as a user would write it: the peer of tools/bench.

Prints the seconds of each epoch over N samples held in memory, in an order drawn anew each epoch.
"""
import argparse
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--samples", type=int, default=60000)
parser.add_argument("--batch", type=int, default=128)
args = parser.parse_args()

torch.set_num_threads(args.threads)
torch.manual_seed(0)
images = torch.rand(args.samples, 784)
labels = torch.randint(0, 10, (args.samples,))
net = nn.Sequential(nn.Linear(784, 100, bias=False), nn.ReLU(), nn.Linear(100, 10, bias=False))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
cost = nn.CrossEntropyLoss()
for epoch in range(args.epochs):
    before = time.perf_counter()
    order = torch.randperm(args.samples)
    for first in range(0, args.samples, args.batch):
        batch = order[first:first + args.batch]
        optimizer.zero_grad(set_to_none=True)
        loss = cost(net(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} {time.perf_counter() - before:.4f}", flush=True)
