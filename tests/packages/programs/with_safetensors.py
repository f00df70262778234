"""weights of a module saved, opened a tensor at a time, and loaded again"""

import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save_file, save_model

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.safetensors")
    save_file(model.state_dict(), path, metadata={"format": "pt"})
    with safe_open(path, "pt") as file:
        print(sorted(file.keys()), file.metadata(), f"{file.get_tensor('0.weight').sum():.5f}")
        print(file.get_slice("0.weight")[1:, :2].shape)
    again = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    print(again.load_state_dict(load_file(path)))
    save_model(model, path)
    print(load_model(again, path), torch.equal(again[0].weight, model[0].weight))
