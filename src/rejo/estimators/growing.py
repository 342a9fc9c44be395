"""Growing trees with XGBoost, block by block: on one machine, or as one of several ranks.

Nothing here knows labels, files or clusters.  A :class:`Plan` says what to grow, a :class:`Grower`
holds the rows of one process, and a :class:`Growth` is what is left between two legs of rounds: it
is all that is needed to go on, here or elsewhere.  Ranks of one collective call the same methods in
the same order; on one machine there is one, and no sockets.
"""

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import logit

from rejo._typing import Floats, Indices
from rejo.solvers import (
    BoostedTrees,
    Walker,
    first_thresholds,
    from_xgboost,
    newton_step,
    slopes,
    total_loss,
)

FORMS = ("parallel", "replicas", "posteriors")
HELD_OUT = "held_out"  # name, to XGBoost, of the rows that stop the growth


class Block(NamedTuple):
    """Some rows of a table, as trees see them."""

    X: Any  # (n, p) of floats, missing values are NaN; CSR: so are those that are not there
    k: Indices  # (n,) rows of the plan's tables: classes, or cases
    v: Floats | None = None  # (n,) weights


Blocks = Callable[[], Iterable[Block]]  # may be read several times


class Plan(NamedTuple):
    """What to grow; the same for all ranks."""

    form: str  # one of FORMS
    labels: Floats  # (K, Q) of the replicas; (n, Q) if costs differ by case
    costs: Floats  # of the same shape
    settings: dict[str, Any]  # parameters of XGBoost
    max_rounds: int
    patience: int | None  # rounds without a better loss of the held-out rows; None: grow them all
    categories: tuple[bool, ...]  # (p,) which columns are codes of categories
    constraints: tuple[int, ...] | None = None  # (p,) signs

    @property
    def n_classes(self) -> int:
        return len(self.labels)

    @property
    def n_scores(self) -> int:
        """Number of scores that a case has."""
        if self.form == "replicas":
            return self.n_replicas
        return self.n_classes if self.form == "posteriors" and self.n_classes > 2 else 1

    @property
    def n_replicas(self) -> int:
        return self.labels.shape[1]

    @property
    def samples(self) -> bool:
        """Whether a tree sees only some of the rows, or of the columns."""
        return any(self.settings.get(name, 1.0) < 1.0 for name in ("subsample", "colsample_bytree"))


class Growth(NamedTuple):
    """What has been grown so far."""

    model: bytes  # of XGBoost
    b: Floats  # (Q,) thresholds for the next round; empty unless the form is "parallel"
    losses: tuple[float, ...]  # of the held-out rows, by round; without any, zeros
    finished: bool

    @property
    def n_rounds(self) -> int:
        """Number of rounds with the lowest loss."""
        return 1 + int(np.argmin(self.losses)) if any(self.losses) else len(self.losses)


class RowScores(NamedTuple):
    """Scores of rows, their classes and their weights."""

    scores: Floats  # (n, S)
    k: Indices  # (n,)
    v: Floats | None  # (n,)


def joined(parts: Sequence[RowScores]) -> RowScores:
    """Put rows together; all of them have weights, or none has."""
    scores, k, v = zip(*parts, strict=True)
    weights = [one for one in v if one is not None]
    return RowScores(np.concatenate(scores), np.concatenate(k),
                  np.concatenate(weights) if weights else None)  # fmt: skip


def no_scores(plan: Plan) -> RowScores:
    """Scores of no rows."""
    return RowScores(np.empty((0, plan.n_scores)), np.empty(0, dtype=np.intp), None)


def import_xgboost() -> Any:
    """Import XGBoost; say how to install it if it is not there."""
    try:
        import xgboost
    except ImportError:
        raise ImportError('RejoBoost is fitted with XGBoost: pip install "rejo[boost]"') from None
    return xgboost


