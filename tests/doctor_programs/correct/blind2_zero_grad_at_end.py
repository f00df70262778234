# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)


class LogReg(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 1)

    def forward(self, x):
        return torch.sigmoid(self.linear(x))


X = torch.randn(150, 5)
y = (X @ torch.randn(5, 1) > 0).float()
Xtr, Xte, ytr, yte = X[:120], X[120:], y[:120], y[120:]
model = LogReg()
criterion = nn.BCELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(80):
    y_predicted = model(Xtr)
    loss = criterion(y_predicted, ytr)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if (epoch + 1) % 20 == 0:
        print(f"epoch {epoch + 1}, loss = {loss.item():.4f}")
with torch.no_grad():
    print((model(Xte).round().eq(yte).sum() / float(yte.shape[0])).item())
