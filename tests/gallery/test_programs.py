"""The programs of the gallery show what they claim, on several seeds, and under PyTorch, too; the
doctor finds what they show to be wrong, and nothing else."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import clew
from clew import gallery
from clew.doctor import Session
from clew.gallery import helper

# Packages that only some programs need.
NEEDS = {
    "gymnasium": {"dqn", "ppo", "reinforce"},
    "sklearn": {
        "moco", "byol", "simsiam", "vqvae", "distillation", "quantisation", "adversarial",
        "curvature", "influence", "resnet", "vae", "diffusion", "disk",
    },
}  # fmt: skip
SEEDS = (1, 2)  # beside 0
# Figures that PyTorch has otherwise: an action that rounding tips over is another course of the
# game; where gradients explode, so do differences of rounding; and what is still moving fast when
# the training ends has moved by another bit. Nor do two libraries take the same time.
GAMES = {"dqn", "ppo", "reinforce"}
UNSTABLE = {
    "largest norm, not clipped", "accuracy, not clipped", "accuracy, clipped",
    "+ initialisation: accuracy", "residual: loss at the end", "residual: accuracy",
    "plain: loss at the end", "plain: accuracy", "time without grad",
}  # fmt: skip
# What follows from choices of codes, each of which rounding may tip over, and from numbers of eight
# bits: within two percent.
ROUGH = {"error / variance", "codes in use (perplexity)", "bfloat16: loss"}
# What counts samples: a few of them, of 500, may lie on the border.
COUNTED = ("accuracy", "probe", "bits")
# Of what PyTorch does not have.
OURS_ALONE = {"curvature", "influence"}
# What a program shows to be wrong, before it is repaired.
SHOWN = {
    "precision": {"fp16-underflow"},
    "exploding": {"bad-learning-rate.overshoots"},
    "vanishing": {"dead-relu"},
    "byol": {"target-not-detached"},
    "simsiam": {"target-not-detached"},
}


def programs() -> list:
    """All programs, those skipped whose packages are not there."""
    return [
        pytest.param(
            entry,
            id=entry.name,
            marks=[
                pytest.mark.skipif(find_spec(package) is None, reason=f"{package} is not installed")
                for package, names in NEEDS.items()
                if entry.name in names
            ],
        )
        for entry in gallery.entries()
    ]


def check_claims(program: gallery.Program, figures: helper.Figures) -> None:
    claims = list(program.claims(figures, True))
    assert claims
    assert [text for text, holds in claims if not holds] == []


@pytest.mark.parametrize("entry", programs())
def test_a_program_shows_what_it_claims(entry: gallery.Entry, tmp_path: Path) -> None:
    """Watched by the doctor, which changes nothing; then the same file under PyTorch."""
    program = gallery.load(entry)
    session = Session()
    session.start()
    try:
        figures = program.main(True, 0, tmp_path)
    finally:
        session.stop()
    check_claims(program, figures)
    assert (tmp_path / f"{entry.name}.svg").exists()
    for picture in tmp_path.iterdir():  # and nothing else: a saved state is removed at the end
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert not session.failures
    assert {f.rule for f in session.report(entry.name).problems} == SHOWN.get(entry.name, set())

    if entry.name not in GAMES | OURS_ALONE:
        theirs = gallery.load_for_pytorch(entry).main(True, 0, tmp_path)
        assert list(theirs) == list(figures)
        for name in theirs.keys() - UNSTABLE:
            relative = 0.02 if name in ROUGH else 2e-3
            absolute = 0.01 if any(word in name for word in COUNTED) else 2e-6
            same = math.isclose(figures[name], theirs[name], rel_tol=relative, abs_tol=absolute)
            assert same, f"{name}: {figures[name]} with clew, {theirs[name]} with PyTorch"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("entry", programs())
def test_other_seeds_show_it_as_well(entry: gallery.Entry, seed: int, tmp_path: Path) -> None:
    program = gallery.load(entry)
    check_claims(program, program.main(True, seed, tmp_path))


def test_twelve_programs_run_under_pytorch() -> None:
    compared = [entry for entry in gallery.entries() if entry.name not in GAMES | OURS_ALONE]
    assert len(compared) >= 12


def test_a_program_names_the_library_once() -> None:
    for entry in gallery.entries():
        source = entry.path.read_text(encoding="utf-8")
        assert source.count(gallery.OURS) == 1
        assert source.count("import clew") == 1, entry.name


# -- going on after an interrupt -------------------------------------------------------------------


def interrupted(monkeypatch: pytest.MonkeyPatch, states: Path, at: int, run):
    """What `run()` returns when it is interrupted at a step of its bar and started again.

    Where several parts are trained, a part that is over is not trained again.
    """
    calls = 0

    def say(self, words: str) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(helper.progress, "say", say)
        with pytest.raises(KeyboardInterrupt):
            run()
    result = run()
    for saved in states.glob("*.pt"):
        assert run() == result
        saved.unlink()
    return result


@pytest.mark.skipif(find_spec("gymnasium") is None, reason="gymnasium is not installed")
@pytest.mark.parametrize("double", [False, True])
def test_an_interrupted_dqn_goes_on(
    double: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clew.gallery.stop_gradient import dqn

    def run():
        return dqn.train(double, 26, math.inf, 5, tmp_path / "dqn.pt")[0]

    assert interrupted(monkeypatch, tmp_path, 24, run) == run()


@pytest.mark.skipif(find_spec("gymnasium") is None, reason="gymnasium is not installed")
def test_an_interrupted_ppo_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clew.gallery.stop_gradient import ppo

    def run():
        return ppo.train(4, 128, math.inf, 1e-3, 5, tmp_path / "ppo.pt")[0]

    assert interrupted(monkeypatch, tmp_path, 3, run) == run()


def test_an_interrupted_maml_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clew.gallery.second_order import maml

    monkeypatch.setattr(maml, "SAVED_EVERY", 10)

    def run():
        return maml.train("MAML", 30, 5, tmp_path / "maml.pt")[1]

    assert interrupted(monkeypatch, tmp_path, 24, run) == run()


def test_an_interrupted_char_gpt_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clew.gallery.models import char_gpt

    def run():
        clew.manual_seed(5)
        model = char_gpt.GPT(10, 8, 16, 2, 1)
        text = np.random.default_rng(0).integers(0, 10, 500)
        return char_gpt.train(model, text, str, 20, 5, tmp_path / "char_gpt.pt")

    assert interrupted(monkeypatch, tmp_path, 14, run) == run()


def test_an_interrupted_diffusion_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clew.gallery.models import diffusion

    monkeypatch.setattr(diffusion, "SAVED_EVERY", 10)

    def run():
        clew.manual_seed(5)
        process = diffusion.Diffusion(10)
        model = diffusion.Denoiser(2, 16, process.steps)
        data = diffusion.spiral(100)
        return diffusion.train(model, process, data, 30, 5, "spiral", tmp_path / "diffusion.pt")

    assert interrupted(monkeypatch, tmp_path, 24, run) == run()


def test_an_interrupted_resnet_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clew.gallery.models import resnet

    monkeypatch.setattr(resnet, "SAVED_EVERY", 5)
    rng = np.random.default_rng(0)
    images = rng.uniform(size=(100, 64)).astype(np.float32)
    labels = rng.integers(0, 10, 100)

    def run():
        clew.manual_seed(5)
        model = resnet.network(1, 2, True)
        losses = resnet.train(model, images, labels, 12, 5, "residual", tmp_path / "resnet.pt")
        return losses, resnet.accuracy(model, images, labels)

    assert interrupted(monkeypatch, tmp_path, 9, run) == run()


def test_an_interrupted_wgan_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clew.gallery.second_order import wgan_gp

    monkeypatch.setattr(wgan_gp, "SAVED_EVERY", 4)

    def run():
        generator, curve = wgan_gp.train("penalty", 10, 5, tmp_path / "wgan_gp.pt")
        return wgan_gp.judge(generator, 5), curve

    assert interrupted(monkeypatch, tmp_path, 7, run) == run()


def test_an_interrupted_curvature_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clew.gallery.second_order import curvature

    x, y = clew.rand(20, 64), clew.arange(20) % 10

    def run():
        model = curvature.network(6, 5)
        return curvature.train("EKFAC", model, x, y, 10, tmp_path / "curvature.pt")

    assert interrupted(monkeypatch, tmp_path, 7, run) == run()