class Grower:
    """The rows of one rank, binned once, and the growth of trees on them.

    Parameters
    ----------
    plan : Plan
    train, held_out : callables that return an iterable of Block
        Rows to learn from, and rows that stop the growth and set the thresholds; the latter may
        give none if ``plan.patience`` is None.
    n_threads : int
        0: all that there are.
    """

    def __init__(self, plan: Plan, train: Blocks, held_out: Blocks, n_threads: int = 0) -> None:
        self._xgb = import_xgboost()
        self.plan = plan
        types = ["c" if codes else "q" for codes in plan.categories]
        signs = list(plan.constraints or [0] * len(types))
        if plan.form == "replicas":
            types, signs = [*types, "q"], [*signs, -1]
        self._settings = {
            "tree_method": "hist",
            **plan.settings,
            **_objective(plan),
            "nthread": n_threads,
            "seed_per_iteration": True,  # what a tree sees depends on its number alone
            **({"monotone_constraints": tuple(signs)} if any(signs) else {}),
        }
        how: dict[str, Any] = {
            "max_bin": plan.settings.get("max_bin", 256),
            "nthread": n_threads or None,
            "enable_categorical": True,
        }
        self._blocks = train, held_out
        self._held_out = None
        with _interrupts_at_blocks() as stopped:
            rows = self._iterator(train, types, stopped)
            self._train = self._xgb.QuantileDMatrix(rows, **how)
            if plan.patience is not None:
                some = _never_empty(held_out, len(plan.categories))
                rows = self._iterator(some, types, stopped)
                self._held_out = self._xgb.QuantileDMatrix(rows, ref=self._train, **how)
        self._rows_of: dict[int, tuple[NDArray[np.int32], NDArray[np.float32] | None]] = {}
        self._last: tuple[Growth | None, Any] = None, None

    @property
    def n_rows(self) -> int:
        """Number of rows to learn from, or of their copies."""
        return int(self._train.num_row())

    def grow(self, stage: Growth | None = None, rounds: int | None = None) -> Growth:
        """Grow some more rounds, or all; ends early if the held-out rows say so.

        In how many legs the rounds are grown does not matter: the trees are the same to the bit.
        If trees see samples only, they are so for the same legs.
        """
        plan = self.plan
        losses = [] if stage is None else list(stage.losses)
        most = plan.max_rounds if rounds is None else min(len(losses) + rounds, plan.max_rounds)
        self._b: Floats = np.empty(0) if stage is None else stage.b
        objective = self._slopes if plan.form == "parallel" else None
        booster = self._booster_at(stage)
        while len(losses) < most and not _stale(losses, plan.patience):
            booster.update(self._train, len(losses), objective)
            losses.append(self._loss(booster, len(losses)))
        finished = len(losses) >= plan.max_rounds or _stale(losses, plan.patience)
        grown = Growth(bytes(booster.save_raw("ubj")), self._b, tuple(losses), finished)
        self._last = grown, booster
        return grown

    def _booster_at(self, stage: Growth | None) -> Any:
        """The booster that this grower left at a stage, which knows the scores of all rows."""
        last, booster = self._last
        same = stage is not None and last is not None and last.model == stage.model
        if same and not self.plan.samples:  # its random numbers are not those of a new one
            return booster
        model = None if stage is None else bytearray(stage.model)
        rows = [self._train] if self._held_out is None else [self._train, self._held_out]
        with self._xgb.config_context(nthread=self._settings["nthread"]):
            return self._xgb.Booster(self._settings, rows, model_file=model)

    def _slopes(self, scores: Any, data: Any) -> tuple[Any, Any]:
        """Gradient and hessian of each row; the thresholds take a step for the next round."""
        _, labels, costs, *_ = self.plan
        k, v = self.rows_of(data)
        if not len(self._b):
            mass = np.bincount(k, weights=v, minlength=len(labels)).astype(np.float64)
            self._b = first_thresholds(self.summed(mass), labels, costs)
        found = slopes(np.asarray(scores, np.float32).ravel(), k, v, labels, costs, self._b)
        self._b = newton_step(self._b, self.summed(found.by_threshold))
        return found.gradient, found.hessian

    def _loss(self, booster: Any, number: int) -> float:
        """Mean loss of the held-out rows of all ranks after a round; 0 if there are none."""
        if self._held_out is None:
            return 0.0
        if self.plan.form != "parallel":
            said = booster.eval_set([(self._held_out, HELD_OUT)], number)
            return float(said.rpartition(":")[2])  # of "[1]\theld_out-logloss:0.5"
        _, labels, costs, *_ = self.plan
        scores = booster.predict(self._held_out, output_margin=True)
        k, v = self.rows_of(self._held_out)
        f = np.asarray(scores, np.float64).reshape(-1, 1) + self._b
        v64 = None if v is None else v.astype(np.float64)
        here = total_loss(f, k.astype(np.intp), v64, labels, costs)
        loss, total = self.summed(np.array([here, len(k) if v64 is None else v64.sum()]))
        return float(loss / total)

    def held_out_scores(self, stage: Growth) -> RowScores:
        """Scores of the held-out rows of this rank; if none are, of those that it learned from."""
        grown = grown_from(self.plan, stage)
        walker = grown.walker(self.plan)
        for blocks in reversed(self._blocks):
            found = [
                RowScores(walker.scores(as_dense(X)) + grown.intercepts, k, v)
                for X, k, v in blocks()
            ]
            if found:
                return joined(found)
        return no_scores(self.plan)

    def summed(self, values: Floats) -> Floats:
        """Sum over all ranks, element by element."""
        if not self._xgb.collective.is_distributed():
            return values
        flat = np.ascontiguousarray(values, dtype=np.float64).ravel()
        total = self._xgb.collective.allreduce(flat, self._xgb.collective.Op.SUM)
        return np.asarray(total).reshape(values.shape)

    def rows_of(self, data: Any) -> tuple[NDArray[np.int32], NDArray[np.float32] | None]:
        """Class and weight of each row of a matrix, remembered: every round needs them."""
        if id(data) not in self._rows_of:
            weight = data.get_weight()
            found = data.get_label().astype(np.int32), weight if len(weight) else None
            self._rows_of[id(data)] = found
        return self._rows_of[id(data)]

    def _iterator(self, blocks: Blocks, types: list[str], stopped: Event) -> Any:
        plan = self.plan
        known = types if "c" in types else None  # XGBoost reads them again in every round

        class Rows(self._xgb.DataIter):  # type: ignore[name-defined]
            """Hands blocks to XGBoost, which reads them several times."""

            def __init__(self) -> None:
                self._left = iter(blocks())
                super().__init__(release_data=True)

            def next(self, input_data: Any) -> bool:
                if stopped.is_set():
                    raise InterruptedError
                block = next(self._left, None)
                if block is None:
                    return False
                input_data(**_columns(plan, block), feature_types=known)
                return True

            def reset(self) -> None:
                self._left = iter(blocks())

        return Rows()


