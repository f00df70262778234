# expect: detached-graph line 21
# The learnable temperature enters the contrastive loss through .item() and stays where it was.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(37)


class ContrastiveModel(nn.Module):
    def __init__(self, image_dim=12, text_dim=7, embed=8):
        super().__init__()
        self.image = nn.Linear(image_dim, embed)
        self.text = nn.Linear(text_dim, embed)
        self.log_temperature = nn.Parameter(torch.tensor(1.0))

    def forward(self, images, texts):
        a = F.normalize(self.image(images), dim=1)
        b = F.normalize(self.text(texts), dim=1)
        scale = self.log_temperature.exp().item()
        return scale * a @ b.t()


def info_nce(logits):
    labels = torch.arange(len(logits))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


latent = torch.randn(64, 5)
images = latent @ torch.randn(5, 12)
texts = latent @ torch.randn(5, 7)
model = ContrastiveModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)
for epoch in range(8):
    for i in range(0, 64, 16):
        loss = info_nce(model(images[i : i + 16], texts[i : i + 16]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item(), "temperature", model.log_temperature.item())
