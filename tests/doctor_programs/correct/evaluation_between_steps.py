# expect: nothing
# Validation every few steps with eval() and no_grad(), then back to train().

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(217)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 48)
        self.bn = nn.BatchNorm1d(48)
        self.drop = nn.Dropout(0.2)
        self.fc2 = nn.Linear(48, 3)

    def forward(self, x):
        return self.fc2(self.drop(F.relu(self.bn(self.fc1(x)))))


def evaluate(model, x, y):
    was_training = model.training
    model.eval()
    with torch.no_grad():
        loss = F.cross_entropy(model(x), y).item()
    model.train(was_training)
    return loss


x = torch.randn(300, 8)
y = x[:, :3].argmax(1)
train_x, train_y, val_x, val_y = x[:240], y[:240], x[240:], y[240:]
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scores = [evaluate(model, val_x, val_y)]
for step in range(60):
    pick = torch.randint(0, 240, (40,))
    loss = F.cross_entropy(model(train_x[pick]), train_y[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        scores.append(evaluate(model, val_x, val_y))
print("validation", scores[0], scores[-1])
