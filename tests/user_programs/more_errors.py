"""Wrong calls of research code: shapes in losses and layers, dtypes, devices, graph misuse."""


def main(torch):
    F = torch.nn.functional
    x = torch.randn(4, 3)
    w = torch.ones(3, requires_grad=True)
    img = torch.ones(1, 3, 6, 6)
    i64 = torch.arange(4)

    def no_grad_loss():
        with torch.no_grad():
            loss = (w * 2).sum()
        loss.backward()

    def grad_of_int():
        torch.autograd.grad(w.sum(), i64)

    def non_scalar():
        torch.autograd.grad(w * 2, w)

    def wrong_grad_shape():
        (w * 2).backward(torch.ones(2))

    def double_without_graph():
        (g,) = torch.autograd.grad((w**2).sum(), w)
        g.sum().backward()

    def view_in_no_grad():
        with torch.no_grad():
            v = w.view(3)
        v.mul_(2)

    def unbind_inplace():
        a, b, c = (w * 1).unbind()
        a.mul_(2)

    def inference_backward():
        with torch.inference_mode():
            v = torch.ones(3)
        (v * w).sum().backward()

    def overwrite_input():
        y = w * 2
        z = y**2
        y[0] = 3
        z.sum().backward()

    def bad_function():
        class Bad(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                return a * b

            @staticmethod
            def backward(ctx, g):
                return g

        Bad.apply(w, w * 2).sum().backward()

    def bad_hook():
        y = w * 1
        y.register_hook(lambda g: "text")
        y.sum().backward()

    wrong = [
        no_grad_loss,
        grad_of_int,
        non_scalar,
        wrong_grad_shape,
        double_without_graph,
        view_in_no_grad,
        unbind_inplace,
        inference_backward,
        overwrite_input,
        bad_function,
        bad_hook,
        lambda: x @ torch.ones(4),
        lambda: x.matmul(i64),
        lambda: torch.mm(x, x.double().T),
        lambda: x.mv(x[:, 0]),
        lambda: F.linear(x, torch.ones(2, 4)),
        lambda: F.linear(x.double(), torch.ones(2, 3)),
        lambda: F.conv2d(img, torch.ones(2, 3, 9, 9)),
        lambda: F.conv2d(img[0, 0], torch.ones(1, 1, 3, 3)),
        lambda: F.conv2d(img, torch.ones(2, 3, 3, 3), torch.ones(3)),
        lambda: F.conv2d(img.double(), torch.ones(2, 3, 3, 3)),
        lambda: F.conv2d(img, torch.ones(2, 3, 3, 3), groups=2),
        lambda: F.conv2d(img, torch.ones(2, 3, 3, 3), stride=0),
        lambda: F.conv2d(img, torch.ones(2, 3, 3, 3), padding="valid2"),
        lambda: F.conv_transpose2d(img, torch.ones(2, 3, 3, 3)),
        lambda: F.avg_pool2d(img, 9),
        lambda: F.max_pool2d(img, 2, padding=2),
        lambda: F.batch_norm(img, torch.ones(4), torch.ones(4)),
        lambda: F.group_norm(img, 2),
        lambda: F.layer_norm(img, (5, 6)),
        lambda: F.cross_entropy(x, i64.float()),
        lambda: F.cross_entropy(x, i64),
        lambda: F.cross_entropy(x, i64[:2]),
        lambda: F.nll_loss(x, i64[:, None]),
        lambda: F.cross_entropy(x, torch.ones(4, 2)),
        lambda: F.mse_loss(x, x, reduction="avg"),
        lambda: F.binary_cross_entropy_with_logits(x, x[0]),
        lambda: F.binary_cross_entropy(torch.rand(2), torch.rand(3)),
        lambda: F.kl_div(x, x, reduction="none2"),
        lambda: F.embedding(x, x),
        lambda: F.embedding(i64 + 9, x),
        lambda: F.embedding(i64 - 1, x),
        lambda: F.dropout(x, -0.1),
        lambda: F.gelu(x, approximate="fast"),
        lambda: F.glu(x, 1),
        lambda: F.softmax(i64, 0),
        lambda: F.pad(img, (1, 1, 1, 1, 1, 1), mode="reflect"),
        lambda: F.pad(img, (9, 9), mode="reflect"),
        lambda: F.interpolate(img),
        lambda: F.interpolate(img, size=3, scale_factor=2),
        lambda: F.interpolate(img, size=3, mode="cubic"),
        lambda: F.interpolate(img, 3, align_corners=True),
        lambda: F.fold(x, 2, 2),
        lambda: F.pixel_shuffle(img, 2),
        lambda: F.grid_sample(img, x),
        lambda: F.scaled_dot_product_attention(x, x[:, :2], x),
        lambda: F.normalize(x, dim=5),
        lambda: F.cosine_similarity(x, x[:2]),
        lambda: F.one_hot(i64 - 2),
        lambda: F.gumbel_softmax(i64),
        lambda: F.bilinear(x, x, torch.ones(2, 2, 2)),
        lambda: F.ctc_loss(torch.ones(5, 1, 3), torch.ones(1, 2), (5,), (2,)),
        lambda: F.triplet_margin_loss(x, x, x[:, :2]),
        lambda: torch.linalg.solve(x, x),
        lambda: torch.linalg.inv(x),
        lambda: torch.linalg.det(x),
        lambda: torch.cholesky_solve(x, x),
        lambda: torch.linalg.eigh(x),
        lambda: torch.linalg.qr(x[0]),
        lambda: torch.linalg.svd(x[0]),
        lambda: torch.linalg.norm(x, "abc"),
        lambda: torch.linalg.solve(torch.zeros(2, 2), torch.ones(2)),
        lambda: torch.trace(img),
        lambda: torch.outer(x, x),
        lambda: torch.einsum("ij->ik", x),
        lambda: torch.einsum("i->i", x),
        lambda: torch.tensordot(x, x, dims=1),
        lambda: torch.fft.fft(torch.ones(0)),
        lambda: torch.cdist(x, torch.ones(2, 2)),
        lambda: torch.cross(x[:2], x[:2], dim=0),
        lambda: x.scatter(1, i64[None], 1.0).scatter_(5, i64[None], 1.0),
        lambda: x.gather(1, i64),
        lambda: x.index_add(0, i64, x.double()),
        lambda: x.masked_select(i64),
        lambda: torch.where(x > 0),
        lambda: x.take(x),
        lambda: x.scatter_add(0, i64[:, None] + 9, x),
        lambda: x.put_(i64, x[0]),
        lambda: x[x],
        lambda: x[i64, i64, i64],
        lambda: x.__setitem__((0, 0), torch.ones(2)),
        lambda: x.__setitem__(9, 1),
        lambda: x.__setitem__(x > 0, torch.ones(99)),
        lambda: x.__setitem__(0, "a"),
        lambda: i64.__setitem__(0, 1j),
        lambda: x[1:2:0],
        lambda: x[::-1],
        lambda: torch.cat([]),
        lambda: torch.cat(x[0, 0]),
        lambda: torch.stack([]),
        lambda: torch.cat([x, img]),
        lambda: torch.cat([x], 3),
        lambda: x.split(0),
        lambda: x.split(-1),
        lambda: x.chunk(2, 4),
        lambda: x.unflatten(1, (2, 2)),
        lambda: x.narrow(0, 3, 3),
        lambda: x.select(0, 9),
        lambda: x.movedim(0, 5),
        lambda: x.permute(0),
        lambda: x.diagonal(0, 0, 0),
        lambda: x.expand(2),
        lambda: x.flip(4),
        lambda: x.rot90(1, (0, 0)),
        lambda: x.view(torch.float64).view(5),
        lambda: torch.diag(img),
        lambda: i64.float().bincount(),
        lambda: torch.bincount(-i64),
        lambda: torch.histc(i64),
        lambda: i64.softmax(0),
        lambda: i64.std(),
        lambda: torch.quantile(x, 2.0),
        lambda: torch.quantile(i64, 0.5),
        lambda: x.kthvalue(9),
        lambda: x.max(5),
        lambda: torch.max(torch.ones(0)),
        lambda: torch.ones(0).argmax(),
        lambda: x.any(9),
        lambda: x.cumsum(),
        lambda: x.mean(dtype=torch.int64),
        lambda: x.norm(p="x"),
        lambda: torch.bucketize(x, x),
        lambda: torch.arange(5, 1),
        lambda: torch.arange("a"),
        lambda: torch.linspace(0, 1, -3),
        lambda: torch.eye(-1),
        lambda: torch.zeros(1.5),
        lambda: torch.tensor([1, "a"]),
        lambda: torch.rand(2, dtype=torch.int64),
        lambda: torch.randn((2,), dtype=torch.long),
        lambda: torch.randint(0, (2,)),
        lambda: torch.bernoulli(x * 100),
        lambda: torch.normal(x, -x.abs()),
        lambda: torch.empty(2).uniform_(2, 1),
        lambda: torch.empty(2).normal_(0, -1),
        lambda: torch.empty(2).exponential_(-1),
        lambda: torch.manual_seed("a"),
        lambda: torch.Generator("tpu"),
        lambda: torch.set_rng_state(torch.ones(3)),
        lambda: torch.tensor(1.0, dtype="float"),
        lambda: torch.as_tensor(object()),
        lambda: torch.from_numpy([1]),
        lambda: x.numpy().foo,
        lambda: i64.requires_grad_(),
        lambda: x.backward(),
        lambda: x.register_hook(print),
        lambda: x.retain_grad(),
        lambda: (w * 2).requires_grad_(False),
        lambda: w.detach_().view(9),
        lambda: x < "a",
        lambda: x + None,
        lambda: x ** "a",
        lambda: x @ 3,
        lambda: x & x,
        lambda: i64 << 1.5,
        lambda: bool(torch.ones(0)),
        lambda: torch.ones(2).__index__(),
        lambda: float(torch.ones(2)),
        lambda: int(torch.tensor(float("nan"))),
        lambda: [1, 2][torch.tensor(1.0)],
        lambda: i64 / "a",
        lambda: i64.div_(2),
        lambda: i64.sqrt_(),
        lambda: i64.pow(-1),
        lambda: (i64 > 1).sub(i64 > 2),
        lambda: torch.clamp(x),
        lambda: x.addmm_(x, x),
        lambda: torch.addmm(x, x, x),
        lambda: torch.logical_and(x, "a"),
        lambda: torch.isclose(x, 1.0),
        lambda: torch.allclose(x, x.double()),
        lambda: torch.equal(x, 1),
        lambda: torch.mul(),
        lambda: torch.relu(x, x),
        lambda: torch.exp(x, foo=1),
        lambda: torch.meshgrid(x, x),
        lambda: torch.cartesian_prod(x),
        lambda: torch.combinations(x),
        lambda: torch.vander(x),
        lambda: torch.block_diag(img),
        lambda: torch.broadcast_shapes((2,), (3,)),
        lambda: torch.broadcast_to(x, (5, 5)),
        lambda: x.view_as(img),
        lambda: x.copy_("a"),
        lambda: x.fill_(x),
        lambda: x.apply_(3),
        lambda: w.resize_(9),
        lambda: torch.zeros(3).expand(2, 3).add_(1),
        lambda: torch.complex(x, i64),
        lambda: torch.view_as_complex(x),
        lambda: x.imag,
        lambda: torch.polar(i64, i64),
        lambda: torch.tensor(1j) < 2,
    ]
    unbindable = [
        lambda: x.masked_fill(x > 0, "a"),
        lambda: torch.where(x > 0, x, "a"),
        lambda: x.tile("a"),
        lambda: x.sum(dim="a"),
        lambda: x.var(correction="a"),
        lambda: torch.zeros(2, "a"),
        lambda: torch.full((2,), "a"),
        lambda: x.requires_grad_("a", 1),
        lambda: torch.clamp(x, "a"),
        lambda: torch.lerp(x, x, "a"),
        lambda: torch.add(1),
        lambda: x.sum(1, 2, 3, 4, 5),
        lambda: x.exp(3),
    ]
    results = []
    for call in unbindable:  # Python words these in its own way
        try:
            call()
            results.append("no error")
        except TypeError:
            results.append("TypeError")
    for number, call in enumerate(wrong):
        try:
            call()
            results.append([number, "no error"])
        except Exception as error:
            first_words = " ".join(str(error).split()[:4])
            results.append([number, type(error).__name__, first_words])
    return results
