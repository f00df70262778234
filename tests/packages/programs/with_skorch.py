"""skorch: a network as an estimator of scikit-learn."""

import numpy as np
import torch
from skorch import NeuralNetClassifier

torch.manual_seed(0)
rng = np.random.default_rng(0)
x = rng.standard_normal((32, 4)).astype(np.float32)
y = (x.sum(1) > 0).astype(np.int64)
net = NeuralNetClassifier(
    torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)),
    criterion=torch.nn.CrossEntropyLoss, max_epochs=3, lr=0.1, train_split=None, verbose=0,
)  # fmt: skip
net.fit(x, y)
print([round(row["train_loss"], 5) for row in net.history], f"{net.score(x, y):.4f}")
