"""PyPose: poses as parameters, trained by SGD on their manifold and by Levenberg-Marquardt."""

import pypose as pp
import torch

torch.manual_seed(0)


class Inv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pose = pp.Parameter(pp.randn_SE3(2))

    def forward(self, x):
        return (self.pose @ x).Log().tensor()


n = Inv()
x = pp.randn_SE3(2)
opt = torch.optim.SGD(n.parameters(), 0.1)
for i in range(3):
    opt.zero_grad()
    loss = n(x).pow(2).sum()
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
o = pp.optim.LM(n)
print([f"{o.step(x).item():.6f}" for _ in range(3)])
r = pp.randn_SO3(3)
print(
    r.matrix().shape,
    f"{r.Log().norm().item():.4f}",
    f"{(r * r.Inv()).Log().abs().max().item():.4f}",
    type(r.Act(torch.ones(3))).__name__,
    r.lshape,
)
print(pp.SE3(torch.tensor([[0.0, 0, 0, 0, 0, 0, 1]])))
