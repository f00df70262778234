"""`clew run` and `clew.as_torch()`: programs that import torch get clew, and see nothing else."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch as real_torch

import clew
from clew.cli.main import main
from clew.torch_version import TorchVersion


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def run(
    *arguments: str | Path, cwd: Path, command: tuple[str, ...] = ("-m", "clew.cli.main", "run")
) -> subprocess.CompletedProcess[str]:
    # NO_COLOR: from 3.13 on Python colours the tracebacks that are compared here.
    return subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1"},
    )


# -- programs --------------------------------------------------------------------------------------


def test_a_program_gets_clew_for_torch_in_every_form(tmp_path: Path) -> None:
    write(
        tmp_path / "program.py",
        """
        import importlib, pickle, sys
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.nn.modules.conv
        import torch.backends.cudnn as cudnn
        from torch.optim import Adam
        from torch.optim.lr_scheduler import StepLR
        from torch.utils.data import DataLoader, TensorDataset
        from torch.distributions.normal import Normal
        from torch import Tensor, distributed as dist
        import helper
        import clew

        assert torch is clew and sys.modules["torch"] is clew
        assert nn is clew.nn and F is clew.nn.functional and helper.torch is clew
        assert torch.nn.modules.conv.Conv2d is nn.Conv2d is clew.nn.Conv2d
        assert importlib.import_module("torch.nn.modules.linear") is clew.nn.modules.linear
        assert Normal is clew.distributions.Normal
        assert pickle.loads(b"ctorch.nn.modules.linear\\nLinear\\n.") is nn.Linear
        assert torch.nn.__spec__.name == "clew.nn"
        assert not dist.is_initialized()
        assert int(torch.__version__.split(".")[0]) == 2 and torch.__version__ >= (2, 0)
        assert not any(name.startswith("torch._C") for name in sys.modules)

        torch.manual_seed(0)
        model = torch.compile(nn.Linear(3, 1))
        optimizer = Adam(model.parameters())
        for x, y in DataLoader(TensorDataset(torch.randn(8, 3), torch.randn(8, 1)), 4):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        print("trained")
        """,
    )
    write(tmp_path / "helper.py", "import torch")
    result = run("program.py", cwd=tmp_path)
    assert (result.stdout, result.stderr, result.returncode) == ("trained\n", "", 0)


REPORT = """
import __main__, sys
print(sys.argv, sys.path[0], __name__, __file__, __spec__, __package__, sep="\\n")
print(__main__.__dict__ is globals(), sys.modules["__main__"].__dict__ is globals())
sys.exit(7)
"""


def test_functorch_is_the_old_name_of_the_transforms(tmp_path: Path) -> None:
    write(
        tmp_path / "program.py",
        """
        import sys, warnings
        import functorch
        import torch
        from functorch import vmap

        def warned(call):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = call()
            (warning,) = caught
            assert warning.category is FutureWarning and warning.filename == __file__
            return str(warning.message), result

        for name in "grad grad_and_value jacrev jacfwd hessian functionalize".split():
            text, _ = warned(lambda: getattr(functorch, name)(torch.sin))
            assert f"Please use `torch.func.{name}`" in text, text
        text, double = warned(lambda: vmap(lambda x: x * 2))
        assert "Please use `torch.vmap`" in text, text
        assert double(torch.ones(2)).tolist() == [2.0, 2.0]
        assert warned(lambda: functorch.vjp(torch.sin, torch.zeros(1)))[1][0].tolist() == [0.0]
        x = torch.zeros(1)
        assert warned(lambda: functorch.jvp(torch.sin, (x,), (x + 3,)))[1][1].tolist() == [3.0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.func.grad(torch.sin)(torch.tensor(0.0))
        assert not any(name.startswith("torch._C") for name in sys.modules)
        print("fine")
        """,
    )
    done = run("program.py", cwd=tmp_path)
    assert done.stdout == "fine\n", done.stderr


def test_functorch_makes_modules_functional(tmp_path: Path) -> None:
    program = """
        import warnings
        import torch
        from torch import nn
        from functorch import combine_state_for_ensemble, make_functional
        from functorch import make_functional_with_buffers

        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        model, x = nn.Linear(2, 3), torch.ones(4, 2)
        func, params = make_functional(model)
        print(func, [type(each).__name__ for each in params])
        func(params, x).sum().backward()
        print(params[0].grad.tolist(), model.weight.grad, torch.equal(func(params, x), model(x)))
        print([each.requires_grad for each in make_functional(model, True)[1]])
        norm, params, buffers = make_functional_with_buffers(nn.BatchNorm1d(2))
        print(norm(params, buffers, x).tolist(), [each.tolist() for each in buffers])
        one, params, buffers = combine_state_for_ensemble([nn.Linear(2, 3) for _ in range(5)])
        print(torch.vmap(one, (0, 0, None))(params, buffers, x).shape, buffers)
        print([(each.shape, each.requires_grad) for each in params])
        mixed = [nn.Linear(2, 3), nn.Linear(2, 3).eval()]
        for models in ([], mixed, [nn.ReLU(), nn.Linear(2, 3)]):
            try:
                combine_state_for_ensemble(models)
            except RuntimeError as error:
                print(str(error).splitlines()[0])
        try:
            make_functional(nn.BatchNorm1d(2))
        except RuntimeError as error:
            print(str(error).splitlines()[0])
        """
    path = write(tmp_path / "program.py", program)
    theirs = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert run("program.py", cwd=tmp_path).stdout == theirs.stdout


def test_functorch_has_its_other_modules(tmp_path: Path) -> None:
    program = """
        import torch
        from functorch.einops import rearrange
        from functorch.experimental import chunk_vmap, hessian, jacfwd, jvp
        from functorch.experimental import functionalize, replace_all_batch_norm_modules_
        from functorch.experimental.control_flow import cond

        seen = []

        def double(x):
            seen.append(torch.func.debug_unwrap(x).shape)
            return 2 * x

        x = torch.arange(14.0).reshape(2, 7)
        for chunks in (1, 2, 3, 20, 0):
            try:
                print(chunk_vmap(double, in_dims=1, out_dims=1, chunks=chunks)(x).tolist())
            except RuntimeError as error:
                print(str(error).splitlines()[0])
        print(seen)
        print(rearrange(x, "a b -> b a").shape)
        print(hessian(torch.sin)(x[0, 1]), cond(True, torch.sin, torch.cos, (x[0],)))
        """
    path = write(tmp_path / "program.py", program)
    theirs = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    done = run("program.py", cwd=tmp_path)
    assert done.stdout == theirs.stdout, done.stderr


def test_a_program_that_may_export_to_onnx_runs(tmp_path: Path) -> None:
    write(
        tmp_path / "program.py",
        """
        import torch.onnx
        from torch.onnx import OnnxExporterError, TrainingMode, is_in_onnx_export
        print(is_in_onnx_export(), TrainingMode.EVAL.value)
        print(torch.onnx.producer_name, torch.onnx.producer_version)
        try:
            torch.onnx.export(torch.nn.Linear(2, 1), (torch.ones(1, 2),), "model.onnx",
                              opset_version=17, dynamo=False)
        except OnnxExporterError as error:
            print(str(error).splitlines()[0])
        """,
    )
    done = run("program.py", cwd=tmp_path)
    expected = "False 0\npytorch 2.13.0\n"
    if importlib.util.find_spec("onnx") is None:
        expected += "torch.onnx.export needs the package onnx, which is not installed: "
        expected += "pip install 'clew[onnx]'\n"
    assert done.stdout == expected, done.stderr


def test_the_program_sees_what_python_would_show_it(tmp_path: Path) -> None:
    write(tmp_path / "folder" / "program.py", REPORT)
    arguments = ("folder/program.py", "--flag", "-m", "x", "--", "-h")
    mine, pythons = run(*arguments, cwd=tmp_path), run(*arguments, cwd=tmp_path, command=())
    assert mine.stdout == pythons.stdout
    assert "--flag" in mine.stdout
    assert mine.returncode == pythons.returncode == 7


def test_a_module_sees_what_python_would_show_it(tmp_path: Path) -> None:
    report = REPORT.replace("__spec__,", "__spec__.name,")
    write(tmp_path / "package" / "__init__.py", "import torch")
    write(tmp_path / "package" / "__main__.py", "from . import part\n" + report)
    write(tmp_path / "package" / "part.py", report)
    for name in ("package", "package.part"):
        arguments = (name, "--flag", "-m", "x")
        mine = run("-m", *arguments, cwd=tmp_path)
        pythons = run("-m", *arguments, cwd=tmp_path, command=())
        assert mine.stdout == pythons.stdout
        assert mine.returncode == pythons.returncode == 7


@pytest.mark.parametrize(
    "source",
    [
        "def f(:",
        "import helper",
        "import sys\nsys.exit('last words')",
        "import sys\nsys.excepthook = lambda *what: print('hooked', what[0].__name__)\n1 / 0",
    ],
)
def test_errors_are_reported_as_by_python(tmp_path: Path, source: str) -> None:
    program = write(tmp_path / "program.py", source)
    write(
        tmp_path / "helper.py",
        """
        try:
            import no_such_module
        except ImportError as error:
            raise ValueError("no") from error
        """,
    )
    mine, pythons = run(program, cwd=tmp_path), run(program, cwd=tmp_path, command=())
    assert mine.stderr == pythons.stderr
    assert (mine.stdout, mine.returncode) == (pythons.stdout, pythons.returncode)


@pytest.mark.skipif(os.name != "posix", reason="processes end by signals only on POSIX systems")
def test_an_interrupt_ends_the_program_as_under_python(tmp_path: Path) -> None:
    program = write(
        tmp_path / "program.py",
        """
        import atexit, os, signal, time
        atexit.register(print, "atexit")
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(30)
        """,
    )
    mine, pythons = run(program, cwd=tmp_path), run(program, cwd=tmp_path, command=())
    assert mine.returncode == pythons.returncode == -signal.SIGINT
    assert mine.stdout == pythons.stdout == "atexit\n"
    assert mine.stderr == pythons.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["missing.py"], "can't open file 'missing.py'"),
        (["-m", "no_such_package.part"], "No module named no_such_package.part"),
    ],
)
def test_a_missing_program_exits_2(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", [["run"], ["run", "-m"]])
def test_no_program_exits_2(arguments: list[str], capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "which program?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "last_line"),
    [
        (
            "import torch\ntorch.nn.Linaer(1, 2)",
            "AttributeError: module 'torch.nn' has no attribute 'Linaer' (clew does not have it); "
            "nearest: Linear",
        ),
        (
            "import torch\ntorch.zzzzzzzz",
            "AttributeError: module 'torch' has no attribute 'zzzzzzzz' (clew does not have it)",
        ),
        (
            "import torch.optm.sgd",
            "ModuleNotFoundError: No module named 'torch.optm': clew has no torch.optm",
        ),
        (
            "from torch import softmacs",
            "module 'torch' has no attribute 'softmacs' (clew does not have it); nearest: softmax",
        ),
    ],
)
def test_what_clew_lacks_is_named_at_the_programs_line(
    tmp_path: Path, source: str, last_line: str
) -> None:
    result = run(write(tmp_path / "program.py", source), cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == last_line
    frames = [line for line in result.stderr.splitlines() if line.startswith("  File ")]
    assert len(frames) == 1
    assert "program.py" in frames[0]


def test_processes_that_are_spawned_get_clew_too(tmp_path: Path) -> None:
    write(
        tmp_path / "program.py",
        """
        import sys
        import torch
        import torch.multiprocessing as mp
        from torch.utils.data import DataLoader, Dataset

        class Numbers(Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                return torch.tensor(index), torch.__name__, "torch._C" in sys.modules

        def work(rank, queue):
            queue.put(torch.nn.Linear(2, 2).weight.detach().shape)

        if __name__ == "__main__":
            for batch in DataLoader(Numbers(), 2, num_workers=1, multiprocessing_context="spawn"):
                print(batch)
            queue = mp.get_context("spawn").SimpleQueue()
            # The group is still there when Python ends.
            group = mp.spawn(work, args=(queue,), nprocs=1, join=False)
            while not group.join():
                pass
            print(queue.get())
        """,
    )
    result = run("program.py", cwd=tmp_path)
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "[tensor([0, 1]), ('torch', 'torch'), tensor([False, False])]",
        "[tensor([2, 3]), ('torch', 'torch'), tensor([False, False])]",
        "torch.Size([2, 2])",
    ]


# -- inside a process ------------------------------------------------------------------------------


def test_as_torch_is_an_island() -> None:
    before = (list(sys.path), list(sys.meta_path), clew.__version__)
    with clew.as_torch() as stand_in:
        import torch.nn.functional
        from torch.utils.data import DataLoader

        assert torch is stand_in is clew
        assert DataLoader is clew.utils.data.DataLoader
        assert torch.version.__version__ == torch.__version__ != before[2]
        with clew.as_torch():
            assert importlib.import_module("torch") is clew
        assert importlib.import_module("torch") is clew
    assert importlib.import_module("torch") is real_torch
    assert importlib.import_module("torch.nn") is real_torch.nn
    assert (sys.path, sys.meta_path, clew.__version__) == before
    assert clew.nn.__spec__ is not None and clew.nn.__spec__.name == "clew.nn"


def test_packages_built_on_torch_are_not_provided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with (
        clew.as_torch(),
        pytest.raises(ModuleNotFoundError, match="torchvision is not installed, and clew stands"),
    ):
        importlib.import_module("torchvision")


def test_questions_about_modules_are_answered() -> None:
    with clew.as_torch():
        assert importlib.util.find_spec("torch.nn.functional") is not None
        assert importlib.util.find_spec("torch.no_such_part") is None
        with pytest.raises(ModuleNotFoundError, match=r"clew has no torch\.no_such_part$"):
            importlib.import_module("torch.no_such_part.at_all")


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        (clew, "softmacs", "module 'clew' has no attribute 'softmacs'; nearest: softmax"),
        (clew, "distribution", "; nearest: distributions"),
        (clew.nn, "relu", "module 'clew.nn' has no attribute 'relu'; nearest: ReLU"),
        (clew.nn.functional, "crossentropy", "; nearest: cross_entropy"),
        (clew.optim, "ADAM", "; nearest: Adam, adam"),
        (clew.distributions, "Norml", "; nearest: Normal"),
        (clew.linalg, "zzzzzzzzzz", "module 'clew.linalg' has no attribute 'zzzzzzzzzz'"),
    ],
)
def test_a_misspelt_name_gets_the_nearest(module: object, name: str, message: str) -> None:
    assert not hasattr(module, name)
    with pytest.raises(AttributeError) as raised:
        getattr(module, name)
    assert message in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_import_clew_loads_what_most_programs_need() -> None:
    code = (
        "import sys, clew\n"
        "early = {'clew.autograd.backward', 'clew.ops.nn.linear'} - set(sys.modules)\n"
        "late = {'clew.optim', 'clew.utils', 'clew.serialization', 'clew.jit', 'clew.func',\n"
        "        'clew.distributions', 'clew.profiler', 'clew.nn', 'clew.multiprocessing',\n"
        "        'clew.ops.batching.tables', 'clew.autograd.functional', 'clew.amp',\n"
        "        'clew.autograd.function',\n"
        "        'clew.backends', 'clew.cuda', 'clew.linalg', 'dataclasses'} & set(sys.modules)\n"
        "clew.optim.Adam, clew.save, clew.utils.data.DataLoader, clew.distributions.Normal\n"
        "print(early, late, hasattr(clew.optim.lr_scheduler, 'StepLr'))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "set() set() False", result.stderr


def test_files_may_name_classes_that_were_not_needed_yet(tmp_path: Path) -> None:
    path = tmp_path / "objects.pt"
    data = clew.utils.data.TensorDataset(clew.ones(2, 1))
    clew.save([data, clew.distributions.Normal(0.0, 1.0)], path)
    code = f"import clew; print(clew.load({str(path)!r}, weights_only=False))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "TensorDataset" in result.stdout, result.stderr
    assert "Normal(" in result.stdout


def test_versions_compare_by_their_numbers() -> None:
    mine, theirs = TorchVersion("2.13.0+clew"), real_torch.torch_version.TorchVersion("2.13.0+cpu")
    for other in ("1.9", "1.13.1", "2.2", "2.13", "2.14.0a0", "3", (1, 13), (2, 2), (3, 0, 1)):
        assert (mine > other, mine >= other) == (theirs > other, theirs >= other) or other == "2.13"
        assert (mine < other, mine == other) == (theirs < other, theirs == other)
    assert mine == "2.13.0+clew"
    assert mine == (2, 13) and mine != (2, 12) and mine is not None and mine != 2
    assert not mine > "2.13"  # PyTorch's is above, for its local part


def test_tensors_are_of_the_module_torch(tmp_path: Path) -> None:
    """By which libraries over several frameworks know them, in spawned processes too."""
    program = """
        import pickle, torch
        import torch.multiprocessing as mp

        def work(queue, x, kind):
            queue.put((type(x).__module__, x.tolist(), kind is torch.Tensor))
        if __name__ == "__main__":
            x = torch.ones(2)
            print(type(x), b"torch" in pickle.dumps(x), pickle.loads(pickle.dumps(x)).tolist())
            context = mp.get_context("spawn")
            queue = context.Queue()
            process = context.Process(target=work, args=(queue, x, torch.Tensor))
            process.start()
            print(queue.get())
            process.join()
        """
    done = run(write(tmp_path / "program.py", program), cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "<class 'torch.Tensor'> False [1.0, 1.0]",
        "('torch', [1.0, 1.0], True)",
    ], done.stderr
    assert clew.Tensor.__module__ == "clew.core.tensor"
