# expect: bad-learning-rate line 7, 10, 18

import torch


class LinReg:
    def __init__(self, d, lr=1e-7):
        self.w = torch.zeros(d, 1, requires_grad=True)
        self.b = torch.zeros(1, requires_grad=True)
        self.lr = lr

    def fit(self, X, y, n=100):
        for i in range(n):
            loss = ((X @ self.w + self.b - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for p in (self.w, self.b):
                    p -= self.lr * p.grad
                    p.grad.zero_()
            if i % 25 == 0:
                print(i, loss.item())


torch.manual_seed(0)
X = torch.randn(100, 3)
LinReg(3).fit(X, X.sum(1, keepdim=True) + 2)
