# expect: graph-leak line 16

import torch
import torch.nn as nn


def train_one_epoch(model, opt, batches, crit):
    running_loss = 0
    correct = 0
    for x, y in batches:
        opt.zero_grad()
        out = model(x)
        loss = crit(out, y)
        loss.backward()
        opt.step()
        running_loss += loss
        correct += (out.argmax(1) == y).sum().item()
    return running_loss / len(batches), correct


if __name__ == "__main__":
    torch.manual_seed(0)
    X = torch.randn(640, 10)
    Y = X[:, :5].argmax(1)
    batches = list(zip(X.split(16), Y.split(16)))
    net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Dropout(0.1), nn.Linear(40, 5))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for e in range(4):
        l, c = train_one_epoch(net, opt, batches, nn.CrossEntropyLoss())
        print(e, l, c / 640)
