"""What the kernel machines among the rivals share: two classes, one function, two cut-offs."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import type_of_target

from rejo._state import declare, number, require
from rejo._typing import Floats
from rejo.estimators import KernelMachine, ReviewPrice, Targets


class BinaryKernelMachine(KernelMachine):
    """``f(x) = g(x) + b`` for two classes, rejected between two cut-offs.

    A subclass fits, and sets ``intercept_`` and ``thresholds_`` besides the function ``g``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: constraint
            for name, constraint in KernelMachine._parameter_constraints.items()
            if name not in ("s", "loss_matrix")  # of ordinal classes
        },
        "reject_cost": [ReviewPrice(0.5)],
    }

    reject_cost: float
    intercept_: float

    def _function(self, X: Any) -> Floats:
        return super()._function(X) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _check_targets(self, X: Any, y: Any, sample_weight: Any, loss: Any = None) -> Targets:
        if loss is not None:
            raise ValueError(f"{type(self).__name__} takes no loss for each case; RejoSVC does.")
        with np.errstate(invalid="ignore"):  # infinite labels: an error of check_targets
            kind = None if y is None else type_of_target(y, input_name="y")
        if kind == "multiclass":
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{type(self).__name__} is for two classes. RejoSVC takes more, if they are "
                "ordered."
            )
        return super()._check_targets(X, y, sample_weight)

    def _caps(self, targets: Targets) -> Floats:
        """``C`` x weight (n,) of the points."""
        weight = np.ones(len(targets.indices)) if targets.weight is None else targets.weight
        caps: Floats = float(self.C) * weight
        self._check_cap(caps.max())
        return caps


def _binary_machine(model: Any) -> None:
    fine = len(model.classes_) == 2 and model.reject_label_ is not None
    require(fine, model, "it has other answers than two classes and a rejection")


declare(BinaryKernelMachine, {"intercept_": number()}, _binary_machine)
