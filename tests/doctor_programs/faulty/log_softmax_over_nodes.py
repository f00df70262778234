# expect: batch-mixing line 40
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)
N, C = 90, 3


def make_graph():
    labels = torch.arange(N) % C
    p = torch.where(labels[:, None] == labels[None], 0.2, 0.02)
    upper = (torch.rand(N, N) < p).float().triu(1)
    adj = upper + upper.t() + torch.eye(N)
    deg = adj.sum(1)
    norm = adj / (deg[:, None] * deg[None]).sqrt()
    feats = F.one_hot(labels, C).float() * 0.7 + torch.randn(N, C)
    return norm, torch.cat([feats, torch.randn(N, 5)], 1), labels


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, a, x):
        return a @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = GraphConv(8, 16), GraphConv(16, C)
        self.drop = nn.Dropout(0.3)

    def forward(self, a, x):
        h = self.drop(F.relu(self.c1(a, x)))
        return F.log_softmax(self.c2(a, h), dim=0)


a, x, y = make_graph()
train_mask = torch.rand(N) < 0.5
gcn = GCN()
opt = torch.optim.Adam(gcn.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(100):
    gcn.train()
    loss = F.nll_loss(gcn(a, x)[train_mask], y[train_mask])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 25 == 0 or epoch == 99:
        gcn.eval()
        with torch.no_grad():
            acc = (gcn(a, x).argmax(1) == y)[~train_mask].float().mean()
        print(f"epoch {epoch} loss {loss.item():.4f} test acc {acc:.3f}")
