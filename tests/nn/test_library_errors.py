"""Bad input to modules, optimizers, loaders and files: PyTorch's error types and leading words.

Errors inside a module also name the module's path, its sizes and the user's line.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import clew

FILE = Path(__file__).name


def caught(function: Callable[..., Any], *args: Any, **kwargs: Any) -> BaseException:
    with pytest.raises(Exception) as found:
        function(*args, **kwargs)
    return found.value


def assert_same_error(ours: BaseException, theirs: BaseException, lead: str | None = None) -> None:
    """The same type (or a subclass of it), and a text that begins with PyTorch's first line."""
    kinds = {kind.__name__ for kind in type(ours).__mro__}
    assert type(theirs).__name__ in kinds, f"{ours!r} instead of {theirs!r}"
    first_line = str(theirs).split("\n")[0]
    if lead is not None:
        assert first_line.startswith(lead), f"PyTorch says: {first_line}"
        first_line = lead
    assert str(ours).startswith(first_line), f"{ours}\ninstead of\n{theirs}"


# -- errors inside modules ---------------------------------------------------------------------


def model_around(t: Any, layer: Any) -> Any:
    """A user's model with the layer at `blocks.1.layer`."""

    class Block(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self.layer(*args, **kwargs)  # the user's call

    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = t.nn.ModuleList([t.nn.Identity(), Block()])

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self.blocks[1](*args, **kwargs)

    return Model()


def users_line() -> str:
    lines = inspect.getsource(inspect.getmodule(users_line)).splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if line.endswith("# the user's call")]
    return f"{FILE}:{number}"


def zeros(*shape: int) -> Callable[[Any], Any]:
    return lambda t: t.zeros(*shape)


def doubles(*shape: int) -> Callable[[Any], Any]:
    return lambda t: t.zeros(*shape, dtype=t.float64)


def numbers(*shape: int) -> Callable[[Any], Any]:
    return lambda t: t.zeros(*shape, dtype=t.int64)


def values(*data: Any) -> Callable[[Any], Any]:
    return lambda t: t.tensor(data)


Case = tuple[Callable[[Any], Any], tuple[Any, ...]]

