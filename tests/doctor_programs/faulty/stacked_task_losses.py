# expect: non-scalar-backward line 32, 34
# Two task losses are stacked and the stacked vector is back-propagated.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(86)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.GRU(3, 16, batch_first=True)
        self.regress = nn.Linear(16, 1)
        self.classify = nn.Linear(16, 2)

    def forward(self, x):
        _, h = self.body(x)
        return self.regress(h[0]), self.classify(h[0])


x = torch.randn(32, 5, 3)
value = x.mean(dim=(1, 2)).unsqueeze(1)
label = (value.squeeze(1) > 0).long()
weights = torch.tensor([1.0, 0.3])
model = MultiTask()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(6):
    predicted, logits = model(x)
    losses = torch.stack([F.mse_loss(predicted, value), F.cross_entropy(logits, label)])
    loss = weights * losses
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.tolist())
