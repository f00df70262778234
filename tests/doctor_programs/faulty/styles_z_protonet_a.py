# expect: loss-activation-mismatch line 29, 38
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(16)
universe = torch.randn(30, 20)


def episode(ways=5, shots=3, queries=4):
    classes = torch.randperm(30)[:ways]
    centers = universe[classes]
    support = centers[:, None] + 0.5 * torch.randn(ways, shots, 20)
    query = centers[:, None] + 0.5 * torch.randn(ways, queries, 20)
    labels = torch.arange(ways).repeat_interleave(queries)
    return support, query.reshape(-1, 20), labels


class ProtoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, support, query):
        ways, shots, dim = support.shape
        z = self.encoder(support.reshape(-1, dim)).view(ways, shots, -1)
        prototypes = z.mean(1)
        q = self.encoder(query)
        return -torch.cdist(q, prototypes).pow(2)


net = ProtoNet()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.99)
for it in range(40):
    net.train()
    support, query, labels = episode()
    loss = F.nll_loss(net(support, query), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if it % 10 == 9:
        net.eval()
        with torch.no_grad():
            s, q, l = episode()
            acc = (net(s, q).argmax(1) == l).float().mean()
        print(it, loss.item(), acc.item())
