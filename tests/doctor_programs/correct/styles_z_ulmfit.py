# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(40, 16)
        self.encoder = nn.GRU(16, 32, batch_first=True)
        self.pool_head = nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 2))

    def forward(self, ids):
        out, h = self.encoder(self.embedding(ids))
        return self.pool_head(torch.cat([out.mean(1), h[-1]], dim=1))


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)


def unfreeze(module):
    for p in module.parameters():
        p.requires_grad_(True)


net = Classifier()
freeze(net.embedding)
freeze(net.encoder)
opt = torch.optim.SGD(net.pool_head.parameters(), lr=0.1, momentum=0.9)
ids = torch.randint(0, 40, (160, 12))
y = ((ids < 8).sum(1) > 2).long()


def epoch():
    net.train()
    for i in range(0, 160, 32):
        loss = F.cross_entropy(net(ids[i:i + 32]), y[i:i + 32])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([p for p in net.parameters() if p.requires_grad], 1.0)
        opt.step()
    return loss.item()


print(epoch(), epoch())
unfreeze(net.encoder)
opt.add_param_group({"params": list(net.encoder.parameters()), "lr": 0.05})
print(epoch(), epoch())
unfreeze(net.embedding)
opt.add_param_group({"params": list(net.embedding.parameters()), "lr": 0.02})
print(epoch(), epoch())
