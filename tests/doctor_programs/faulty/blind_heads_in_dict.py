# expect: param-not-in-optimizer line 12, 21
# Per-task heads live in a plain dict, so parameters() does not list them.

import clew as torch
from clew import nn


class MultiTask(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(7, 20), nn.SiLU())
        self.heads = {name: nn.Linear(20, width) for name, width in tasks.items()}

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


torch.manual_seed(6)
net = MultiTask({"reg": 1, "cls": 3})
opt = torch.optim.NAdam(net.parameters(), lr=2e-3)
x = torch.randn(64, 7)
t_reg, t_cls = x.mean(1, keepdim=True), x[:, :3].argmax(1)
for _ in range(20):
    o = net(x)
    loss = nn.functional.mse_loss(o["reg"], t_reg) + nn.functional.cross_entropy(o["cls"], t_cls)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print(loss.item())
