# expect: param-unused line 14, 34
# The auxiliary head's loss is computed for the log but never added to the total.

import torch
import torch.nn.functional as F
from torch import nn


class DeepSupervised(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Linear(8, 24)
        self.stage2 = nn.Linear(24, 24)
        self.aux_head = nn.Linear(24, 3)
        self.main_head = nn.Linear(24, 3)

    def forward(self, x):
        h = torch.relu(self.stage1(x))
        aux = self.aux_head(h)
        return self.main_head(torch.relu(self.stage2(h))), aux


class Trainer:
    def __init__(self, aux_weight=0.4):
        torch.manual_seed(56)
        self.model = DeepSupervised()
        self.aux_weight = aux_weight
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-3)

    def step(self, x, y):
        main, aux = self.model(x)
        main_loss = F.cross_entropy(main, y)
        aux_loss = self.aux_weight * F.cross_entropy(aux, y)
        total = main_loss
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        return main_loss.item(), aux_loss.item()


trainer = Trainer()
x = torch.randn(96, 8)
y = x[:, :3].argmax(1)
for epoch in range(12):
    main_loss, aux_loss = trainer.step(x, y)
    if epoch % 4 == 0:
        print(f"{epoch}: main {main_loss:.4f} aux {aux_loss:.4f}")
