"""DeepXDE: a differential equation solved by a network"""

import os

os.environ["DDE_BACKEND"] = "pytorch"

import deepxde
import numpy as np
import torch

deepxde.config.set_random_seed(0)
torch.set_default_device("cpu")
where = deepxde.geometry.Interval(-1, 1)
border = deepxde.icbc.DirichletBC(where, lambda x: 0, lambda x, on_border: on_border)
data = deepxde.data.PDE(
    where,
    lambda x, y: -deepxde.grad.hessian(y, x) - np.pi**2 * torch.sin(np.pi * x),
    border, 16, 2, solution=lambda x: np.sin(np.pi * x), num_test=20,
)  # fmt: skip
network = deepxde.nn.FNN([1, 16, 16, 1], "tanh", "Glorot uniform")
model = deepxde.Model(data, network)
model.compile("adam", lr=1e-2, metrics=["l2 relative error"], verbose=0)
history, _ = model.train(iterations=20, display_every=5, verbose=0)
print([f"{loss:.4f}" for loss in np.ravel(history.loss_train)])
print(f"{model.predict(np.array([[0.5]])).item():.4f}")
