"""
Cases that are sets of rows
===========================

An image has regions, a patient has visits, a molecule has shapes. The class belongs to the whole
*bag*, and nobody says which of its rows is the reason. A short transformer turns bags into rows of
numbers; then every classifier of rejo works as usual, and sends the ambiguous bags to review.
"""

# %%
# Bags of points
# --------------
# A bag has 3 to 10 points in the plane, and one of them decides. If its distance ``r`` from the
# centre is below 0.5, the class is 1; above 1.5, it is 0; in between it is a matter of chance. The
# other points lie farther out, whatever the class. At a reject cost ``w``, the best that any
# classifier can do is to review the bags with ``r`` from ``0.5 + w`` to ``1.5 - w``.

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline

from rejo import RejoSVC
from rejo.baselines import EmbeddedRejectSVC
from rejo.metrics import empirical_risk

COST = 0.2


def make_bags(n_bags, seed):
    rng = np.random.RandomState(seed)
    r = rng.uniform(0, 2, n_bags)
    bags = []
    for nearest in r:
        others = np.sqrt(rng.uniform(4, 25, rng.randint(2, 10)))  # even in area
        distances = rng.permutation(np.append(others, nearest))
        angles = rng.uniform(0, 2 * np.pi, len(distances))
        bags.append(distances[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]))
    return bags, (rng.uniform(0.5, 1.5, n_bags) > r).astype(int), r


bags, y, _ = make_bags(200, seed=0)
new_bags, y_new, r_new = make_bags(5000, seed=1)

# %%
# Similarity to prototypes
# ------------------------
# A bag becomes its similarities to some prototypes: 1 if it contains a point like the prototype,
# near 0 if it has nothing like it (the embedding of MILES, Chen, Bi and Wang 2006). The prototypes
# are the centres of a clustering of all points.


class BagEmbedding(TransformerMixin, BaseEstimator):
    def __init__(self, n_prototypes=30, gamma=1.0):
        self.n_prototypes, self.gamma = n_prototypes, gamma

    def fit(self, bags, y=None):
        clusters = KMeans(self.n_prototypes, n_init=1, random_state=0).fit(np.concatenate(bags))
        self.prototypes_ = clusters.cluster_centers_
        return self

    def transform(self, bags):
        nearest = [cdist(self.prototypes_, bag, "sqeuclidean").min(axis=1) for bag in bags]
        return np.exp(-self.gamma * np.array(nearest))


# %%
# Two ways to a reject region
# ---------------------------
# Any classifier may follow. Here, data replication, and the machine with embedded rejection, which
# Zhang and Metaxas (2006) used for bags. For comparison, the same on the mean of each bag, in
# which the point that decides is lost. The best possible risk is ``(w - w^2) / 2``.

learners = {
    "data replication": RejoSVC(kernel="linear", C=10, reject_cost=COST),
    "embedded rejection": EmbeddedRejectSVC(C=0.01, reject_cost=COST),
}
models = {}
for name, learner in learners.items():
    model = models[name] = make_pipeline(BagEmbedding(), learner).fit(bags, y)
    risk = empirical_risk(y_new, model.predict(new_bags), reject_cost=COST)
    print(f"{name}: {risk:.3f}")

means, new_means = (np.array([bag.mean(axis=0) for bag in some]) for some in (bags, new_bags))
blind = RejoSVC(reject_cost=COST).fit(means, y)
print(f"on means: {empirical_risk(y_new, blind.predict(new_means), reject_cost=COST):.3f}")
print(f"review every bag: {COST:.3f}; best possible: {(COST - COST**2) / 2:.3f}")

# %%
# What becomes of new bags
# ------------------------
# Both review about the bags that should be reviewed, between the dashed lines.

fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
place = np.digitize(r_new, np.arange(1, 20) / 10)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    decided, review = model.predict(new_bags), model[-1].reject_label_
    shares = [[np.mean(decided[place == i] == k) for i in range(20)] for k in (1, review, 0)]
    labels, colours = ("decided: 1", "review", "decided: 0"), ("#0072B2", "0.88", "#D55E00")
    ax.stackplot(np.arange(20) / 10 + 0.05, shares, labels=labels, colors=colours)
    for edge in (0.5 + COST, 1.5 - COST):
        ax.axvline(edge, color="black", linewidth=1, linestyle="--")
    ax.set(title=name, xlabel="distance of the point that decides", ylim=(0, 1))
axes[0].set_ylabel("share of bags")
axes[1].legend(loc="center right")
plt.show()
