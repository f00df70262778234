# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
N = 60
block = torch.arange(N) // 20
prob = torch.where(block[:, None] == block[None], 0.3, 0.02)
adj = torch.triu(torch.rand(N, N) < prob, 1)
edges = adj.nonzero().t()
perm = torch.randperm(edges.shape[1])
cut = int(0.8 * len(perm))
train_edges, test_edges = edges[:, perm[:cut]], edges[:, perm[cut:]]


class SAGE(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.own, self.other = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, edge_index):
        both = torch.cat([edge_index, edge_index.flip(0)], dim=1)
        src, dst = both
        total = torch.zeros_like(x).index_add(0, dst, x[src])
        degree = torch.zeros(len(x)).index_add(0, dst, torch.ones(len(dst)))
        return self.own(x) + self.other(total / degree.clamp(min=1).unsqueeze(1))


class LinkModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Embedding(N, 16)
        self.conv1, self.conv2 = SAGE(16, 32), SAGE(32, 16)

    def encode(self, edge_index):
        h = F.relu(self.conv1(self.features.weight, edge_index))
        return self.conv2(F.dropout(h, 0.2, self.training), edge_index)

    def decode(self, z, pairs):
        return (z[pairs[0]] * z[pairs[1]]).sum(1)


def negatives(n):
    return torch.randint(0, N, (2, n))


model = LinkModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(30):
    model.train()
    z = model.encode(train_edges)
    pos, neg = model.decode(z, train_edges), model.decode(z, negatives(train_edges.shape[1]))
    scores = torch.cat([pos, neg])
    truth = torch.cat([torch.ones_like(pos), torch.zeros_like(neg)])
    loss = -F.logsigmoid(pos).mean() - F.logsigmoid(-neg).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 9:
        model.eval()
        with torch.no_grad():
            z = model.encode(train_edges)
            margin = model.decode(z, test_edges).mean() - model.decode(z, negatives(50)).mean()
        print(epoch, loss.item(), margin.item())