class Grown(NamedTuple):
    """Trees up to the best round, as arrays."""

    trees: BoostedTrees
    intercepts: Floats  # (S,) of the scores

    def walker(self, plan: Plan) -> Walker:
        """The trees, ready to be walked by cases of the plan."""
        known = range(plan.n_replicas) if plan.form == "replicas" else None
        return Walker(self.trees, len(plan.categories), len(self.intercepts), known)


def grown_from(plan: Plan, stage: Growth) -> Grown:
    """Take the trees out of XGBoost's model; two classes with a logistic loss have a base rate."""
    xgboost = import_xgboost()
    # A model is loaded by all threads unless told otherwise, and in a fork of a process that had
    # several it would wait for them for ever.
    with xgboost.config_context(nthread=1):
        booster = xgboost.Booster(model_file=bytearray(stage.model))
    trees, base = from_xgboost(json.loads(bytes(booster.save_raw("json"))), stage.n_rounds)
    if plan.form == "parallel":
        return Grown(trees, np.zeros(1))
    if plan.form == "replicas":
        return Grown(trees, np.full(plan.n_replicas, logit(base[0])))
    return Grown(trees, logit(base) if plan.n_classes == 2 else base)


@contextmanager
def _interrupts_at_blocks() -> Iterator[Event]:
    """Let Ctrl-C end the reading of rows between two blocks.

    XGBoost asks for blocks from compiled code, where an exception of Python is lost.
    """
    stopped = Event()
    if current_thread() is not main_thread():
        yield stopped
        return
    before = signal.signal(signal.SIGINT, lambda *_: stopped.set())
    try:
        yield stopped
    except Exception:
        if not stopped.is_set():
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if stopped.is_set():
        raise KeyboardInterrupt


def _objective(plan: Plan) -> dict[str, Any]:
    if plan.form == "parallel":
        return {"base_score": 0.0, "disable_default_eval_metric": True}
    if plan.form == "replicas" or plan.n_classes == 2:
        return {"objective": "binary:logistic", "eval_metric": "logloss"}
    return {
        "objective": "multi:softprob",
        "num_class": plan.n_classes,
        "eval_metric": "mlogloss",
    }


def _columns(plan: Plan, block: Block) -> dict[str, Any]:
    """What XGBoost takes of a block: replicated, if the form asks for it."""
    X, k, v = block
    if plan.form != "replicas":
        weight = {} if v is None else {"weight": v.astype(np.float32)}
        return {"data": X, "label": k.astype(np.float32), **weight}
    Q, n = plan.n_replicas, len(k)
    copies = np.empty((Q * n, X.shape[1] + 1), dtype=np.float32)
    for q in range(Q):
        part = copies[q * n : (q + 1) * n]
        part[:, :-1] = as_dense(X)
        part[:, -1] = q
    costs = plan.costs[k] if v is None else plan.costs[k] * v[:, None]  # (n, Q)
    return {
        "data": copies,
        "label": (plan.labels[k].T.ravel() > 0).astype(np.float32),
        "weight": costs.T.ravel().astype(np.float32),
    }


def _stale(losses: list[float], patience: int | None) -> bool:
    if patience is None or not losses:
        return False
    return len(losses) - 1 - int(np.argmin(losses)) >= patience


def _never_empty(blocks: Blocks, n_features: int) -> Blocks:
    """Blocks with at least one row: a rank without any gets one that is missing and weighs nothing.

    XGBoost evaluates on all ranks or on none.
    """

    def some() -> Iterable[Block]:
        n = 0
        for block in blocks():
            if len(block.k):
                yield block
                n += 1
        if not n:
            X = np.full((1, n_features), np.nan, dtype=np.float32)
            yield Block(X, np.zeros(1, dtype=np.intp), np.zeros(1))

    return some


def as_dense(X: Any) -> NDArray[Any]:
    """Rows (n, p) as an array; what a sparse matrix does not store is missing."""
    if not issparse(X):
        return np.asarray(X)
    dense = np.full(X.shape, np.nan, dtype=np.float32)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    dense[rows, X.indices] = X.data
    return dense
