"""Calls that beginners get wrong; the exception's type and first words are compared."""


def main(torch):
    F = torch.nn.functional
    a, b = torch.ones(2, 3), torch.ones(4, 5)
    leaf = torch.ones(3, requires_grad=True)

    def twice():
        y = (leaf * leaf).sum()
        y.backward()
        y.backward()

    def overwritten():
        y = leaf.exp()
        y.add_(1)
        y.sum().backward()

    def unused():
        other = torch.ones(1, requires_grad=True)
        torch.autograd.grad(leaf.sum(), other)

    def inplace_leaf():
        leaf.add_(1)

    def inplace_view_of_leaf():
        leaf[0] = 5

    wrong = [
        lambda: a @ b,
        lambda: a + b,
        lambda: torch.mm(a, b),
        lambda: torch.cat([a, b]),
        lambda: torch.stack([a, b]),
        lambda: a.view(5),
        lambda: a.T.view(6),
        lambda: a.reshape(4, 2),
        lambda: a[5],
        lambda: a[0, 0, 0],
        lambda: a[:, 7],
        lambda: a.sum(dim=3),
        lambda: a.squeeze(9),
        lambda: a.transpose(0, 2),
        lambda: a.item(),
        lambda: bool(a),
        lambda: (a * leaf).backward(),
        lambda: a.sum().backward(),
        twice,
        overwritten,
        unused,
        inplace_leaf,
        inplace_view_of_leaf,
        lambda: torch.ones(3, dtype=torch.int64, requires_grad=True),
        lambda: torch.arange(3).mean(),
        lambda: F.cross_entropy(a, torch.tensor([0, 5])),
        lambda: F.cross_entropy(a, torch.zeros(3).long()),
        lambda: F.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 2, 3, 3)),
        lambda: F.linear(a, b),
        lambda: F.embedding(torch.tensor([10]), a),
        lambda: a.expand(4, 3),
        lambda: a.permute(0, 0),
        lambda: torch.tensor([[1, 2], [3]]),
        lambda: torch.tensor("abc"),
        lambda: a.gather(0, torch.ones(1)),
        lambda: torch.zeros(3) + "x",
        lambda: a.unknown_method(),
        lambda: torch.eye(2).to("nowhere"),
        lambda: leaf.numpy(),
        lambda: torch.linalg.inv(torch.zeros(2, 2)),
        lambda: torch.linalg.cholesky(-torch.eye(2)),
        lambda: a.split([1, 2, 3], dim=1),
        lambda: torch.arange(3).add_(1.5),
        lambda: torch.zeros(2).copy_(torch.zeros(3)),
        lambda: torch.ones(2, 3).masked_fill_(torch.ones(2, 3), 0),
        lambda: a[torch.tensor([0, 9])],
        lambda: a[torch.tensor([True, False, True])],
        lambda: torch.bmm(a, a),
        lambda: a.dot(a),
        lambda: torch.normal(0.0, -1.0, (2,)),
        lambda: torch.multinomial(torch.tensor([-1.0, 2.0]), 1),
        lambda: torch.multinomial(torch.ones(2), 5),
        lambda: torch.randint(5, 5, (1,)),
        lambda: F.max_pool2d(torch.ones(1, 1, 2, 2), 5),
        lambda: F.one_hot(torch.tensor([1.0])),
        lambda: F.one_hot(torch.tensor([3]), 2),
        lambda: F.nll_loss(a, torch.tensor([0.0, 1.0])),
        lambda: F.mse_loss(a, b),
        lambda: F.dropout(a, 1.5),
        lambda: F.layer_norm(a, (4,)),
        lambda: torch.full((2,)),
        lambda: len(torch.tensor(1)),
        lambda: list(torch.tensor(1.0)),
        lambda: torch.tensor([1.0, 2.0]) << 1,
        lambda: ~torch.ones(2),
        lambda: torch.ones(2) & torch.ones(2),
        lambda: -torch.tensor([True]),
        lambda: hash({leaf: 1}[1]),
        lambda: torch.as_strided(a, (9, 9), (1, 1)),
        lambda: torch.zeros(-1),
        lambda: a.unsqueeze(5),
        lambda: a.flatten(3),
        lambda: torch.topk(a, 9),
        lambda: a.repeat(2),
        lambda: a.median(4),
        lambda: torch.einsum("ij,jk", a, b),
        lambda: torch.einsum("ijk", a),
        lambda: a.unfold(1, 9, 1),
        lambda: torch.where(a, a, a),
        lambda: F.pad(a, (1,)),
        lambda: torch.scatter(a, 0, a, a),
        lambda: F.binary_cross_entropy(a * 3, a),
        lambda: a.requires_grad_(False).T.resize_(9, 9).foo,
        lambda: torch.set_default_dtype(torch.int32),
        lambda: a.softmax(),
        lambda: torch.sum("x"),
        lambda: F.softmax(a, 5),
        lambda: F.interpolate(a, size=3),
        lambda: torch.tensor([1, None]),
        lambda: torch.zeros(2)[0.5],
        lambda: a.index_select(0, a),
        lambda: setattr(leaf * 2, "requires_grad", False),
        lambda: setattr(leaf, "grad", torch.ones(4)),
        lambda: torch.tensor(1.0, requires_grad=True).sum().detach().backward(),
        lambda: F.batch_norm(torch.ones(1, 3), None, None, training=True),
        lambda: F.conv1d(torch.ones(2, 2), torch.ones(1, 3, 1)),
        lambda: torch.ones(2, 2).triu_indices,
        lambda: torch.randperm(-2),
        lambda: torch.arange(0, 5, -1),
        lambda: F.ctc_loss(a, a, a, a),
        lambda: torch.tensor(3)[0],
        lambda: torch.tensor(3).size(0),
        lambda: a.size(2),
        lambda: a.chunk(0),
        lambda: a.roll(1, (0, 1)),
        lambda: a.view(-1, -1),
        lambda: a.reshape(-1, 4),
        lambda: iter(leaf.sum()),
        lambda: a.index_add_(0, torch.tensor([0]), b),
    ]
    results = []
    for number, call in enumerate(wrong):
        try:
            call()
            results.append([number, "no error"])
        except Exception as error:
            first_words = " ".join(str(error).split()[:4])
            results.append([number, type(error).__name__, first_words])
    return results
