# expect: detached-graph line 44
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class ImageTower(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.patch = nn.Conv2d(1, d, 4, stride=4)
        self.pos = nn.Parameter(torch.randn(1, 9, d) * 0.02)
        self.layer = nn.TransformerEncoderLayer(d, 4, 2 * d, dropout=0.0, batch_first=True)
        self.proj = nn.Linear(d, 16, bias=False)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = self.layer(x + self.pos)
        return self.proj(x.mean(1))


class TextTower(nn.Module):
    def __init__(self, d, vocab=40):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.proj = nn.Linear(d, 16, bias=False)

    def forward(self, ids):
        return self.proj(self.gru(self.emb(ids))[1][0])


class CLIP(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.image, self.text = ImageTower(d), TextTower(d)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, img, ids):
        i = F.normalize(self.image(img), dim=-1)
        t = F.normalize(self.text(ids), dim=-1)
        t = torch.from_numpy(t.detach().numpy())
        logits = self.logit_scale.exp().clamp(max=100) * i @ t.t()
        target = torch.arange(len(img))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


ids = torch.randint(0, 40, (96, 5))
img = torch.rand(96, 1, 12, 12) + ids.float().mean(1).view(-1, 1, 1, 1) / 20
model = CLIP()
decay = [p for n, p in model.named_parameters() if p.ndim >= 2]
no_decay = [p for n, p in model.named_parameters() if p.ndim < 2]
groups = [{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "weight_decay": 0.0}]
opt = torch.optim.AdamW(groups, lr=1e-3)
for epoch in range(6):
    for i in torch.randperm(96).split(16):
        loss = model(img[i], ids[i])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
print(loss.item())
