# expect: inplace-saved-tensor line 22
# The class weights are renormalised in place between forward and backward.
# saved: line 18

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(70)


class MarginHead(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, dim))

    def forward(self, features):
        return 8.0 * F.linear(F.normalize(features), self.weight)

    @torch.no_grad()
    def renormalise(self):
        self.weight.div_(self.weight.norm(dim=1, keepdim=True))


embed = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 8))
head = MarginHead(8, 4)
optimizer = torch.optim.SGD([*embed.parameters(), *head.parameters()], lr=0.05)
x = torch.randn(80, 6)
y = x[:, :4].argmax(1)
for epoch in range(6):
    logits = head(embed(x))
    head.renormalise()
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
