"""rejoNN on PyTorch: a head and a loss that give any network a reject option.

The head replaces the last layer of a network.  It has one direction and a threshold for each
boundary, ``f_q(x) = w . features(x) + b_q``: the paper's Fig. oNNmodel with any network below.
The loss sums, over the boundaries, the costs of :mod:`rejo.replication`::

    model = torch.nn.Sequential(body, ReplicationHead(64, n_classes=3))
    loss = replication_loss(model(x), y, reject_cost=0.2)

This is the only module that imports PyTorch: ``pip install "rejo[torch]"``.
"""

from functools import lru_cache
from typing import Any, Literal

try:
    import torch
except ImportError:
    raise ImportError('rejo.torch needs PyTorch: pip install "rejo[torch]"') from None
from torch.nn import functional as F

from rejo.replication import costs_from_loss, replica_costs, replica_labels

__all__ = ["ReplicationHead", "decide", "replication_loss"]


class ReplicationHead(torch.nn.Module):
    """From features to one score for each boundary, ``w . features + b_q``.

    Parameters
    ----------
    in_features : int
        Width of the layer below.
    n_classes : int
        Number of ordered classes, K.
    reject : bool, default=True
        Two boundaries between neighbouring classes (a reject region) or one.
    ordered : bool, default=False
        Guarantee rising thresholds: the head learns the first and the positive gaps after it.
        Otherwise the thresholds are free, as in the paper.
    gap : float, default=1.0
        Initial distance between neighbouring thresholds; must be positive.
    device, dtype
        Of the parameters, as in :class:`torch.nn.Linear`.

    Attributes
    ----------
    direction : torch.nn.Linear
        ``w``, without a bias.
    thresholds : torch.Tensor of shape (n_boundaries,)
        Cut points on ``w . features``: ``-b_q``.

    Examples
    --------
    >>> import torch
    >>> from rejo.torch import ReplicationHead
    >>> body = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU())
    >>> head = ReplicationHead(8, n_classes=3)
    >>> model = torch.nn.Sequential(body, head)
    >>> model(torch.zeros(2, 5)).shape
    torch.Size([2, 4])
    >>> head.thresholds.tolist()
    [-1.5, -0.5, 0.5, 1.5]
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        *,
        reject: bool = True,
        ordered: bool = False,
        gap: float = 1.0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        n_boundaries = replica_labels(n_classes, reject).shape[1]
        if not gap > 0:
            raise ValueError(f"gap must be positive; got {gap!r}.")
        self.n_classes, self.reject, self.ordered, self.gap = n_classes, reject, ordered, gap
        to = {"device": device, "dtype": dtype}
        self.direction = torch.nn.Linear(in_features, 1, bias=False, **to)
        if ordered:
            self.first = torch.nn.Parameter(torch.empty(1, **to))
            self.gaps = torch.nn.Parameter(torch.empty(n_boundaries - 1, **to))
        else:
            self.free = torch.nn.Parameter(torch.empty(n_boundaries, **to))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw a new direction; set the thresholds evenly around 0."""
        self.direction.reset_parameters()
        with torch.no_grad():
            if self.ordered:
                self.first.fill_(0.5 * self.gap * len(self.gaps))
                # The inverse of softplus.
                self.gaps.copy_(torch.full_like(self.gaps, self.gap).expm1().log())
            else:
                steps = torch.arange(len(self.free), dtype=self.free.dtype)
                self.free.copy_(self.gap * (0.5 * (len(self.free) - 1) - steps))

    @property
    def thresholds(self) -> Any:
        """Cut points (n_boundaries,): ``-b_q``."""
        return -self._offsets()

    def _offsets(self) -> Any:
        """``b_q`` (n_boundaries,)."""
        if not self.ordered:
            return self.free
        return torch.cat([self.first, self.first - F.softplus(self.gaps).cumsum(0)])

    def forward(self, features: Any) -> Any:
        """Scores (..., n_boundaries) of features (..., in_features)."""
        return self.direction(features) + self._offsets()

    def penalty(self, h: float = 1.0) -> Any:
        """Regulariser of the head, ``1/2 (|w|^2 + 1/h^2 sum_{q>=1} (b_q - b_0)^2)``."""
        b = self._offsets()
        squares = self.direction.weight.square().sum() + (b - b[0]).square().sum() / h**2
        return 0.5 * squares

    def predict(self, features: Any) -> Any:
        """Class indices (...,), -1 where the point is rejected."""
        return decide(self(features), reject=self.reject)

    def extra_repr(self) -> str:
        """Parameters in the representation of the module."""
        return f"n_classes={self.n_classes}, reject={self.reject}, ordered={self.ordered}"


