"""Poutyne: a model with metrics and callbacks."""

import numpy as np
import torch
from poutyne import EarlyStopping, ExponentialLR, Model

torch.manual_seed(0)
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
y = (x.sum(1) > 0).astype("int64")
m = Model(
    torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)),
    "adam",
    "cross_entropy",
    batch_metrics=["accuracy"],
    epoch_metrics=["f1"],
)
h = m.fit(
    x,
    y,
    validation_data=(x[:16], y[:16]),
    epochs=3,
    verbose=False,
    callbacks=[EarlyStopping(patience=2), ExponentialLR(gamma=0.9)],
)
for r in h:
    print({k: f"{v:.5f}" for k, v in r.items() if k != "time"})
print(m.evaluate(x, y, verbose=False))
print(f"{m.predict(x, verbose=False).mean():.5f}")
