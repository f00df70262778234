# expect: clip-misplaced line 27

import torch
import torch.nn as nn


def build():
    return nn.Sequential(
        nn.Linear(12, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1)
    )


def main():
    torch.manual_seed(0)
    net = build()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    X = torch.randn(256, 12)
    Y = torch.sin(X).sum(1, keepdim=True)
    for ep in range(6):
        for idx in torch.randperm(256).split(32):
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                pred = net(X[idx])
                loss = nn.functional.mse_loss(pred.float(), Y[idx])
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
        print(ep, loss.item())


if __name__ == "__main__":
    main()
