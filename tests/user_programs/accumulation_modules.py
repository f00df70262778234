"""Gradient accumulation against the large batch, add_param_group, and freezing by stages."""


def main(torch):
    nn = torch.nn
    torch.manual_seed(14)
    X, y = torch.randn(48, 5), torch.randn(48, 1)

    def fresh():
        torch.manual_seed(15)
        return nn.Sequential(nn.Linear(5, 16), nn.Softplus(), nn.Linear(16, 1))

    # The large batch, and the same in pieces of 16 and 12.
    grads, curves = [], []
    for accum in (1, 3, 4):
        model = fresh()
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, dampening=0.1)
        curve = []
        for epoch in range(5):
            opt.zero_grad()
            total = 0.0
            for i, (xb, yb) in enumerate(zip(X.chunk(accum), y.chunk(accum))):
                loss = nn.functional.mse_loss(model(xb), yb) / accum
                loss.backward()
                total += loss.item()
                if (i + 1) % accum == 0:
                    opt.step()
            curve.append(total)
        curves.append(curve)
        grads.append([p.grad.clone() for p in model.parameters()])
    agree = [torch.allclose(a, b, atol=1e-5) for g in grads[1:] for a, b in zip(grads[0], g)]

    # A pretrained body is frozen, then joins with a smaller rate.
    body = nn.Sequential(nn.Linear(5, 12), nn.Tanh())
    head = nn.Linear(12, 1)
    for param in body.parameters():
        param.requires_grad = False
    opt = torch.optim.AdamW(head.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9)
    staged, rates = [], []
    for epoch in range(10):
        if epoch == 4:
            for param in body.parameters():
                param.requires_grad_()
            opt.add_param_group({"params": body.parameters(), "lr": 1e-3, "weight_decay": 0.5})
        opt.zero_grad()
        loss = nn.HuberLoss(delta=0.5)(head(body(X)), y)
        loss.backward()
        opt.step()
        if epoch < 4:
            sched.step()
        staged.append(loss.item())
        rates.append([g["lr"] for g in opt.param_groups])
    errors = []
    attempts = [
        lambda: opt.add_param_group({"params": [head.weight]}),
        lambda: torch.optim.SGD([], lr=0.1),
        lambda: torch.optim.Adam(model.parameters(), lr=-1.0),
        lambda: torch.optim.SGD(model.parameters(), lr=0.1, nesterov=True),
        lambda: torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=-1),
        lambda: torch.optim.Adam([X * 1.0, head.weight * 2]),
        lambda: torch.optim.Adam(head.weight),
        lambda: torch.optim.Adam([{"params": [head.bias], "lr": 0.1}, {"params": ["x"]}]),
    ]
    for attempt in attempts:
        try:
            attempt()
            errors.append("no error")
        except (ValueError, TypeError) as e:
            errors.append(type(e).__name__ + ": " + str(e)[:22])
    # Adagrad is the one that wants its state shared before the first step.
    ada = torch.optim.Adagrad(
        head.parameters(), lr=0.1, lr_decay=0.01, initial_accumulator_value=0.1
    )
    states = {k: [t.shape for t in v.values()] for k, v in zip("wb", ada.state.values())}
    return {
        "curves": curves,
        "agree": agree,
        "staged": staged,
        "rates": rates,
        "errors": errors,
        "states": {k: [list(s) for s in v] for k, v in states.items()},
        "text": str(opt),
        "state": opt.state_dict()["param_groups"],
    }
