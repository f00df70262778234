# expect: bad-learning-rate line 43
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class Queries(Dataset):
    def __init__(self, n=160, docs=6):
        g = torch.Generator().manual_seed(1)
        self.x = torch.randn(n, docs, 8, generator=g)
        self.rel = (self.x[..., 0] + self.x[..., 1] * self.x[..., 2]).sigmoid()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"docs": self.x[i], "rel": self.rel[i]}


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.SELU(), nn.Linear(32, 1))

    def forward(self, docs):
        return self.net(docs).squeeze(-1)


def listnet(scores, rel):
    return -(F.softmax(rel / 0.2, -1) * F.log_softmax(scores, -1)).sum(-1).mean()


def ndcg(scores, rel):
    order = scores.argsort(-1, descending=True)
    disc = 1 / torch.log2(torch.arange(rel.shape[1]) + 2.0)
    return ((rel.gather(1, order) * disc).sum(1) / (rel.sort(-1, descending=True).values * disc).sum(1)).mean()


def run():
    torch.manual_seed(1111)
    model = Scorer()
    opt = torch.optim.SGD(model.parameters(), lr=3e4, momentum=0.9)
    for epoch in range(5):
        for batch in DataLoader(Queries(), batch_size=32, shuffle=True):
            s = model(batch["docs"])
            loss = listnet(s, batch["rel"])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, f"{loss.item():.4f} {ndcg(s.detach(), batch['rel']):.3f}")


run()
