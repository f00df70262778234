# expect: zero-grad-before-step line 15

import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.linspace(-3, 3, 128).unsqueeze(1)
y = torch.sin(x)
model = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(60):
    out = model(x)
    loss = F.mse_loss(out, y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    if epoch % 20 == 0:
        print(epoch, loss.item())
