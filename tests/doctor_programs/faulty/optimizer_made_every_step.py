# expect: optimizer-remade line 25
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(147)


class Highway(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.h, self.t = nn.Linear(d, d), nn.Linear(d, d)
        nn.init.constant_(self.t.bias, -1.0)

    def forward(self, x):
        gate = torch.sigmoid(self.t(x))
        return gate * F.relu(self.h(x)) + (1 - gate) * x


def make_model():
    return nn.Sequential(nn.Linear(10, 20), Highway(20), Highway(20), nn.Linear(20, 3))


def train_step(model, x, y, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.999))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def run(epochs=15, lr=5e-3):
    x = torch.randn(300, 10)
    y = (x[:, :3] * x[:, 3:6]).argmax(1)
    model = make_model()
    for epoch in range(epochs):
        losses = [train_step(model, x[i], y[i], lr) for i in torch.randperm(300).split(50)]
        if epoch % 3 == 0 or epoch == epochs - 1:
            print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}")


run()
