"""A value read through `.data`: the graph does not see it.

The encoder's output is normalised by writing to `.data`, a habit from old code. `.data` is the
same memory without its history, so that the encoder gets no gradient.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)

x = torch.randn(256, 8)
y = x[:, :4].pow(2).sum(dim=1) - 4
encoder = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
head = nn.Linear(32, 1)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)

for epoch in range(10):
    for rows in torch.randperm(256).split(64):
        optimizer.zero_grad()
        code = encoder(x[rows]).data  # the bug: the same numbers, without their history
        code = code / code.norm(dim=1, keepdim=True)
        loss = F.mse_loss(head(code).squeeze(1), y[rows])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}, loss {loss.item():.4f}")