# A layer, and arguments that do not fit it; functions of the module are called with it.
IN_MODULES: dict[str, Case] = {
    "linear_features": (lambda nn: nn.Linear(4, 3), (zeros(2, 5),)),
    "linear_float64": (lambda nn: nn.Linear(4, 3), (doubles(2, 4),)),
    "linear_integers": (lambda nn: nn.Linear(4, 3), (numbers(2, 4),)),
    "linear_list": (lambda nn: nn.Linear(4, 3), ([[1.0, 2.0, 3.0, 4.0]],)),
    "linear_scalar": (lambda nn: nn.Linear(4, 3), (lambda t: t.tensor(1.0),)),
    "linear_nothing": (lambda nn: nn.Linear(4, 3), ()),
    "bilinear_features": (lambda nn: nn.Bilinear(4, 3, 2), (zeros(2, 4), zeros(2, 4))),
    "conv1d_rank": (lambda nn: nn.Conv1d(3, 4, 3), (zeros(2, 3, 4, 5),)),
    "conv2d_rank": (lambda nn: nn.Conv2d(3, 4, 3), (zeros(2, 3),)),
    "conv2d_channels": (lambda nn: nn.Conv2d(3, 4, 3), (zeros(2, 5, 8, 8),)),
    "conv2d_too_small": (lambda nn: nn.Conv2d(3, 4, 5), (zeros(2, 3, 4, 4),)),
    "conv2d_float64": (lambda nn: nn.Conv2d(3, 4, 3), (doubles(2, 3, 8, 8),)),
    "conv_transpose_channels": (lambda nn: nn.ConvTranspose2d(3, 4, 3), (zeros(2, 5, 8, 8),)),
    "max_pool_rank": (lambda nn: nn.MaxPool2d(2), (zeros(2, 3),)),
    "max_pool_too_small": (lambda nn: nn.MaxPool2d(4), (zeros(1, 3, 2, 2),)),
    "avg_pool_rank": (lambda nn: nn.AvgPool1d(2), (zeros(3),)),
    "batch_norm_1d_rank": (lambda nn: nn.BatchNorm1d(3), (zeros(2, 3, 4, 5),)),
    "batch_norm_2d_rank": (lambda nn: nn.BatchNorm2d(3), (zeros(2, 3),)),
    "batch_norm_one_value": (lambda nn: nn.BatchNorm1d(3), (zeros(1, 3),)),
    "batch_norm_channels": (lambda nn: nn.BatchNorm2d(3), (zeros(2, 5, 4, 4),)),
    "layer_norm_shape": (lambda nn: nn.LayerNorm(3), (zeros(2, 5),)),
    "rms_norm_shape": (lambda nn: nn.RMSNorm(3), (zeros(2, 5),)),
    "group_norm_channels": (lambda nn: nn.GroupNorm(2, 4), (zeros(2, 6, 3),)),
    "instance_norm_one_value": (lambda nn: nn.InstanceNorm2d(3), (zeros(1, 3, 1, 1),)),
    "instance_norm_rank": (lambda nn: nn.InstanceNorm1d(3), (zeros(1, 3, 1, 1),)),
    "embedding_too_large": (lambda nn: nn.Embedding(4, 3), (values(0, 4),)),
    "embedding_negative": (lambda nn: nn.Embedding(4, 3), (values(-1),)),
    "embedding_floats": (lambda nn: nn.Embedding(4, 3), (zeros(2),)),
    "embedding_bag_range": (lambda nn: nn.EmbeddingBag(4, 3), (values([0, 9]),)),
    "embedding_bag_offsets": (lambda nn: nn.EmbeddingBag(4, 3), (values(0, 1),)),
    "lstm_input_size": (lambda nn: nn.LSTM(4, 3), (zeros(5, 2, 6),)),
    "lstm_rank": (lambda nn: nn.LSTM(4, 3), (zeros(5, 2, 4, 1),)),
    "gru_input_size": (lambda nn: nn.GRU(4, 3, batch_first=True), (zeros(5, 2, 6),)),
    "gru_hidden": (lambda nn: nn.GRU(4, 3), (zeros(5, 2, 4), zeros(2, 2, 3))),
    "rnn_float64": (lambda nn: nn.RNN(4, 3), (doubles(5, 2, 4),)),
    "lstm_cell_size": (lambda nn: nn.LSTMCell(4, 3), (zeros(2, 6),)),
    "gru_cell_rank": (lambda nn: nn.GRUCell(4, 3), (zeros(2, 2, 2, 4),)),
    "rnn_cell_hidden": (lambda nn: nn.RNNCell(4, 3), (zeros(2, 4), zeros(3, 3))),
    "attention_embed_dim": (lambda nn: nn.MultiheadAttention(8, 2), (zeros(5, 2, 6),) * 3),
    "attention_rank": (lambda nn: nn.MultiheadAttention(8, 2), (zeros(5, 2, 2, 8),) * 3),
    "attention_keys_and_values": (
        lambda nn: nn.MultiheadAttention(8, 2),
        (zeros(5, 2, 8), zeros(4, 2, 8), zeros(3, 2, 8)),
    ),
    "encoder_embed_dim": (lambda nn: nn.TransformerEncoderLayer(8, 2), (zeros(5, 2, 6),)),
    "decoder_batches": (
        lambda nn: nn.TransformerDecoderLayer(8, 2), (zeros(5, 2, 8), zeros(4, 3, 8))
    ),
    "transformer_batches": (
        lambda nn: nn.Transformer(8, 2, 1, 1, 16), (zeros(5, 2, 8), zeros(4, 3, 8))
    ),
    "transformer_width": (
        lambda nn: nn.Transformer(8, 2, 1, 1, 16), (zeros(5, 2, 6), zeros(4, 2, 6))
    ),
    "cross_entropy_float_classes": (lambda nn: nn.CrossEntropyLoss(), (zeros(2, 3), zeros(2))),
    "cross_entropy_int32": (
        lambda nn: nn.CrossEntropyLoss(),
        (zeros(2, 3), lambda t: t.zeros(2, dtype=t.int32)),
    ),
    "cross_entropy_column": (lambda nn: nn.CrossEntropyLoss(), (zeros(2, 3), numbers(2, 1))),
    "cross_entropy_batches": (lambda nn: nn.CrossEntropyLoss(), (zeros(2, 3), numbers(4))),
    "cross_entropy_class": (lambda nn: nn.CrossEntropyLoss(), (zeros(2, 3), values(0, 3))),
    "cross_entropy_probabilities": (
        lambda nn: nn.CrossEntropyLoss(), (zeros(2, 3), zeros(2, 4))
    ),
    "cross_entropy_last_classes": (
        lambda nn: nn.CrossEntropyLoss(), (zeros(2, 5, 7), numbers(2, 5))
    ),
    "nll_batches": (lambda nn: nn.NLLLoss(), (zeros(2, 3), numbers(3))),
    "bce_shapes": (lambda nn: nn.BCELoss(), (zeros(2, 1), zeros(2))),
    "bce_not_probabilities": (lambda nn: nn.BCELoss(), (values(2.0, 0.5), zeros(2))),
    "bce_integers": (lambda nn: nn.BCELoss(), (values(0.5, 0.5), numbers(2))),
    "bce_with_logits_shapes": (lambda nn: nn.BCEWithLogitsLoss(), (zeros(2, 1), zeros(2))),
    "mse_shapes": (lambda nn: nn.MSELoss(), (zeros(2, 3), zeros(4))),
    "kl_div_shapes": (lambda nn: nn.KLDivLoss(), (zeros(2, 3), zeros(4, 3))),
    "ctc_lengths": (
        lambda nn: nn.CTCLoss(),
        (zeros(5, 2, 3), lambda t: t.ones(2, 2, dtype=t.int64), values(5), values(2, 2)),
    ),
    "softmax_dim": (lambda nn: nn.Softmax(dim=3), (zeros(2, 3),)),
    "flatten_dim": (lambda nn: nn.Flatten(3), (zeros(2, 3),)),
    "unflatten_sizes": (lambda nn: nn.Unflatten(1, (2, 2)), (zeros(2, 3),)),
    "pixel_shuffle_channels": (lambda nn: nn.PixelShuffle(2), (zeros(1, 3, 2, 2),)),
    "upsample_rank": (
        lambda nn: nn.Upsample(scale_factor=2, mode="bilinear"), (zeros(1, 3, 2),)
    ),
    "glu_odd": (lambda nn: nn.GLU(), (zeros(2, 3),)),
    "prelu_channels": (lambda nn: nn.PReLU(4), (zeros(2, 3),)),
    "reflection_pad_size": (lambda nn: nn.ReflectionPad2d(3), (zeros(1, 1, 2, 2),)),
    "dropout_list": (lambda nn: nn.Dropout(0.5), ([1.0],)),
    "unfold_rank": (lambda nn: nn.Unfold(2), (zeros(3),)),
    "fold_columns": (lambda nn: nn.Fold((4, 4), 2), (zeros(1, 4, 5),)),
    "cosine_similarity_shapes": (lambda nn: nn.CosineSimilarity(), (zeros(2, 3), zeros(4, 5))),
    "lazy_linear_scalar": (lambda nn: nn.LazyLinear(3), (lambda t: t.tensor(1.0),)),
    "sequential_two_arguments": (
        lambda nn: nn.Sequential(nn.Linear(2, 2)), (zeros(1, 2), zeros(1, 2))
    ),
}  # fmt: skip


