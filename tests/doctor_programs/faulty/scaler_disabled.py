# expect: fp16-underflow line 22, 27, 29, 30
# The GradScaler is built with enabled=False, so the float16 gradients are not scaled at all.

import argparse

import torch
from torch import nn


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--use-scaler", action="store_true")
    parser.add_argument("--epochs", type=int, default=12)
    return parser.parse_args()


def main():
    args = get_args()
    torch.manual_seed(109)
    model = nn.Sequential(nn.Linear(40, 64), nn.GELU(), nn.Linear(64, 200))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", enabled=args.use_scaler)
    x = torch.randn(200, 40)
    y = 0.01 * (x @ torch.randn(40, 200) / 6)
    for epoch in range(args.epochs):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            out = 0.01 * model(x)
            loss = nn.functional.mse_loss(out, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if epoch % 4 == 0:
            print(epoch, loss.item(), (model[0].weight.grad == 0).float().mean().item())


if __name__ == "__main__":
    main()
