# expect: missing-step line 25, 34
# The embedding's sparse-style optimizer is built, cleared, and never stepped.

import torch
import torch.nn as nn
import torch.optim as optim


class TwoTower(nn.Module):
    def __init__(self, users, items, d=8):
        super().__init__()
        self.user = nn.Embedding(users, d)
        self.item = nn.Embedding(items, d)
        self.mix = nn.Bilinear(d, d, 1)

    def forward(self, u, i):
        return self.mix(self.user(u), self.item(i)).squeeze(-1)


def main():
    torch.manual_seed(8)
    model = TwoTower(20, 30)
    emb = [*model.user.parameters(), *model.item.parameters()]
    optimizers = {
        "emb": optim.Adagrad(emb, lr=0.1),
        "mix": optim.Adam(model.mix.parameters(), lr=0.01),
    }
    u, i = torch.randint(0, 20, (200,)), torch.randint(0, 30, (200,))
    rating = torch.sin(u * 1.0) + torch.cos(i * 1.0)
    for epoch in range(12):
        for o in optimizers.values():
            o.zero_grad()
        loss = (model(u, i) - rating).pow(2).mean()
        loss.backward()
        optimizers["mix"].step()
    print("mse", loss.item())


if __name__ == "__main__":
    main()
