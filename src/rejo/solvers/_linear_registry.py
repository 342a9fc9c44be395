"""The losses of the linear problem, by name."""

from rejo.solvers._linear_losses import Hinge, Logistic, Loss, SquaredHinge

LOSSES: dict[str, type[Loss]] = {
    "logistic": Logistic,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
}
