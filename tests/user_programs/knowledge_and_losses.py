"""Distillation, focal loss, label smoothing by hand, and every functional loss on one batch."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(100)
    teacher = torch.randn(8, 5)
    student = torch.randn(8, 5, requires_grad=True)
    labels = torch.randint(5, (8,))
    T = 3.0
    soft = F.kl_div(F.log_softmax(student / T, 1), F.softmax(teacher / T, 1), reduction="batchmean")
    hard = F.cross_entropy(student, labels)
    (0.7 * T**2 * soft + 0.3 * hard).backward()
    out = {"distil": [soft, hard, student.grad.clone()]}

    logp = F.log_softmax(student, -1)
    pt = logp.gather(1, labels[:, None]).exp()
    focal = (-((1 - pt) ** 2) * pt.log()).mean()
    smooth = torch.full_like(logp, 0.1 / 5).scatter_(1, labels[:, None], 0.9 + 0.1 / 5)
    by_hand = -(smooth * logp).sum(1).mean()
    out["focal"] = torch.autograd.grad(focal + by_hand, student, retain_graph=True)[0]
    out["close"] = torch.allclose(by_hand, F.cross_entropy(student, labels, label_smoothing=0.1))

    x, y = student[:, 0], teacher[:, 0]
    pm = torch.where(y > 0, 1.0, -1.0)
    weight = torch.tensor([1.0, 2.0, 0.5, 1.5, 3.0])
    losses = {
        "mse": F.mse_loss(x, y),
        "l1": F.l1_loss(x, y, reduction="sum"),
        "smooth": F.smooth_l1_loss(x, y),
        "huber": F.huber_loss(x, y, delta=0.7),
        "bce": F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
        "bcel": F.binary_cross_entropy_with_logits(x, (y > 0).float(), weight=y.abs()),
        "nll": F.nll_loss(logp, labels, weight=weight),
        "ce": F.cross_entropy(student, labels, weight),
        "ce_prob": F.cross_entropy(student, teacher.softmax(1)),
        "soft_margin": F.soft_margin_loss(x, pm),
        "hinge": F.hinge_embedding_loss(x, pm),
        "poisson": F.poisson_nll_loss(x, y.exp()),
        "gauss": F.gaussian_nll_loss(x, y, torch.ones(8) * 0.5),
        "multi": F.multi_margin_loss(student, labels),
        "kl_log": F.kl_div(logp, teacher.log_softmax(1), log_target=True, reduction="sum"),
        "mlsm": F.multilabel_soft_margin_loss(student, (teacher > 0).float()),
        "mlm": F.multilabel_margin_loss(student, torch.tensor([[3, 0, -1, 1, 2]]).repeat(8, 1)),
        "ignore": F.cross_entropy(student, labels.masked_fill(labels == 2, -100)),
        "triplet": F.triplet_margin_with_distance_loss(student, teacher, teacher.flip(0)),
        "log": F.logsigmoid(x).mean(),
        "ls_none": F.nll_loss(logp, labels, reduction="none").sum(),
        "pixel": F.cross_entropy(student.view(2, 5, 2, 2), labels.view(2, 2, 2)),
    }
    out["values"] = losses
    out["grads"] = {
        n: torch.autograd.grad(v, student, retain_graph=True)[0] for n, v in losses.items()
    }
    activations = [
        "relu",
        "elu",
        "selu",
        "celu",
        "gelu",
        "silu",
        "mish",
        "softplus",
        "softsign",
        "tanhshrink",
        "hardtanh",
        "hardsigmoid",
        "hardswish",
        "relu6",
        "leaky_relu",
        "logsigmoid",
        "softshrink",
        "hardshrink",
        "sigmoid",
        "tanh",
    ]
    out["act"] = {n: getattr(F, n)(student * 2) for n in activations}
    out["act_grad"] = {
        n: torch.autograd.grad(v.sum(), student, retain_graph=True)[0]
        for n, v in out["act"].items()
    }
    out["more"] = [
        F.threshold(student, 0.1, -1),
        F.prelu(student, weight),
        F.glu(student[:, :4]),
        F.softmin(student, 1),
        F.normalize(student, p=1, dim=0),
        F.rms_norm(student, (5,)),
        F.bilinear(x[:, None], y[:, None], torch.ones(2, 1, 1)),
        F.pairwise_distance(student, teacher),
        F.embedding_bag(labels.view(2, 4), teacher, mode="mean"),
        F.softmax(student, 0, dtype=torch.double),
    ]
    return out
