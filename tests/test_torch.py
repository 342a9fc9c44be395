"""The PyTorch head and loss: against RejoMLP, in a training loop, and the guide page."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rejo import RejoMLP
from rejo.datasets import bayes_risk, make_synthetic_1
from rejo.replication import decode, loss_from_costs, replica_costs
from rejo.solvers.mlp import Data, Network, objective

PAGE = Path(__file__).parents[1] / "docs" / "classifiers.md"


def test_without_pytorch_the_error_names_the_extra():
    code = "import sys; sys.modules['torch'] = None\nimport rejo.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith(
        'ImportError: rejo.torch needs PyTorch: pip install "rejo[torch]"\n'
    )


def test_the_package_never_imports_pytorch(torch):
    code = "import sys\nfrom rejo import *\nassert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="needs PyTorch")


@pytest.fixture(scope="module")
def rejo_torch(torch):
    import rejo.torch

    return rejo.torch


def fitted(n_classes, reject_cost, loss):
    """A network, its data, and the vector of its parameters."""
    rng = np.random.RandomState(n_classes)
    X = rng.normal(size=(60, 3))
    t = X[:, 0] + 0.5 * rng.normal(size=60)
    y = np.searchsorted(np.quantile(t, np.arange(1, n_classes) / n_classes), t)
    weight = rng.uniform(0.5, 2, 60)
    model = RejoMLP((5, 4), reject_cost=reject_cost, loss=loss, alpha=0.7, random_state=0)
    return model.fit(X, y, weight), X, y, weight


def same_network(torch, rejo_torch, model):
    """The network of a fitted RejoMLP in PyTorch, in double precision."""
    layers = []
    for W, c in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        linear = torch.nn.Linear(*W.shape, dtype=torch.float64)
        linear.weight.data, linear.bias.data = torch.tensor(W.T), torch.tensor(c)
        layers += [linear, torch.nn.Tanh()]
    head = rejo_torch.ReplicationHead(
        len(model.coefs_[-1]), len(model.classes_), reject=model.reject_cost is not None,
        dtype=torch.float64,
    )  # fmt: skip
    head.direction.weight.data = torch.tensor(model.coefs_[-1].T)
    head.free.data = torch.tensor(-model.thresholds_)
    return torch.nn.Sequential(*layers, head)


@pytest.mark.parametrize("loss", ["logistic", "squared_error"])
@pytest.mark.parametrize(("n_classes", "reject_cost"), [(2, 0.2), (3, 0.1), (5, 0.3), (4, None)])
def test_equal_weights_give_the_scores_loss_and_gradient_of_rejo_mlp(
    torch, rejo_torch, n_classes, reject_cost, loss
):
    model, X, y, weight = fitted(n_classes, reject_cost, loss)
    net = same_network(torch, rejo_torch, model)
    scores = net(torch.tensor(X))
    assert_allclose(scores.detach().numpy(), model.boundary_scores(X), atol=1e-12)

    decay = 0.7 / weight.sum()
    found = rejo_torch.replication_loss(
        scores, torch.tensor(y), reject_cost=reject_cost, loss=loss,
        sample_weight=torch.tensor(weight),
    )  # fmt: skip
    found = found + decay * net[-1].penalty()
    for layer in net[:-1]:
        if isinstance(layer, torch.nn.Linear):
            found = found + 0.5 * decay * layer.weight.square().sum()
    found.backward()

    labels = np.where(y[:, None] > np.arange(n_classes - 1), 1.0, -1.0)
    signs = np.repeat(labels, 1 if reject_cost is None else 2, axis=1)
    costs = replica_costs(n_classes, reject_cost)[y] * weight[:, None]
    data = Data(X, signs.T, costs.T, weight.sum())
    units = (*map(len, model.coefs_), 1)
    theta = np.concatenate([a.ravel() for a in (*model.coefs_, *model.intercepts_)])
    value, gradient = objective(
        theta, data, Network(units, signs.shape[1], "tanh", loss, alpha=0.7)
    )
    linears = [layer for layer in net if isinstance(layer, torch.nn.Linear)]
    parts = [layer.weight.grad.T for layer in (*linears, net[-1].direction)]
    parts += [*(layer.bias.grad for layer in linears), net[-1].free.grad]
    assert float(found.detach()) == pytest.approx(value, rel=1e-9)
    if n_classes == 2:  # for more, sorted thresholds may lie farther from the first one
        assert value == pytest.approx(model.objective_, rel=1e-6)
    assert_allclose(np.concatenate([p.numpy().ravel() for p in parts]), gradient, atol=1e-9)
    classes = net[-1].predict(net[:-1](torch.tensor(X))).numpy()
    assert_array_equal(classes, model.predict(X))


@pytest.mark.parametrize("ordered", [False, True])
def test_a_training_loop_comes_near_the_bayes_risk(torch, rejo_torch, ordered):
    torch.manual_seed(0)
    X, y = make_synthetic_1(2_000, random_state=0)
    x, k = torch.tensor(X, dtype=torch.float32), torch.tensor(y > 0).long()
    net = torch.nn.Sequential(
        torch.nn.Linear(2, 20), torch.nn.Tanh(), rejo_torch.ReplicationHead(20, 2, ordered=ordered)
    )
    optimiser = torch.optim.Adam(net.parameters(), lr=0.03)
    for _ in range(30):
        for rows in torch.randperm(len(x)).split(100):
            optimiser.zero_grad()
            rejo_torch.replication_loss(net(x[rows]), k[rows], reject_cost=0.2).backward()
            optimiser.step()
    X_test, y_test = make_synthetic_1(10_000, random_state=1)
    with torch.no_grad():
        classes = rejo_torch.decide(net(torch.tensor(X_test, dtype=torch.float32))).numpy()
    rejected = classes < 0
    risk = 0.2 * rejected.mean() + (~rejected & (classes != (y_test > 0))).mean()
    assert 0.05 < rejected.mean() < 0.5
    assert risk < 1.2 * bayes_risk("synthetic_1", 0.2)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_ordered_thresholds_rise_whatever_the_parameters(torch, rejo_torch, n_classes):
    torch.manual_seed(n_classes)
    head = rejo_torch.ReplicationHead(4, n_classes, ordered=True)
    for parameter in (head.first, head.gaps):
        parameter.data.normal_(std=20)
    assert (head.thresholds.diff() >= 0).all()
    assert (head(torch.randn(7, 4)).diff(dim=-1) <= 1e-4).all()
    assert set(dict(head.named_parameters())) == {"direction.weight", "first", "gaps"}


@pytest.mark.parametrize("reject", [True, False])
@pytest.mark.parametrize("ordered", [True, False])
def test_the_first_thresholds_are_even_around_zero(torch, rejo_torch, reject, ordered):
    b = rejo_torch.ReplicationHead(4, 3, reject=reject, ordered=ordered, gap=2.0).thresholds
    expected = [-3.0, -1.0, 1.0, 3.0] if reject else [-1.0, 1.0]
    assert_allclose(b.detach().numpy(), expected, rtol=1e-6)


def test_losses_have_any_leading_shape_and_every_reduction(torch, rejo_torch):
    scores, y = torch.randn(5, 7, 4), torch.randint(3, (5, 7))
    weight = torch.rand(5, 7)
    loss = rejo_torch.replication_loss
    points = loss(scores, y, reduction="none")
    assert points.shape == (5, 7)
    assert_allclose(loss(scores, y), points.mean(), rtol=1e-6)
    assert_allclose(loss(scores, y, reduction="sum"), points.sum(), rtol=1e-6)
    weighted = loss(scores, y, sample_weight=weight)
    assert_allclose(weighted, (points * weight).sum() / weight.sum(), rtol=1e-6)
    assert loss(scores.double(), y.int()).dtype == torch.float64


def test_a_loss_matrix_takes_the_place_of_the_reject_cost(torch, rejo_torch):
    scores, y = torch.randn(20, 4), torch.randint(3, (20,))
    matrix = loss_from_costs(replica_costs(3, 0.3))
    found = rejo_torch.replication_loss(scores, y, loss_matrix=matrix)
    assert_allclose(found, rejo_torch.replication_loss(scores, y, reject_cost=0.3), rtol=1e-5)
    near = rejo_torch.replication_loss(scores, y, reject_cost=0.3, s=1)
    assert float(near) < float(found)


@pytest.mark.parametrize("reject", [True, False])
def test_decisions_count_the_positive_scores(torch, rejo_torch, reject):
    scores = torch.randn(50, 6)
    expected = decode((scores.numpy() > 0).sum(axis=1), reject=reject)
    assert_array_equal(rejo_torch.decide(scores, reject=reject).numpy(), expected)


def test_a_head_saves_loads_and_describes_itself(torch, rejo_torch):
    head, other = (rejo_torch.ReplicationHead(4, 3, ordered=True) for _ in range(2))
    other.load_state_dict(head.state_dict())
    x = torch.randn(3, 4)
    assert torch.equal(head(x), other(x))
    assert "n_classes=3, reject=True, ordered=True" in repr(head)


def test_wrong_input_is_refused(torch, rejo_torch):
    scores, y = torch.randn(5, 4), torch.zeros(5, dtype=torch.long)
    loss = rejo_torch.replication_loss
    for call, message in [
        (lambda: loss(scores, y[:3]), "^y "),
        (lambda: loss(scores, y.float()), "integer type"),
        (lambda: loss(scores, y + 3), r"0\.\.2, as scores has 4 boundaries; got 3\.\.3"),
        (lambda: loss(scores, y - 1), r"class indices 0\.\.2"),
        (lambda: loss(scores, y, reject_cost=0.7), "reject_cost"),
        (lambda: loss(scores[:, :3], y), "scores has 3 columns, but the costs are for 2"),
        (lambda: loss(scores, y, loss_matrix=[[0, 1], [1, 0]]), "4 columns, but .* for 1"),
        (lambda: loss(scores, y, loss="hinge"), "loss"),
        (lambda: loss(scores, y, reduction="median"), "reduction"),
        (lambda: loss(scores, y, sample_weight=torch.ones(4)), "sample_weight"),
        (lambda: rejo_torch.ReplicationHead(4, 1), "n_classes"),
        (lambda: rejo_torch.ReplicationHead(4, 2, gap=0), "gap"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.skipif(not PAGE.exists(), reason="needs the source tree")
def test_the_examples_of_the_guide_run(torch):
    names = {}
    blocks = re.findall(r"```python\n(?!>>>)(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, names)
