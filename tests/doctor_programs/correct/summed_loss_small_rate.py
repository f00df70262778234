# expect: nothing
# A summed loss with a rate that was chosen for it.

import torch

torch.manual_seed(511)
N, D_in, H, D_out = 64, 20, 16, 4
x, y = torch.randn(N, D_in), torch.randn(N, D_out)
model = torch.nn.Sequential(torch.nn.Linear(D_in, H), torch.nn.ReLU(), torch.nn.Linear(H, D_out))
loss_fn = torch.nn.MSELoss(reduction="sum")
learning_rate = 1e-3
losses = []
for _ in range(100):
    loss = loss_fn(model(x), y)
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for param in model.parameters():
            param -= learning_rate * param.grad
    losses.append(loss.item())
print(losses[0], losses[-1])
