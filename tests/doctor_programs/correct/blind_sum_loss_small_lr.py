# expect: nothing
# A summed loss with a learning rate chosen for it.

import torch

model = torch.nn.Sequential(torch.nn.Linear(10, 30), torch.nn.ReLU(), torch.nn.Linear(30, 1))
loss_fn = torch.nn.MSELoss(reduction="sum")
g = torch.Generator().manual_seed(1)
x = torch.randn(64, 10, generator=g)
y = torch.randn(64, 1, generator=g)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for t in range(60):
    y_pred = model(x)
    loss = loss_fn(y_pred, y)
    if t % 20 == 19:
        print(t, loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