def module_error(t: Any, case: Case) -> BaseException:
    make, arguments = case
    given = [value(t) if callable(value) else value for value in arguments]
    return caught(model_around(t, make(t.nn)), *given)


# torch warns of a bilinear resize's corners and the like; errors are what this is about.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", IN_MODULES)
def test_errors_inside_modules(name: str) -> None:
    ours = module_error(clew, IN_MODULES[name])
    assert_same_error(ours, module_error(torch, IN_MODULES[name]))
    assert "in module blocks.1.layer" in str(ours)
    assert users_line() in str(ours)


def test_a_wrong_hidden_state_is_named() -> None:
    def program(t: Any) -> Any:
        state = t.zeros(1, 3, 3), t.zeros(1, 2, 3)
        return caught(model_around(t, t.nn.LSTM(4, 3)), t.zeros(5, 2, 4), state)

    ours = program(clew)
    assert_same_error(ours, program(torch))
    assert "in module blocks.1.layer" in str(ours) and users_line() in str(ours)


@pytest.mark.parametrize("mask", ["attn_mask", "key_padding_mask"])
def test_wrong_masks_are_named(mask: str) -> None:
    def program(t: Any) -> Any:
        masks = {"attn_mask": t.zeros(4, 4), "key_padding_mask": t.zeros(3, 5).bool()}
        x = t.zeros(5, 2, 8)
        return caught(
            model_around(t, t.nn.MultiheadAttention(8, 2)), x, x, x, **{mask: masks[mask]}
        )

    ours = program(clew)
    assert_same_error(ours, program(torch))
    assert "in module blocks.1.layer" in str(ours) and users_line() in str(ours)


