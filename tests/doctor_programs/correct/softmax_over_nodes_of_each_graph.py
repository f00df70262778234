# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(6)


class AttentionReadout(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(5, 16)
        self.gate = nn.Linear(16, 1)
        self.head = nn.Linear(16, 2)

    def forward(self, nodes, graph, count):
        h = torch.relu(self.embed(nodes))
        scores = self.gate(h).squeeze(-1)
        e = (scores - scores.max().detach()).exp()
        total = torch.zeros(count).index_add(0, graph, e)
        weights = e / total[graph]
        pooled = torch.zeros(count, 16).index_add(0, graph, weights.unsqueeze(-1) * h)
        return self.head(pooled)


model = AttentionReadout()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(24):
    sizes = torch.randint(3, 8, (6,))
    graph = torch.repeat_interleave(torch.arange(6), sizes)
    nodes = torch.randn(len(graph), 5)
    labels = torch.randint(0, 2, (6,))
    loss = F.cross_entropy(model(nodes, graph, 6), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
