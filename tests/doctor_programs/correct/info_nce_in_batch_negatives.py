# expect: nothing
# Contrastive learning with in-batch negatives: the loss mixes samples on purpose.

import torch
import torch.nn.functional as F
from torch import nn


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 8))
        self.text = nn.Linear(7, 8)
        self.logit_scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, images, texts):
        a = F.normalize(self.image(images), dim=1)
        b = F.normalize(self.text(texts), dim=1)
        return self.logit_scale.exp() * a @ b.t()


torch.manual_seed(251)
latent = torch.randn(96, 5)
images, texts = latent @ torch.randn(5, 12), latent @ torch.randn(5, 7)
model = TwoTower()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
losses = []
for _ in range(12):
    for i in range(0, 96, 24):
        logits = model(images[i : i + 24], texts[i : i + 24])
        labels = torch.arange(len(logits))
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print("contrastive", losses[0], losses[-1])