def replication_loss(
    scores: Any,
    y: Any,
    *,
    reject_cost: float | None = 0.2,
    s: int | None = None,
    loss_matrix: Any = None,
    sample_weight: Any = None,
    loss: Literal["logistic", "squared_error"] = "logistic",
    reduction: Literal["mean", "sum", "none"] = "mean",
) -> Any:
    """Cost-weighted loss, summed over the boundaries and averaged over the points.

    Parameters
    ----------
    scores : torch.Tensor of shape (..., n_boundaries)
        From :class:`ReplicationHead`.
    y : torch.Tensor of shape (...,)
        Class indices ``0..n_classes - 1``, of an integer type.
    reject_cost : float in (0, 0.5] or None, default=0.2
        Cost of a rejection where an error costs 1.  ``None``: plain ordinal classification,
        for a head with ``reject=False``.
    s : int, default=None
        Number of classes on each side that take part in a boundary.  ``None`` means all.
    loss_matrix : array-like of shape (n_classes, n_boundaries + 1), default=None
        Cost of each output for each true class; replaces ``reject_cost`` and ``s``.
    sample_weight : torch.Tensor of shape (...,), default=None
        Multiplies the costs of a point.
    loss : {"logistic", "squared_error"}, default="logistic"
        ``log(1 + exp(-y f))`` or ``(y - tanh f)^2 / 2``.
    reduction : {"mean", "sum", "none"}, default="mean"
        "mean" divides by the number of points, or by the sum of the weights; "none" gives a
        loss for each point.

    Returns
    -------
    loss : torch.Tensor
        A number, or of shape (...,) if ``reduction="none"``.

    Examples
    --------
    >>> import torch
    >>> from rejo.torch import replication_loss
    >>> scores = torch.tensor([[-2.0, -2.0], [2.0, -2.0]])
    >>> loss = replication_loss(scores, torch.tensor([0, 0]), reject_cost=0.2, reduction="none")
    >>> [round(value, 3) for value in loss.tolist()]
    [0.127, 0.527]
    """
    if scores.shape[:-1] != y.shape:
        raise ValueError(
            f"y must have the shape of scores without its last dimension, {_shape(scores)[:-1]}; "
            f"got {_shape(y)}."
        )
    if loss_matrix is not None:
        loss_matrix = tuple(tuple(float(cost) for cost in row) for row in loss_matrix)
    labels, costs = _tables(
        scores.shape[-1], reject_cost, s, loss_matrix, scores.device, scores.dtype
    )
    if y.is_floating_point() or y.dtype == torch.bool:
        raise ValueError(f"y must hold class indices of an integer type, e.g. y.long(): {y.dtype}.")
    if y.device.type == "cpu" and y.numel() and not 0 <= int(y.min()) <= int(y.max()) < len(costs):
        raise ValueError(
            f"y must hold class indices 0..{len(costs) - 1}, as scores has {scores.shape[-1]} "
            f"boundaries; got {int(y.min())}..{int(y.max())}."
        )
    signs, weights = labels[y.long()], costs[y.long()]  # (..., n_boundaries)
    if loss == "logistic":
        losses = F.softplus(-signs * scores)
    elif loss == "squared_error":
        losses = 0.5 * (torch.tanh(scores) - signs).square()
    else:
        raise ValueError(f"loss must be 'logistic' or 'squared_error'; got {loss!r}.")
    points = (weights * losses).sum(dim=-1)  # (...,)
    if sample_weight is not None:
        if sample_weight.shape != y.shape:
            raise ValueError(
                f"sample_weight must have the shape of y, {_shape(y)}; got {_shape(sample_weight)}."
            )
        points = points * sample_weight
    if reduction == "none":
        return points
    if reduction == "sum":
        return points.sum()
    if reduction == "mean":
        return points.mean() if sample_weight is None else points.sum() / sample_weight.sum()
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none'; got {reduction!r}.")


def decide(scores: Any, *, reject: bool = True) -> Any:
    """Return the class index of each point, -1 where it is rejected.

    Parameters
    ----------
    scores : torch.Tensor of shape (..., n_boundaries)
        From :class:`ReplicationHead`.
    reject : bool, default=True
        As in the head: an odd number of positive scores is a rejection.

    Returns
    -------
    classes : torch.Tensor of int64 of shape (...,)
        From 0 to ``n_classes - 1``, or -1.

    Examples
    --------
    >>> import torch
    >>> from rejo.torch import decide
    >>> scores = torch.tensor([[-1.0, -2.0], [1.0, -1.0], [2.0, 1.0]])
    >>> decide(scores).tolist()
    [0, -1, 1]
    """
    counts = (scores > 0).sum(dim=-1)
    return torch.where(counts % 2 == 1, -1, counts // 2) if reject else counts


@lru_cache(maxsize=64)
def _tables(
    n_boundaries: int,
    reject_cost: float | None,
    s: int | None,
    loss_matrix: Any,
    device: Any,
    dtype: Any,
) -> tuple[Any, Any]:
    """Replica labels and costs (n_classes, n_boundaries) as tensors."""
    if loss_matrix is not None:
        costs = costs_from_loss(loss_matrix)
        reject = costs.shape[1] > len(costs) - 1
    else:
        reject = reject_cost is not None
        costs = replica_costs((n_boundaries // 2 if reject else n_boundaries) + 1, reject_cost, s)
    if costs.shape[1] != n_boundaries:
        raise ValueError(
            f"scores has {n_boundaries} columns, but the costs are for {costs.shape[1]} "
            "boundaries: with a reject option a head has 2 (n_classes - 1), without (reject=False, "
            "reject_cost=None) n_classes - 1."
        )
    labels = replica_labels(len(costs), reject)
    to = {"device": device, "dtype": dtype}
    return torch.as_tensor(labels, **to), torch.as_tensor(costs, **to)


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(tensor.shape)
