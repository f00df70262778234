# expect: zero-grad-before-step line 21
# The framework-like optimizer_step() clears the gradients before it steps.

import torch
from torch import nn


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 3))

    def training_step(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)

    def optimizer_step(self, optimizer):
        optimizer.zero_grad()
        optimizer.step()


def fit(module, batches, epochs):
    optimizer = module.configure_optimizers()
    for epoch in range(epochs):
        for batch in batches:
            loss = module.training_step(batch)
            loss.backward()
            module.optimizer_step(optimizer)
        print(f"epoch {epoch} loss {loss.item():.4f}")


torch.manual_seed(302)
x = torch.randn(90, 6)
y = x[:, :3].argmax(1)
fit(Module(), list(zip(x.split(30), y.split(30))), epochs=5)
