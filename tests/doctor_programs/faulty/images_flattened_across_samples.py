# expect: batch-mixing line 18
# Channels-last images are viewed with the wrong sizes, a row holds pixels of two samples.

import torch
import torch.nn.functional as F
from torch import nn


class PatchClassifier(nn.Module):
    def __init__(self, patches=4, dim=9):
        super().__init__()
        self.patches, self.dim = patches, dim
        self.mix = nn.Linear(dim, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, images):
        batch = images.size(0)
        tokens = images.view(self.patches, batch, self.dim).transpose(0, 1)
        return self.out(F.relu(self.mix(tokens)).mean(dim=1))


torch.manual_seed(1101)
images = torch.randn(90, 6, 6)
labels = (images.mean(dim=(1, 2)) > 0).long()
model = PatchClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for xb, yb in zip(images.split(30), labels.split(30)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
