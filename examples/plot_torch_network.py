"""
A neural network that can say "review"
======================================

You have a network in PyTorch, and some of its images should go to a person. ``rejo.torch`` gives
it a new last layer and a new loss: two lines. This page grades spots on images, and compares the
result with the usual way, a threshold on the softmax.

It needs PyTorch: ``pip install "rejo[torch]"``. If there are no pictures below, this page was made
without it: then nothing was run, and what the text says comes from another run.
"""

# %%
# Images in three grades
# ----------------------
# A spot on a noisy image is small, medium or large. Near the limits nobody could tell, and a few
# images are taken with a bad camera. The classes are ordered, as ``rejo.torch`` expects: class
# indices from 0, lowest first.

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from rejo.torch import ReplicationHead, decide, replication_loss

GRADES = np.array(["small", "medium", "large"])


def make_spots(n, seed):
    """Return n images of 16 x 16 pixels, and their grades."""
    rng = np.random.default_rng(seed)
    radius = rng.uniform(1.5, 6.0, n)
    x, y = rng.uniform(6, 9, (2, n, 1, 1))
    rows, columns = np.mgrid[:16, :16]
    far = np.hypot(rows - x, columns - y) - radius[:, None, None]
    noise = np.where(rng.random(n) < 0.15, 1.5, 0.4)[:, None, None]
    images = 1 / (1 + np.exp(2 * far)) + noise * rng.normal(size=(n, 16, 16))
    tensor = torch.tensor(images[:, None], dtype=torch.float32)
    return tensor, torch.tensor(np.digitize(radius, [3.0, 4.5]))


torch.manual_seed(0)
torch.set_num_threads(1)
x, y = make_spots(1_500, seed=0)
x_new, y_new = make_spots(3_000, seed=1)

# %%
# The head and the loss
# ---------------------
# The body may be any network. ``ReplicationHead`` computes one number from its features, and a
# pair of thresholds on it between every two neighbouring grades. A review costs 0.2 where an
# error costs 1.
#
# The thresholds have a long way to go from where they start. So the head learns ten times as fast
# as the body. At one rate for both, about twice as many decisions were wrong.


def make_body():
    """Return a small convolutional network, from images to 16 features."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 5 * 5, 16), nn.ReLU(),
    )  # fmt: skip


def train(network, loss, epochs=12):
    """Train a body and a head by Adam, in batches of 100, at rates that fall."""
    body, head = network
    rates = [{"params": body.parameters()}, {"params": head.parameters(), "lr": 0.03}]
    optimiser = torch.optim.Adam(rates, lr=0.003)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1, 0.05, total_iters=epochs)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(100):
            optimiser.zero_grad()
            loss(network(x[rows]), y[rows]).backward()
            optimiser.step()
        schedule.step()
    return network.eval()


body = make_body()
network = nn.Sequential(body, ReplicationHead(16, n_classes=3))  # 1: the head
train(network, lambda scores, y: replication_loss(scores, y, reject_cost=0.2))  # 2: the loss

with torch.no_grad():
    scores = network(x_new)
    grades = decide(scores)  # -1: review
reviewed = grades == -1
wrong = (grades != y_new)[~reviewed]
print(
    f"{reviewed.float().mean():.1%} in review, {wrong.float().mean():.1%} errors among the decided"
)

# %%
# The number of positive scores says where an image lies: 0 is small, 1 is between small and
# medium, 2 is medium, and so on.

places = ["small", "small or medium?", "medium", "medium or large?", "large"]
count = (scores > 0).sum(dim=1).numpy()
fig, axes = plt.subplots(3, 5, figsize=(7.2, 4.6), layout="constrained")
for place, column in zip(range(5), axes.T, strict=True):
    column[0].set_title(places[place], fontsize=10, color="#D55E00" if place % 2 else "black")
    for ax, i in zip(column, np.flatnonzero(count == place)[:3], strict=True):
        ax.imshow(x_new[i, 0].numpy(), cmap="gray", vmin=-1, vmax=2)
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"is {GRADES[int(y_new[i])]}", fontsize=9)
fig.suptitle("Decided, and between two grades")
plt.show()

# %%
# Compared with a threshold on the softmax
# ----------------------------------------
# The usual way needs no new loss: train by cross-entropy, and review where the largest posterior
# is low. For other prices of a review, the body is kept and only the head is trained again, which
# takes a moment.

plain = train(nn.Sequential(make_body(), nn.Linear(16, 3)), nn.functional.cross_entropy)
with torch.no_grad():
    largest, guess = plain(x_new).softmax(dim=1).max(dim=1)
    features, features_new = body(x), body(x_new)

learned = []
for reject_cost in (0.05, 0.1, 0.2, 0.3, 0.4):
    head = ReplicationHead(16, n_classes=3)
    optimiser = torch.optim.Adam(head.parameters(), lr=0.05)
    for _ in range(300):
        optimiser.zero_grad()
        replication_loss(head(features), y, reject_cost=reject_cost).backward()
        optimiser.step()
    grades = head.predict(features_new)
    decided = grades != -1
    wrong = (grades != y_new)[decided]
    learned.append((1 - decided.float().mean().item(), wrong.float().mean().item()))

surest_first = largest.argsort(descending=True)
n_decided = np.arange(1, len(y_new) + 1)
errors = (guess != y_new)[surest_first].numpy().cumsum() / n_decided
share = 1 - n_decided / len(y_new)

fig, ax = plt.subplots(figsize=(6.6, 4.0), layout="constrained")
ax.plot(share, errors, "--", color="0.45", label="softmax and a threshold")
ax.plot(*np.transpose(learned), "o", color="#0072B2", markersize=8, label="replication head")
ax.set(xlabel="share of images in review", ylabel="errors among the decided")
ax.set(title="The head, and a threshold on the softmax", xlim=(0, 0.8), ylim=(0, None))
ax.xaxis.set_major_formatter("{x:.0%}")
ax.yaxis.set_major_formatter("{x:.0%}")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
for reviews, wrong in learned:
    other = errors[round((1 - reviews) * len(y_new)) - 1]
    print(f"{reviews:.1%} in review: {wrong:.1%} errors by the head, {other:.1%} by the softmax")

# %%
# Here the softmax is a little better, by about half a point to one and a half points of errors at
# the same share of reviews. Its posteriors use all 16 features for each class, and the head has a
# single number for all grades. So try the threshold first if your network has good posteriors and
# you can choose the share of reviews afterwards. The head is for the other cases:
#
# - It says *between which two* neighbouring grades an image lies, and its regions never overlap.
# - Costs are part of the training: an error of two grades may cost more than two of one
#   (``loss_matrix``, ``s``).
# - It has one output for any number of grades, and ``reject=False`` makes it plain ordinal
#   regression.
