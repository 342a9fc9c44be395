"""
A million rows
==============

Your table has a million rows, or does not fit into memory. Must you take a sample? This page
writes a million loans to a Parquet file, learns from them piece by piece, and shows which kind of
model gains from so many rows.

It needs XGBoost and pyarrow: ``pip install "rejo[boost,tables]"``.
"""

# %%
# The file
# --------
# Eight numbers for each loan, written in ten row groups. The true chance that a loan is repaid is
# known, so we know the lowest risk that any model can reach: an error costs 1 and a review 0.2.

import tempfile
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import expit

import rejo.distributed
from rejo import RejoBoost, RejoLinear

COLUMNS = [f"x{i}" for i in range(8)]
REJECT_COST = 0.2


def chance_repaid(X):
    """Return the true chance that each loan is repaid: a curve in x4, and x2 times x3."""
    return expit(3 * X[:, 0] - 2 * X[:, 1] + 3 * X[:, 2] * X[:, 3] + 2 * np.abs(X[:, 4]) - 1)


def make_loans(n, random_state):
    """Return n rows in single precision, and whether each loan was repaid."""
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((n, len(COLUMNS)), dtype=np.float32)
    return X, (rng.random(n) < chance_repaid(X)).astype(np.int8)


folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "loans.parquet"
X, y = make_loans(1_000_000, random_state=0)
table = pa.table({name: X[:, i] for i, name in enumerate(COLUMNS)} | {"repaid": y})
pq.write_table(table, path, row_group_size=100_000)
print(f"{path.name}: {path.stat().st_size / 1e6:.0f} MB")

X_new, _ = make_loans(20_000, random_state=1)
chance_new = chance_repaid(X_new)
best = np.minimum(REJECT_COST, np.minimum(chance_new, 1 - chance_new)).mean()


def risk(model, rows=X_new):
    """Return the mean cost of a new case: 1 for an error, REJECT_COST for a review."""
    decision = model.predict(rows)
    wrong = np.where(decision == 1, 1 - chance_new, chance_new)
    return np.where(decision == model.reject_label_, REJECT_COST, wrong).mean()


# %%
# Piece by piece
# --------------
# ``partial_fit`` of ``RejoLinear`` learns from one piece after another. Of the earlier ones it
# keeps only a small matrix, with a row and a column for each number. The memory holds one piece at
# a time. Rows should be in random order.

start = perf_counter()
stream = RejoLinear(reject_cost=REJECT_COST)
for piece in pq.ParquetFile(path).iter_batches(100_000):
    features = np.column_stack([piece[name].to_numpy() for name in COLUMNS])
    stream.partial_fit(features, piece["repaid"].to_numpy(), classes=[0, 1])
print(f"a million rows in {perf_counter() - start:.1f} s, risk {risk(stream):.4f}")

# %%
# In memory it is one call, and the model is as good:

start = perf_counter()
linear = RejoLinear(reject_cost=REJECT_COST).fit(X, y)
print(f"a million rows in {perf_counter() - start:.1f} s, risk {risk(linear):.4f}")

# %%
# Does a million help?
# --------------------
# The same models on the first 1,000, 10,000 and 100,000 rows. ``RejoBoost`` grows trees with
# XGBoost.


def boost():
    """Return a booster of 60 rounds."""
    return RejoBoost(
        reject_cost=REJECT_COST, n_estimators=60, learning_rate=0.3, max_depth=7, random_state=0
    )


sizes = [1_000, 10_000, 100_000]
by_linear = [risk(RejoLinear(reject_cost=REJECT_COST).fit(X[:n], y[:n])) for n in sizes]
by_boost = [risk(boost().fit(X[:n], y[:n])) for n in sizes]

# %%
# ``rejo.distributed.fit`` reads the file row group by row group, in bounded memory. The model then
# knows the names of the columns, and asks for them in new cases.

start = perf_counter()
booster = rejo.distributed.fit(boost(), str(path), target="repaid")
by_linear.append(risk(linear))
by_boost.append(risk(booster, pd.DataFrame(X_new, columns=COLUMNS)))
folder.cleanup()
print(f"a million rows in {perf_counter() - start:.1f} s, risk {by_boost[-1]:.4f}")

# %%

rows = [*sizes, 1_000_000]
fig, ax = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
ax.semilogx(rows, by_linear, "s--", color="#D55E00", label="RejoLinear")
ax.semilogx(rows, by_boost, "o-", color="#0072B2", label="RejoBoost")
ax.axhline(best, color="black", linewidth=1, linestyle=":", label="best possible")
ax.axhline(REJECT_COST, color="0.6", linewidth=1, label="review everything")
ax.set(xlabel="rows to learn from", ylabel="mean cost of a case", ylim=(0, None))
ax.set_title("What more rows are worth")
ax.set_xticks(rows, ["1,000", "10,000", "100,000", "a million"])
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower left")
plt.show()
for name, values in {"RejoLinear": by_linear, "RejoBoost": by_boost}.items():
    print(f"{name:11}", " ".join(f"{value:.4f}" for value in values), f"(best {best:.4f})")

# %%
# The straight lines of ``RejoLinear`` are learned after 10,000 rows, and the other 990,000 change
# nothing: a sample is enough, though a million rows take well under a second. Trees go on
# learning, and come close to the best possible. The last step, from 100,000 rows to a million,
# takes off 3 % of the cost and takes some ten times as long. Whether that pays is for you to say.
#
# For tables that are larger still, the same function trains :doc:`on a cluster </distributed>`, and
# ``rejo predict`` decides files in pieces.
