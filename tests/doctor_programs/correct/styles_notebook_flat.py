# expect: nothing
# %% imports
import torch
import torch.nn as nn
torch.manual_seed(16)

# %% data
n = 300
X = torch.rand(n, 5) * 4
price = 3 * X[:, 0] - 2 * X[:, 1] * X[:, 2] + 0.1 * torch.randn(n)
perm = torch.randperm(n)
X_train, X_test = X[perm[:240]], X[perm[240:]]
y_train, y_test = price[perm[:240]], price[perm[240:]]
mu, sd = X_train.mean(0), X_train.std(0)
X_train, X_test = (X_train - mu) / sd, (X_test - mu) / sd
y_mu, y_sd = y_train.mean(), y_train.std()
y_train, y_test = (y_train - y_mu) / y_sd, (y_test - y_mu) / y_sd

# %% model
model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

# %% training
history = []
for epoch in range(20):
    model.train()
    idx = torch.randperm(len(X_train))
    for k in range(0, len(idx), 60):
        xb, yb = X_train[idx[k:k+60]], y_train[idx[k:k+60]]
        optimizer.zero_grad()
        out = model(xb).squeeze(-1)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
    history.append(loss.item())
    model.eval()
    with torch.no_grad():
        test = criterion(model(X_test).squeeze(-1), y_test)
print(float(history[-1]), test.item())
