"""Binary and multiclass logistic regression, with momentum and weight decay by hand."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(1)
    n = 120
    centers = torch.tensor([[2.0, 0.0], [-1.0, 1.5], [-1.0, -1.5]])
    labels = torch.arange(n) % 3
    points = centers[labels] + 0.8 * torch.randn(n, 2)

    theta = torch.zeros(2, requires_grad=True)
    target = (labels == 0).float()
    binary = []
    for _ in range(30):
        logit = points.mv(theta)
        loss = F.binary_cross_entropy_with_logits(logit, target)
        (g,) = torch.autograd.grad(loss, theta)
        theta.data.add_(g, alpha=-1.0)
        binary.append(float(loss))

    weight = (0.01 * torch.randn(3, 2)).requires_grad_()
    bias = torch.zeros(3, requires_grad=True)
    velocity = [torch.zeros_like(p) for p in (weight, bias)]
    curve = []
    for step in range(40):
        logits = F.linear(points, weight, bias)
        loss = F.cross_entropy(logits, labels, label_smoothing=0.05) + 1e-3 * weight.norm() ** 2
        loss.backward()
        with torch.no_grad():
            for p, v in zip((weight, bias), velocity):
                v.mul_(0.9).add_(p.grad)
                p.sub_(0.1 * v)
                p.grad = None
        curve.append(loss.item())

    with torch.no_grad():
        probs = F.softmax(F.linear(points, weight, bias), dim=-1)
    predicted = probs.argmax(1)
    confusion = torch.zeros(3, 3, dtype=torch.int64)
    confusion.index_put_((labels, predicted), torch.ones(n, dtype=torch.long), accumulate=True)
    accuracy = (predicted == labels).float().mean().item()
    per_class = torch.bincount(predicted, minlength=3)
    return {
        "binary": binary,
        "curve": curve,
        "confusion": confusion,
        "accuracy": accuracy,
        "per_class": per_class,
        "theta": theta.detach(),
        "max_p": probs.max(dim=1).values,
    }
