# expect: nan-origin line 19
# acos of a cosine equal to one has an infinite derivative, the angular margin gives NaN.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(97)


class AngularHead(nn.Module):
    def __init__(self, dim, classes, margin=0.2, scale=10.0):
        super().__init__()
        self.centers = nn.Parameter(torch.eye(classes, dim))
        self.margin, self.scale = margin, scale

    def forward(self, features, labels):
        cosine = F.normalize(features) @ F.normalize(self.centers).t()
        theta = torch.acos(cosine.clamp(-1.0, 1.0))
        hit = F.one_hot(labels, len(self.centers)).float()
        return self.scale * torch.cos(theta + self.margin * hit)


features_in = torch.relu(torch.randn(60, 4))
features_in[11] = torch.tensor([2.0, 0.0, 0.0, 0.0])
labels = features_in[:, :3].argmax(dim=1)
gate = nn.Parameter(torch.ones(4))
head = AngularHead(4, 3)
optimizer = torch.optim.SGD([gate, *head.parameters()], lr=0.01)
for step in range(5):
    logits = head(features_in * gate, labels)
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, loss.item())
