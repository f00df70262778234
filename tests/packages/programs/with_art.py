"""the Adversarial Robustness Toolbox: a classifier trained, and attacked"""

import numpy as np
import torch
from art.attacks.evasion import DeepFool, FastGradientMethod, ProjectedGradientDescent
from art.estimators.classification import PyTorchClassifier
from torch import nn

torch.manual_seed(0)
np.random.seed(0)
network = nn.Sequential(nn.Flatten(), nn.Linear(48, 16), nn.ReLU(), nn.Linear(16, 4))
classifier = PyTorchClassifier(
    network, loss=nn.CrossEntropyLoss(), optimizer=torch.optim.Adam(network.parameters(), 1e-2),
    input_shape=(3, 4, 4), nb_classes=4, clip_values=(0, 1), device_type="cpu",
)  # fmt: skip
x = np.random.rand(16, 3, 4, 4).astype("float32")
classifier.fit(x, np.eye(4)[np.arange(16) % 4].astype("float32"), batch_size=8, nb_epochs=3)
print([f"{each:.4f}" for each in classifier.predict(x[:2]).ravel()])
for attack in (
    FastGradientMethod(classifier, eps=0.1), DeepFool(classifier, max_iter=3, verbose=False),
    ProjectedGradientDescent(classifier, eps=0.1, eps_step=0.02, max_iter=3, verbose=False),
):  # fmt: skip
    print(type(attack).__name__, f"{np.abs(attack.generate(x[:4]) - x[:4]).sum():.3f}")
