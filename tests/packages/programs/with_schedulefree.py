"""four optimizers without a schedule, in training and in evaluation"""

import schedulefree
import torch

for kind in (
    schedulefree.AdamWScheduleFree, schedulefree.SGDScheduleFree,
    schedulefree.RAdamScheduleFree, schedulefree.AdamWScheduleFreeReference,
):  # fmt: skip
    torch.manual_seed(0)
    model, x = torch.nn.Linear(3, 2), torch.randn(8, 3)
    optimizer = kind(model.parameters(), lr=0.05)
    optimizer.train()
    for _ in range(5):
        loss = (model(x) - x[:, :2]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.5f}")
    optimizer.eval()
    print(f"{model(x).sum().item():.5f}")
    optimizer.load_state_dict(optimizer.state_dict())