def test_one_value_per_channel_is_enough_for_evaluation() -> None:
    assert clew.nn.BatchNorm1d(3).eval()(clew.zeros(1, 3)).shape == (1, 3)


# -- everything else -----------------------------------------------------------------------------


def network(t: Any) -> Any:
    return t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Linear(3, 1))


def sgd(t: Any, **options: Any) -> Any:
    return t.optim.SGD(network(t).parameters(), lr=0.1, **options)


def changed_state(t: Any, name: str, value: Any) -> dict[str, Any]:
    return {**network(t).state_dict(), name: value}


def renamed_state(t: Any) -> dict[str, Any]:
    state = dict(network(t).state_dict())
    state["extra"] = state.pop("1.bias")
    return state


def past_the_end(t: Any) -> None:
    batches = iter(t.utils.data.DataLoader([1, 2, 3], batch_size=2))
    for _ in range(3):
        next(batches)


def overlapping_groups(t: Any) -> None:
    model = network(t)
    t.optim.SGD([{"params": model.parameters()}, {"params": model[0].parameters()}], lr=0.1)


def iterable_dataset(t: Any) -> Any:
    class Counting(t.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            return iter(range(4))

    return Counting()


def not_initialised(t: Any) -> None:
    class Forgetful(t.nn.Module):
        def __init__(self) -> None:
            self.layer = t.nn.Linear(1, 1)

    Forgetful()


def nan_gradients(t: Any) -> None:
    model = network(t)
    for parameter in model.parameters():
        parameter.grad = t.full_like(parameter, float("nan"))
    t.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)


def loader(**options: Any) -> Callable[[Any], Any]:
    return lambda t: t.utils.data.DataLoader([0, 1, 2, 3], **options)


def first_batch(*samples: Any) -> Callable[[Any], Any]:
    def program(t: Any) -> Any:
        made = [sample(t) if callable(sample) else sample for sample in samples]
        return next(iter(t.utils.data.DataLoader(made, batch_size=len(made))))

    return program


