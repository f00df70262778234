# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(31)


def cnn(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, 4),
    )


def pictures(n):
    y = torch.randint(0, 4, (n,))
    x = 0.3 * torch.randn(n, 1, 8, 8)
    for i, c in enumerate(y.tolist()):
        x[i, 0, 4 * (c // 2) : 4 * (c // 2) + 4, 4 * (c % 2) : 4 * (c % 2) + 4] += 1
    return x, y


class FeatureTap:
    def __init__(self, module):
        self.value = None
        self.all = []
        module.register_forward_hook(self)

    def __call__(self, module, args, output):
        self.value = output


def train_teacher(teacher):
    opt = torch.optim.Adam(teacher.parameters(), 3e-3)
    teacher.train()
    for _ in range(15):
        x, y = pictures(32)
        opt.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt.step()


teacher, student = cnn(12), cnn(6)
train_teacher(teacher)
teacher.eval()
t_tap, s_tap = FeatureTap(teacher[3]), FeatureTap(student[3])
adapter = nn.Conv2d(6, 12, 1)
opt = torch.optim.Adam([*student.parameters(), *adapter.parameters()], 3e-3)
TEMP = 3.0
for step in range(25):
    student.train()
    x, y = pictures(32)
    with torch.no_grad():
        soft = F.softmax(teacher(x) / TEMP, 1)
    out = student(x)
    kd = -(soft * F.log_softmax(out / TEMP, 1)).sum(1).mean() * TEMP ** 2
    hint = F.mse_loss(adapter(s_tap.value), t_tap.value)
    loss = F.cross_entropy(out, y) + 0.5 * kd + 0.1 * hint
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
