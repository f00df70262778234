"""fastai: a `Learner` with one-cycle training, tensors that keep their class."""

import torch
from fastai.losses import MSELossFlat
from fastai.metrics import rmse
from fastai.torch_core import set_seed
from fastai.vision.all import DataLoaders, Learner, TensorImage, nn, xresnet18

set_seed(0, reproducible=True)
x = torch.randn(64, 3)
y = x @ torch.tensor([[1.0], [2.0], [-1.0]])
dls = DataLoaders.from_dsets(
    list(zip(x, y)), list(zip(x[:16], y[:16])), bs=16, num_workers=0, device="cpu"
)
learn = Learner(
    dls,
    nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)),
    loss_func=MSELossFlat(),
    metrics=[rmse],
)
with learn.no_bar(), learn.no_logging():
    learn.fit_one_cycle(3, 1e-2)
    print([f"{float(v):.5f}" for v in learn.validate()])
    learn.fit(2, 1e-2, wd=0.1)
    print([f"{float(v):.5f}" for v in learn.validate()])
xb = TensorImage(torch.rand(2, 3, 8, 8))
print(type(xb * 2).__name__, type(xb.mean()).__name__, f"{(xb * 2).mean().item():.5f}")
m = xresnet18(n_out=3)
o = m(torch.rand(2, 3, 32, 32))
o.sum().backward()
print(f"{o.sum().item():.4f}")
