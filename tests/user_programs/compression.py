"""Making models small: fake quantisation, pruning, LoRA, weight averages, palettes."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(208)

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output.clone()

    def fake_quant(w, bits=4):
        scale = w.detach().abs().amax(dim=1, keepdim=True) / (2 ** (bits - 1) - 1)
        q = torch.clamp(Round.apply(w / scale), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return q * scale

    x = torch.randn(32, 6)
    y = torch.sin(x @ torch.randn(6, 2))
    W1, W2 = (
        (torch.randn(10, 6) * 0.4).requires_grad_(),
        (torch.randn(2, 10) * 0.4).requires_grad_(),
    )
    qat = []
    for _ in range(20):
        loss = F.mse_loss(F.linear(F.relu(F.linear(x, fake_quant(W1))), fake_quant(W2)), y)
        loss.backward()
        for w in (W1, W2):
            w.data.sub_(w.grad, alpha=0.1)
            w.grad.zero_()
        qat.append(loss.item())
    ints = (W1.detach() / W1.detach().abs().max() * 127).round().to(torch.int8)
    deq = ints.to(torch.float32) * (W1.detach().abs().max() / 127)

    threshold = torch.quantile(W1.detach().abs().flatten(), 0.5)
    mask = (W1.abs() > threshold).float()
    handle = W1.register_hook(lambda g: g * mask)
    with torch.no_grad():
        W1.mul_(mask)
    pruned = []
    for _ in range(10):
        loss = F.l1_loss(F.relu(x @ W1.T) @ W2.T, y)
        W1.grad = W2.grad = None
        loss.backward()
        with torch.no_grad():
            for w in (W1, W2):
                w -= 0.1 * w.grad
        pruned.append(loss.item())
    handle.remove()
    sparsity = (W1 == 0).float().mean().item()

    frozen = W1.detach()
    A, B = torch.randn(2, 6).mul_(0.1).requires_grad_(), torch.zeros(10, 2, requires_grad=True)
    swa, lora = None, []
    for step in range(10):
        loss = F.mse_loss(F.gelu(x @ (frozen + 2.0 * B @ A).T) @ W2.detach().T, y)
        gA, gB = torch.autograd.grad(loss, [A, B])
        A.data, B.data = A.data - 0.3 * gA, B.data - 0.3 * gB
        swa = B.data.clone() if swa is None else swa + (B.data - swa) / (step + 1)
        lora.append(loss.item())
    palette = torch.linspace(frozen.min().item(), frozen.max().item(), 4)
    for _ in range(5):
        code = (frozen.flatten()[:, None] - palette).abs().argmin(1)
        palette = torch.stack(
            [
                frozen.flatten()[code == k].mean() if (code == k).any() else palette[k]
                for k in range(4)
            ]
        )
    packed = (code[::2] << 2 | code[1::2]).to(torch.uint8)
    lam = torch.rand(1)
    mixed = lam * x + (1 - lam) * x[torch.randperm(32)]
    return {
        "qat": qat,
        "ints": ints,
        "deq": deq,
        "mask": mask,
        "pruned": pruned,
        "sparsity": sparsity,
        "lora": lora,
        "swa": swa,
        "palette": palette,
        "packed": packed,
        "mixed": mixed,
        "half": W1.detach().half().float(),
        "bf16": W1.detach().bfloat16(),
        "B": B,
        "kept": torch.count_nonzero(mask),
    }
