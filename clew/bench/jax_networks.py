"""The networks of the benchmarks as users of JAX write them.

A maker gives `loss(p, buffers, data, draw)`, which returns the loss and the new buffers. `p` has
the parameters by PyTorch's names, in the layouts that are usual in JAX: weights of linear layers as
inputs by outputs, images with their channels last. `draw(shape)` gives normal numbers.
"""

from collections.abc import Callable
from typing import Any

# p, buffers, data, draw -> loss, buffers
Loss = Callable[[Any, Any, Any, Any], tuple[Any, Any]]


def _linear(p: Any, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def _cross_entropy(jax: Any, logits: Any, target: Any) -> Any:
    log = jax.nn.log_softmax(logits)
    return -jax.numpy.take_along_axis(log, target[..., None], axis=-1).mean()


def _three_layers(jax: Any, p: Any, x: Any) -> Any:
    x = jax.nn.relu(_linear(p, "0", x))
    return _linear(p, "4", jax.nn.relu(_linear(p, "2", x)))


def mlp(jax: Any) -> Loss:
    def loss(p: Any, buffers: Any, data: Any, draw: Any) -> tuple[Any, Any]:
        x, y = data
        return _cross_entropy(jax, _three_layers(jax, p, x), y), buffers

    return loss


def dqn(jax: Any) -> Loss:
    np = jax.numpy

    def loss(p: Any, buffers: Any, data: Any, draw: Any) -> tuple[Any, Any]:
        states, actions, returns = data
        out = np.take_along_axis(_three_layers(jax, p, states), actions, axis=1)[:, 0]
        error = np.abs(out - returns)
        return np.where(error < 1, 0.5 * error**2, error - 0.5).mean(), buffers

    return loss


def vae(jax: Any) -> Loss:
    np = jax.numpy

    def loss(p: Any, buffers: Any, data: Any, draw: Any) -> tuple[Any, Any]:
        (x,) = data
        hidden = jax.nn.relu(_linear(p, "0", x))
        mean, log = _linear(p, "2", hidden), _linear(p, "3", hidden)
        z = mean + draw(mean.shape) * np.exp(0.5 * log)
        image = jax.nn.sigmoid(_linear(p, "4", jax.nn.relu(_linear(p, "1", z))))
        # PyTorch's binary_cross_entropy bounds the logarithms, too.
        of_ones = x * np.maximum(np.log(image), -100)
        of_zeros = (1 - x) * np.maximum(np.log1p(-image), -100)
        divergence = -0.5 * np.sum(1 + log - mean**2 - np.exp(log))
        return divergence - np.sum(of_ones + of_zeros), buffers

    return loss


def gpt(heads: int) -> Callable[[Any], Loss]:
    def make(jax: Any) -> Loss:
        def loss(p: Any, buffers: Any, data: Any, draw: Any) -> tuple[Any, Any]:
            index, target = data
            x = p["tokens.weight"][index] + p["places.weight"]
            block = 0
            while f"blocks.{block}.qkv.weight" in p:
                x = _block(jax, p, f"blocks.{block}", x, heads)
                block += 1
            logits = _layer_norm(jax, p, "norm", x) @ p["head.weight"]
            return _cross_entropy(jax, logits, target), buffers

        return loss

    return make


def _block(jax: Any, p: Any, name: str, x: Any, heads: int) -> Any:
    batch, length, width = x.shape
    qkv = _linear(p, f"{name}.qkv", _layer_norm(jax, p, f"{name}.norm1", x))
    shape = (batch, length, heads, width // heads)
    q, k, v = (part.reshape(shape) for part in jax.numpy.split(qkv, 3, axis=-1))
    mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + _linear(p, f"{name}.out", mixed.reshape(batch, length, width))
    up = _linear(p, f"{name}.up", _layer_norm(jax, p, f"{name}.norm2", x))
    return x + _linear(p, f"{name}.down", jax.nn.gelu(up, approximate=False))


def _layer_norm(jax: Any, p: Any, name: str, x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    normal = (x - mean) * jax.lax.rsqrt(variance + 1e-5)
    return normal * p[f"{name}.weight"] + p[f"{name}.bias"]


def _lstm_layer(jax: Any, p: Any, number: int, x: Any) -> Any:
    """Over x of shape (steps, batch, width); the products with the inputs are one."""
    np = jax.numpy
    bias = p[f"layers.bias_ih_l{number}"] + p[f"layers.bias_hh_l{number}"]
    inputs = x @ p[f"layers.weight_ih_l{number}"] + bias

    def cell(carried: Any, of_input: Any) -> tuple[Any, Any]:
        h, c = carried
        gates = of_input + h @ p[f"layers.weight_hh_l{number}"]
        i, f, g, o = np.split(gates, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * np.tanh(g)
        h = jax.nn.sigmoid(o) * np.tanh(c)
        return (h, c), h

    zeros = np.zeros((x.shape[1], inputs.shape[-1] // 4), x.dtype)
    return jax.lax.scan(cell, (zeros, zeros), inputs)[1]


def _gru_layer(jax: Any, p: Any, number: int, x: Any) -> Any:
    """The same of a GRU."""
    np = jax.numpy
    inputs = x @ p[f"layers.weight_ih_l{number}"] + p[f"layers.bias_ih_l{number}"]

    def cell(h: Any, of_input: Any) -> tuple[Any, Any]:
        of_state = h @ p[f"layers.weight_hh_l{number}"] + p[f"layers.bias_hh_l{number}"]
        (xr, xz, xn), (hr, hz, hn) = (np.split(each, 3, axis=-1) for each in (of_input, of_state))
        z = jax.nn.sigmoid(xz + hz)
        h = (1 - z) * np.tanh(xn + jax.nn.sigmoid(xr + hr) * hn) + z * h
        return h, h

    zeros = np.zeros((x.shape[1], inputs.shape[-1] // 3), x.dtype)
    return jax.lax.scan(cell, zeros, inputs)[1]


def _reader(layer: Callable[..., Any]) -> Callable[[Any], Loss]:
    def make(jax: Any) -> Loss:
        def loss(p: Any, buffers: Any, data: Any, draw: Any) -> tuple[Any, Any]:
            x, y = data
            first = layer(jax, p, 0, x.swapaxes(0, 1))
            last = layer(jax, p, 1, first)[-1]
            return _cross_entropy(jax, _linear(p, "out", last), y), buffers

        return loss

    return make


lstm, gru = _reader(_lstm_layer), _reader(_gru_layer)


def _convolution(jax: Any, p: Any, name: str, x: Any, stride: int = 1) -> Any:
    weight = p[f"{name}.weight"]
    side = weight.shape[0] // 2
    out = jax.lax.conv_general_dilated(
        x, weight, (stride, stride), ((side, side), (side, side)),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )  # fmt: skip
    return out + p[f"{name}.bias"] if f"{name}.bias" in p else out


def _batch_norm(jax: Any, p: Any, buffers: dict[str, Any], name: str, x: Any) -> Any:
    """Writes the new running statistics into `buffers`."""
    mean, count = x.mean((0, 1, 2)), x.size // x.shape[-1]
    variance = ((x - mean) ** 2).mean((0, 1, 2))
    for kind, value in (("mean", mean), ("var", variance * count / (count - 1))):
        key = f"{name}.running_{kind}"
        buffers[key] = 0.9 * buffers[key] + 0.1 * value
    buffers[f"{name}.num_batches_tracked"] = buffers[f"{name}.num_batches_tracked"] + 1
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def cnn(jax: Any) -> Loss:
    def pooled(x: Any) -> Any:
        window = (1, 2, 2, 1)
        return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, window, window, "VALID")

    def loss(p: Any, buffers: Any, data: Any, draw: Any) -> tuple[Any, Any]:
        x, y = data
        buffers = dict(buffers)
        for conv, norm in (("0", "1"), ("4", "5")):
            x = _batch_norm(jax, p, buffers, norm, _convolution(jax, p, conv, x))
            x = pooled(jax.nn.relu(x))
        x = jax.nn.relu(_convolution(jax, p, "8", x)).mean((1, 2))
        return _cross_entropy(jax, _linear(p, "12", x), y), buffers

    return loss


def resnet18(jax: Any) -> Loss:
    relu = jax.nn.relu

    def block(p: Any, buffers: Any, name: str, x: Any, stride: int) -> Any:
        out = _convolution(jax, p, f"{name}.conv1", x, stride)
        out = relu(_batch_norm(jax, p, buffers, f"{name}.norm1", out))
        out = _convolution(jax, p, f"{name}.conv2", out)
        out = _batch_norm(jax, p, buffers, f"{name}.norm2", out)
        if f"{name}.short.0.weight" in p:
            x = _convolution(jax, p, f"{name}.short.0", x, stride)
            x = _batch_norm(jax, p, buffers, f"{name}.short.1", x)
        return relu(out + x)

    def loss(p: Any, buffers: Any, data: Any, draw: Any) -> tuple[Any, Any]:
        x, y = data
        buffers = dict(buffers)
        x = relu(_batch_norm(jax, p, buffers, "1", _convolution(jax, p, "0", x)))
        for place, stride in enumerate((1, 1, 2, 1, 2, 1, 2, 1)):
            x = block(p, buffers, f"{place + 3}", x, stride)
        return _cross_entropy(jax, _linear(p, "13", x.mean((1, 2))), y), buffers

    return loss


NETWORKS: dict[str, Callable[[Any], Loss]] = {
    "mlp": mlp,
    "mlp_small": mlp,
    "cnn": cnn,
    "resnet18": resnet18,
    "gpt_d64": gpt(heads=4),
    "gpt_d128": gpt(heads=4),
    "gpt_d384": gpt(heads=6),
    "lstm": lstm,
    "gru": gru,
    "vae": vae,
    "dqn": dqn,
}
