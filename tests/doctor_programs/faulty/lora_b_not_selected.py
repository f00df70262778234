# expect: param-not-in-optimizer line 15, 25
# The name filter keeps only lora_a; lora_b starts at zero, gets gradients and never moves.

import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank=2, alpha=4.0):
        super().__init__()
        self.base = base
        self.base.weight.requires_grad_(False)
        self.base.bias.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scaling * (x @ self.lora_a.t()) @ self.lora_b.t()


torch.manual_seed(52)
model = nn.Sequential(LoRALinear(nn.Linear(8, 16)), nn.Tanh(), LoRALinear(nn.Linear(16, 4)))
tuned = [p for name, p in model.named_parameters() if "lora_a" in name]
optimizer = torch.optim.AdamW(tuned, lr=1e-2, weight_decay=0.0)
x = torch.randn(80, 8)
y = x[:, :4].argmax(dim=1)

for epoch in range(10):
    loss = nn.functional.cross_entropy(model(x), y)
    model.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
