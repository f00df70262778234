# expect: nothing
# The classic small image classifier: train() and test() functions, log_softmax, nll_loss.

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 3), nn.Conv2d(6, 8, 3)
        self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.25)
        self.fc1, self.fc2 = nn.Linear(32, 24), nn.Linear(24, 3)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = self.dropout1(F.max_pool2d(x, 3)).flatten(1)
        return F.log_softmax(self.fc2(self.dropout2(F.relu(self.fc1(x)))), dim=1)


def train(model, loader, optimizer):
    model.train()
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()


def test(model, loader):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for data, target in loader:
            total += F.nll_loss(model(data), target, reduction="sum").item()
    return total / sum(len(t) for _, t in loader)


torch.manual_seed(713)
labels = torch.randint(0, 3, (150,))
images = torch.randn(150, 1, 10, 10)
for c in range(3):
    images[labels == c, :, :, 3 * c : 3 * c + 3] += 1.0
batches = list(zip(images.split(25), labels.split(25)))
train_loader, test_loader = batches[:4], batches[4:]
model = Net()
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)
scores = [test(model, test_loader)]
for _ in range(8):
    train(model, train_loader, optimizer)
    scores.append(test(model, test_loader))
    scheduler.step()
print(scores[0], scores[-1])