def half_a_file(t: Any) -> Any:
    whole = io.BytesIO()
    t.save({"weight": t.zeros(9)}, whole)
    return t.load(io.BytesIO(whole.getvalue()[:300]))


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "module_to_cuda": lambda t: network(t).to("cuda"),
    "module_cuda": lambda t: network(t).cuda(),
    "tensor_on_cuda": lambda t: t.zeros(2, device="cuda"),
    "unknown_device": lambda t: t.device("nowhere"),
    "module_to_integers": lambda t: network(t).to(t.int32),
    "state_missing": lambda t: network(t).load_state_dict({}),
    "state_unexpected": lambda t: network(t).load_state_dict(changed_state(t, "extra", t.zeros(1))),
    "state_both": lambda t: network(t).load_state_dict(renamed_state(t)),
    "state_size": lambda t: network(t).load_state_dict(changed_state(t, "0.weight", t.zeros(4, 2))),
    "state_no_tensor": lambda t: network(t).load_state_dict(changed_state(t, "0.weight", 3)),
    "state_list": lambda t: network(t).load_state_dict([1]),
    "exhausted_loader": past_the_end,
    "no_parameters": lambda t: t.optim.SGD([], lr=0.1),
    "model_without_parameters": lambda t: t.optim.Adam(t.nn.ReLU().parameters()),
    "one_tensor": lambda t: t.optim.SGD(t.zeros(2), lr=0.1),
    "text_as_parameters": lambda t: t.optim.SGD("weights", lr=0.1),
    "no_leaf": lambda t: t.optim.SGD([t.zeros(2, requires_grad=True) * 2], lr=0.1),
    "parameter_twice": overlapping_groups,
    "negative_rate": lambda t: t.optim.SGD(network(t).parameters(), lr=-1),
    "bad_betas": lambda t: t.optim.Adam(network(t).parameters(), betas=(1.5, 0.9)),
    "negative_momentum": lambda t: sgd(t, momentum=-1),
    "nesterov_alone": lambda t: sgd(t, nesterov=True),
    "unknown_option": lambda t: t.optim.Adam(network(t).parameters(), momentum=0.9),
    "lbfgs_without_closure": lambda t: t.optim.LBFGS(network(t).parameters()).step(),
    "scheduler_of_nothing": lambda t: t.optim.lr_scheduler.StepLR(3, 1),
    "one_cycle_without_length": lambda t: t.optim.lr_scheduler.OneCycleLR(sgd(t), max_lr=1),
    "two_lambdas_for_one_group": lambda t: t.optim.lr_scheduler.LambdaLR(sgd(t), [abs, abs]),
    "plateau_without_metric": lambda t: t.optim.lr_scheduler.ReduceLROnPlateau(sgd(t)).step(),
    "plateau_growing": lambda t: t.optim.lr_scheduler.ReduceLROnPlateau(sgd(t), factor=2.0),
    "optimizer_state_of_another": lambda t: sgd(t).load_state_dict(
        t.optim.SGD(network(t)[0].parameters(), lr=0.1).state_dict()
    ),
    "batch_size": loader(batch_size=-1),
    "workers": loader(num_workers=-1),
    "timeout": loader(timeout=-1),
    "shuffle_and_sampler": loader(shuffle=True, sampler=[0, 1]),
    "batch_size_and_batch_sampler": loader(batch_size=2, batch_sampler=[[1]]),
    "no_batches_to_drop": loader(batch_size=None, drop_last=True),
    "prefetch_without_workers": loader(prefetch_factor=2),
    "persistent_without_workers": loader(persistent_workers=True),
    "unknown_context": loader(num_workers=1, multiprocessing_context="telepathy"),
    "empty_and_shuffled": lambda t: t.utils.data.DataLoader([], shuffle=True),
    "stream_shuffled": lambda t: t.utils.data.DataLoader(iterable_dataset(t), shuffle=True),
    "samples_of_two_sizes": first_batch(zeros(2), zeros(3)),
    "samples_of_two_lengths": first_batch((1, 2), (1,)),
    "samples_of_no_known_type": first_batch(object(), object()),
    "datasets_of_two_lengths": lambda t: t.utils.data.TensorDataset(t.zeros(2), t.zeros(3)),
    "split_too_short": lambda t: t.utils.data.random_split(range(4), [1, 2]),
    "concatenation_of_nothing": lambda t: t.utils.data.ConcatDataset([]),
    "save_without_folder": lambda t: t.save({}, "/no/such/folder/model.pt"),
    "load_what_is_not_there": lambda t: t.load("/no/such/model.pt"),
    "load_nothing": lambda t: t.load(io.BytesIO(b"")),
    "unknown_attribute": lambda t: network(t).head,
    "init_forgotten": not_initialised,
    "forward_forgotten": lambda t: t.nn.Module()(1),
    "weight_no_parameter": lambda t: setattr(t.nn.Linear(1, 1), "weight", t.zeros(1)),
    "child_no_module": lambda t: network(t).add_module("head", 3),
    "list_is_not_called": lambda t: t.nn.ModuleList([t.nn.ReLU()])(1),
    "integer_parameter": lambda t: t.nn.Parameter(t.zeros(2, dtype=t.int64)),
    "dropout_probability": lambda t: t.nn.Dropout(1.5),
    "convolution_groups": lambda t: t.nn.Conv2d(3, 4, 3, groups=2),
    "attention_heads": lambda t: t.nn.MultiheadAttention(7, 2),
    "embedding_padding": lambda t: t.nn.Embedding(3, 2, padding_idx=5),
    "group_norm_groups": lambda t: t.nn.GroupNorm(3, 4),
    "unknown_nonlinearity": lambda t: t.nn.RNN(2, 2, nonlinearity="cubic"),
    "unknown_reduction": lambda t: t.nn.MSELoss(reduction="all")(t.zeros(2), t.zeros(2)),
    "nan_gradients": nan_gradients,
    "fan_of_a_vector": lambda t: t.nn.init.xavier_uniform_(t.zeros(3)),
    "unknown_submodule": lambda t: network(t).get_submodule("0.head"),
    "unsorted_lengths": lambda t: t.nn.utils.rnn.pack_padded_sequence(t.zeros(3, 2, 1), [2, 3]),
    "scaler_before_backward": lambda t: t.amp.GradScaler("cpu").step(sgd(t)),
    "damaged_file": half_a_file,
}

# Where PyTorch goes on to speak of its own insides: how much of its first line carries over.
LEADS = {
    "unsorted_lengths": "`lengths` array must be sorted in decreasing order when `enforce_sorted`",
    "damaged_file": (
        "PytorchStreamReader failed reading zip archive: failed finding central directory."
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_errors_outside_modules(name: str) -> None:
    program = PROGRAMS[name]
    if "cuda" in name and torch.version.cuda:
        pytest.skip("the installed torch is a CUDA build, which answers for a GPU")
    assert_same_error(caught(program, clew), caught(program, torch), LEADS.get(name))
