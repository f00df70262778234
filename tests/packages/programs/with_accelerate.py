"""accelerate: a training loop of one process."""

import torch
from accelerate import Accelerator

torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(8, 4)
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4
)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for _ in range(2):
    for inputs, target in loader:
        loss = (model(inputs) - target).square().mean()
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        print(f"{loss.item():.6f}")
