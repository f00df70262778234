# expect: loss-activation-mismatch line 15, 24, 25
# The network already applies sigmoid, BCEWithLogitsLoss applies it a second time.

import torch
from torch import nn

torch.manual_seed(121)
x = torch.randn(200, 10)
tags = (x @ torch.randn(10, 5) > 0.5).float()

model = nn.Sequential(
    nn.Linear(10, 40),
    nn.ReLU(),
    nn.Linear(40, 5),
    nn.Sigmoid(),
)
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def train(batches=20):
    for step in range(batches):
        pick = torch.randint(0, 200, (50,))
        probabilities = model(x[pick])
        loss = loss_fn(probabilities, tags[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(step, loss.item())


train()
