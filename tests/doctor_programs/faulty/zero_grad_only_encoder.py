# expect: missing-zero-grad line 35, 38, 39
# Only the encoder's gradients are cleared; those of the head are summed over all steps.

import argparse

import torch
import torch.nn.functional as F
from torch import nn


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--hidden", type=int, default=16)
    return parser.parse_args()


def make_data():
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(200, 8, generator=generator)
    y = (x[:, :4].sum(1) > x[:, 4:].sum(1)).long()
    return x, y


def main():
    args = parse_args()
    torch.manual_seed(3)
    x, y = make_data()
    encoder = nn.Sequential(nn.Linear(8, args.hidden), nn.ReLU())
    head = nn.Linear(args.hidden, 2)
    params = list(encoder.parameters()) + list(head.parameters())
    optimizer = torch.optim.SGD(params, lr=args.lr)
    for step in range(args.steps):
        encoder.zero_grad()
        batch = torch.randint(0, 200, (32,))
        loss = F.cross_entropy(head(encoder(x[batch])), y[batch])
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step={step} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
