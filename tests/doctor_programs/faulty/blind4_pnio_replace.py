# expect: param-not-in-optimizer line 8, 10

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
# only 3 classes in this task
model[2] = nn.Linear(32, 3)
X = torch.randn(300, 10)
y = X[:, :3].argmax(1)
for epoch in range(4):
    for i in range(0, 300, 30):
        model.zero_grad()
        loss = nn.functional.cross_entropy(model(X[i : i + 30]), y[i : i + 30])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
