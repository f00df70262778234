# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
N, E, C = 60, 240, 3
labels = torch.randint(0, C, (N,))
src = torch.randint(0, N, (E,))
dst = torch.tensor([int(torch.nonzero(labels == labels[s])[torch.randint(0, int((labels == labels[s]).sum()), ())]) for s in src])
feats = F.one_hot(labels, C).float() + torch.randn(N, C) * 1.2
feats = torch.cat([feats, torch.randn(N, 5)], 1)
order = torch.randperm(N)
train_idx, val_idx = order[:36], order[36:]


def scatter_mean(values, index, n):
    out = values.new_zeros(n, values.size(1)).index_add_(0, index, values)
    count = torch.bincount(index, minlength=n).clamp(min=1)
    return out / count[:, None]


class SAGE(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.self_lin = nn.Linear(i, o)
        self.neigh_lin = nn.Linear(i, o, bias=False)

    def forward(self, x):
        agg = scatter_mean(x[src], dst, N)
        return self.self_lin(x) + self.neigh_lin(agg)


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = SAGE(8, 16), SAGE(16, C)

    def forward(self, x):
        h = F.dropout(F.relu(self.c1(x)), 0.3, training=self.training)
        return self.c2(h)


def accuracy(model, idx):
    model.eval()
    with torch.no_grad():
        pred = model(feats)[idx].argmax(1)
    return (pred == labels[idx]).float().mean().item()


def train(model, epochs=30):
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for e in range(epochs):
        model.train()
        opt.zero_grad()
        loss = F.nll_loss(F.log_softmax(model(feats), -1)[train_idx], labels[train_idx])
        loss.backward()
        opt.step()
        if e % 10 == 9:
            print(e, f"{loss:.3f} {accuracy(model, val_idx):.2f}")


train(GNN())
