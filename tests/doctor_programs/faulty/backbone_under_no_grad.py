# expect: detached-graph line 17, 18
# The backbone runs inside no_grad although its parameters were given to the optimizer to tune.

import torch
from torch import nn


def build():
    backbone = nn.Sequential(
        nn.Conv1d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 8, 3, padding=1), nn.ReLU()
    )
    head = nn.Linear(8, 2)
    return backbone, head


def predict(backbone, head, signal):
    with torch.no_grad():
        maps = backbone(signal)
    return head(maps.mean(dim=2))


torch.manual_seed(40)
backbone, head = build()
optimizer = torch.optim.AdamW(
    [
        {"params": backbone.parameters(), "lr": 1e-3},
        {"params": head.parameters(), "lr": 1e-2},
    ]
)
t = torch.linspace(0, 1, 24)
label = torch.randint(0, 2, (64,))
signal = torch.sin(t * (10 + 15 * label.unsqueeze(1))) + 0.2 * torch.randn(64, 24)

for epoch in range(12):
    logits = predict(backbone, head, signal.unsqueeze(1))
    loss = nn.functional.cross_entropy(logits, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 4 == 0:
        print(f"epoch {epoch}: {loss.item():.4f}")
