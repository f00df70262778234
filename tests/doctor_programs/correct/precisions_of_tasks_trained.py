# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F


class Balance(nn.Module):
    """Weights of tasks, learned as precisions."""

    def __init__(self, tasks):
        super().__init__()
        self.log_precision = nn.Parameter(torch.zeros(tasks))

    def forward(self, *losses):
        weights = self.log_precision.exp()
        return (weights * torch.stack(losses) - 0.5 * self.log_precision).sum()


torch.manual_seed(1)
x = torch.randn(300, 7)
size, kind = x[:, 0] * 2 + x[:, 1], (x[:, 2] > 0).long()
trunk = nn.Sequential(nn.Linear(7, 32), nn.ReLU())
heads = nn.ModuleDict({"size": nn.Linear(32, 1), "kind": nn.Linear(32, 2)})
balance = Balance(2)
trained = [*trunk.parameters(), *heads.parameters(), *balance.parameters()]
optimizer = torch.optim.Adam(trained, lr=3e-3)
for step in range(40):
    rows = torch.randint(0, 300, (50,))
    h = trunk(x[rows])
    loss = balance(
        F.mse_loss(heads["size"](h).squeeze(1), size[rows]),
        F.cross_entropy(heads["kind"](h), kind[rows]),
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
