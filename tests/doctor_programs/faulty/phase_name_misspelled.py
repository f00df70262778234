# expect: detached-graph line 18, 19
# set_grad_enabled compares the phase with "training" while the phases are "train" and "val".

import torch
from torch import nn


def train_model(model, data, criterion, optimizer, epochs=3):
    for epoch in range(epochs):
        for phase in ["train", "val"]:
            if phase == "train":
                model.train()
            else:
                model.eval()
            running = 0.0
            for inputs, labels in data[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "training"):
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running += loss.item()
            print(f"{epoch} {phase} loss: {running / len(data[phase]):.4f}")


torch.manual_seed(310)
x = torch.randn(120, 6)
y = x[:, :2].argmax(1)
data = {
    "train": list(zip(x[:80].split(20), y[:80].split(20))),
    "val": list(zip(x[80:].split(20), y[80:].split(20))),
}
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
train_model(model, data, nn.CrossEntropyLoss(), optimizer)
