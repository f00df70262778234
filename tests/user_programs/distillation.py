"""Knowledge distillation with a frozen teacher, feature hooks, and temperature-scaled KL."""


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(2)
    x = torch.randn(120, 6)
    y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.5).long()
    teacher = nn.Sequential(
        nn.Linear(6, 48), nn.ELU(), nn.Linear(48, 48), nn.ELU(), nn.Linear(48, 3)
    )
    opt = torch.optim.Adamax(teacher.parameters(), lr=0.02)
    teacher_curve = []
    for _ in range(20):
        loss = F.cross_entropy(teacher(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        teacher_curve.append(loss.item())
    teacher.eval()
    teacher.requires_grad_(False)

    features = {}

    def save(name):
        def hook(module, args, output):
            features[name] = output if name.startswith("s") else output.detach()

        return hook

    class Student(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 12), nn.ReLU6())
            self.head = nn.Linear(12, 3)
            self.adapter = nn.Linear(12, 48, bias=False)

        def forward(self, x):
            return self.head(self.body(x))

    handles = [teacher[3].register_forward_hook(save("teacher"))]
    result = {"teacher": teacher_curve}
    for name, T, alpha in [("kd", 4.0, 0.7), ("log_target", 2.0, 0.5), ("fitnet", 1.0, 0.0)]:
        student = Student()
        handles.append(student.body.register_forward_hook(save("s_" + name)))
        opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
        curve = []
        for _ in range(15):
            s = student(x)
            with torch.no_grad():
                t = teacher(x)
            hard = F.cross_entropy(s, y)
            if name == "kd":
                soft = nn.KLDivLoss(reduction="batchmean")(
                    F.log_softmax(s / T, dim=1), F.softmax(t / T, dim=1)
                ) * (T * T)
            elif name == "log_target":
                soft = T**2 * F.kl_div(
                    F.log_softmax(s / T, 1), F.log_softmax(t / T, 1),
                    reduction="batchmean", log_target=True,
                )  # fmt: skip
            else:
                soft = F.mse_loss(student.adapter(features["s_fitnet"]), features["teacher"])
            loss = alpha * soft + (1.0 - alpha) * hard + (0.1 * soft if name == "fitnet" else 0)
            opt.zero_grad()
            loss.backward()
            opt.step()
            curve.append(loss.item())
        accuracy = (student(x).argmax(-1) == y).float().mean()
        result[name] = [curve, accuracy.item(), student.head.bias]
        result[name + "_unused"] = [n for n, p in student.named_parameters() if p.grad is None]
    for handle in handles:
        handle.remove()
    features.clear()
    teacher(x)
    result["after_removal"] = len(features)
    result["frozen"] = all(p.grad is None or not p.requires_grad for p in teacher.parameters())
    return result
