"""Mixed precision as in the AMP recipes: autocast, GradScaler, clipping after unscale_."""


def main(torch):
    nn = torch.nn
    result = {}

    def make_model(in_size, out_size, num_layers):
        layers = []
        for _ in range(num_layers - 1):
            layers.append(nn.Linear(in_size, in_size))
            layers.append(nn.ReLU())
        layers.append(nn.Linear(in_size, out_size))
        return nn.Sequential(*tuple(layers))

    torch.manual_seed(6)
    data = [torch.randn(16, 12) for _ in range(6)]
    targets = [torch.randn(16, 4) for _ in range(6)]
    loss_fn = nn.MSELoss()

    # bfloat16 autocast without a scaler.
    net = make_model(12, 4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    curve, kinds = [], set()
    for input, target in zip(data, targets):
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            output = net(input)
            kinds.add(str(output.dtype))
            loss = loss_fn(output, target)
            kinds.add(str(loss.dtype))
        loss.backward()
        opt.step()
        opt.zero_grad()
        curve.append(round(loss.item(), 2))
    result["bf16"] = [curve, sorted(kinds), str(net[0].weight.dtype)]

    # A scaler, with clipping after unscale_, and a step that overflows.
    net = make_model(12, 4, 3)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
    log = []
    for step, (input, target) in enumerate(zip(data, targets)):
        with torch.autocast("cpu", enabled=False):
            loss = loss_fn(net(input), target)
        if step == 3:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=0.5)
        before = net[0].weight.detach().clone()
        scaler.step(opt)
        scale = scaler.get_scale()
        scaler.update()
        moved = bool((net[0].weight != before).any())
        opt.zero_grad()
        log.append(
            [step, float(norm) if norm.isfinite() else -1.0, scale, scaler.get_scale(), moved]
        )
    result["scaler"] = [log, scaler.state_dict(), net[4].bias]

    # Disabled, everything is a no-op.
    off = torch.amp.GradScaler("cpu", enabled=False)
    loss = loss_fn(net(data[0]), targets[0])
    off.scale(loss).backward()
    off.step(opt)
    off.update()
    result["off"] = [off.is_enabled(), off.get_scale(), off.state_dict(), loss.item()]

    # Which dtype comes out of what.
    a, b = torch.rand(4, 4), torch.rand(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        c = torch.mm(a, b)
        table = [c.dtype, (c + a).dtype, (c @ c).dtype, torch.softmax(c, 0).dtype, c.sum().dtype]
        with torch.autocast("cpu", enabled=False):
            table.append(torch.mm(c.float(), a).dtype)
        table.append(torch.is_autocast_enabled("cpu"))
    result["table"] = [str(t) for t in table]
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            nn.functional.binary_cross_entropy(torch.sigmoid(a), (b > 0.5).float())
        result["bce"] = "fine"
    except RuntimeError as e:
        result["bce"] = str(e)[:60]
    return result
