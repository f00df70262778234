# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(13)


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16 * 4 * 4, 3)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


def attack(model, x, eps=0.1, alpha=0.04, iters=3):
    model.eval()
    with torch.no_grad():
        clean = F.softmax(model(x), 1)
    adv = x + 0.001 * torch.randn_like(x)
    for _ in range(iters):
        adv.requires_grad_(True)
        kl = F.kl_div(F.log_softmax(model(adv), 1), clean, reduction="sum")
        grad = torch.autograd.grad(kl, adv)[0]
        adv = adv.detach() + alpha * grad.sign()
        adv = torch.min(torch.max(adv, x - eps), x + eps)
    model.train()
    return adv.detach()


model = SmallCNN()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
y_all = torch.randint(0, 3, (96,))
patterns = torch.randn(3, 1, 8, 8)
x_all = patterns[y_all] + 0.5 * torch.randn(96, 1, 8, 8)
for epoch in range(3):
    for i in range(0, 96, 24):
        x, y = x_all[i:i + 24], y_all[i:i + 24]
        adv = attack(model, x)
        opt.zero_grad()
        clean_logits = model(x)
        robust = F.kl_div(F.log_softmax(model(adv), 1), F.softmax(clean_logits, 1), reduction="batchmean")
        loss = F.cross_entropy(clean_logits, y) + 4.0 * robust
        loss.backward()
        opt.step()
    print(epoch, loss.item())
