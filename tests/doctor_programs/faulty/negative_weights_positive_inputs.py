# expect: dead-relu line 13, 14, 19, 23
# Weights drawn from (-1, 0) with non-negative inputs keep the first ReLU off.

import torch
import torch.nn as nn

torch.manual_seed(106)


class CountModel(nn.Module):
    def __init__(self, words=30, hidden=20, topics=4):
        super().__init__()
        self.inp = nn.Linear(words, hidden)
        self.act = nn.ReLU()
        self.out = nn.Linear(hidden, topics)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.uniform_(self.inp.weight, -1.0, 0.0)
        nn.init.zeros_(self.inp.bias)

    def forward(self, counts):
        return self.out(self.act(self.inp(counts)))


counts = torch.poisson(torch.rand(120, 30) * 3)
topic = counts.view(120, 5, 6).sum(2)[:, :4].argmax(1)
model = CountModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(20):
    loss = nn.functional.cross_entropy(model(counts), topic)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
