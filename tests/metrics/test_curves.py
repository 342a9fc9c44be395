"""Curves and areas against brute force: every threshold on its own, from scratch, in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejo import metrics

AREAS = [
    metrics.aurc,
    metrics.augrc,
    metrics.e_aurc,
    metrics.auarc,
    lambda *args, **kwargs: metrics.auarc(*args, accuracy="overall", **kwargs),
]

# Few distinct sureness values, so that ties are common.
points = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-3, 3), st.integers(0, 4)),
    min_size=1,
    max_size=25,
).filter(lambda rows: any(row[3] for row in rows))


def arrays(rows):
    return map(np.array, zip(*rows, strict=True))


def brute_force(rows):
    """Accepted and wrong weight at each threshold, from none accepted to all."""
    thresholds = sorted({row[2] for row in rows if row[3]}, reverse=True)
    for threshold in [math.inf, *thresholds]:
        accepted = [row for row in rows if row[2] >= threshold]
        yield (
            Fraction(sum(row[3] for row in accepted)),
            Fraction(sum(row[3] for row in accepted if row[0] != row[1])),
            threshold,
        )


@given(rows=points)
def test_curves_agree_with_brute_force(rows):
    y_true, y_pred, sureness, weight = arrays(rows)
    total = Fraction(int(weight.sum()))
    accepted, wrong, thresholds = zip(*brute_force(rows), strict=True)
    coverage = [float(a / total) for a in accepted]
    risk = {
        "accepted": [math.nan] + [float(w / a) for a, w in zip(accepted, wrong, strict=True) if a],
        "overall": [float(w / total) for w in wrong],
    }
    for kind in ("accepted", "overall"):
        curve = metrics.risk_coverage_curve(
            y_true, y_pred, sureness, sample_weight=weight, risk=kind
        )
        assert curve.threshold.tolist() == list(thresholds)
        np.testing.assert_allclose(curve.coverage, coverage, rtol=1e-12)
        np.testing.assert_allclose(curve.risk, risk[kind], rtol=1e-12)

        mirror = metrics.accuracy_reject_curve(
            y_true, y_pred, sureness, sample_weight=weight, accuracy=kind
        )
        np.testing.assert_allclose(mirror.rejection_rate[::-1], 1 - curve.coverage, atol=1e-15)
        np.testing.assert_allclose(mirror.accuracy[::-1], 1 - curve.risk, atol=1e-15)
        assert mirror.threshold.tolist() == list(thresholds)[::-1]


@given(rows=points)
def test_areas_agree_with_brute_force(rows):
    y_true, y_pred, sureness, weight = arrays(rows)
    # For every point: accept what is at least as confident as it, and average the risks.
    risks, halves = Fraction(0), Fraction(0)
    for _, _, threshold, w in rows:
        accepted = sum(row[3] for row in rows if row[2] >= threshold)
        wrong = sum(row[3] for row in rows if row[2] >= threshold and row[0] != row[1])
        above = sum(row[3] for row in rows if row[2] > threshold and row[0] != row[1])
        if w:
            risks += w * Fraction(int(wrong), int(accepted))
            halves += w * Fraction(int(wrong + above), 2)
    total = int(weight.sum())
    area, general = float(risks / total), float(halves / total**2)
    r = sum(row[3] for row in rows if row[0] != row[1]) / total
    best = r + (1 - r) * math.log(1 - r) if r < 1 else 1.0

    args, given_ = (y_true, y_pred, sureness), {"sample_weight": weight}
    assert metrics.aurc(*args, **given_) == pytest.approx(area, abs=1e-12)
    assert metrics.augrc(*args, **given_) == pytest.approx(general, abs=1e-12)
    assert metrics.e_aurc(*args, **given_) == pytest.approx(area - best, abs=1e-12)
    assert metrics.auarc(*args, **given_) == pytest.approx(1 - area, abs=1e-12)
    overall = metrics.auarc(*args, accuracy="overall", **given_)
    assert overall == pytest.approx(1 - general, abs=1e-12)


@given(rows=points)
def test_the_generalised_area_is_that_of_the_ranking(rows):
    """Traub et al. 2024: (1 - AUROC) r (1 - r) + r^2 / 2, where a tie is half a success."""
    y_true, y_pred, sureness, weight = arrays(rows)
    wrong = y_true != y_pred
    lost = sum(
        weight[i] * weight[j] * (1.0 if sureness[i] < sureness[j] else 0.5)
        for i in np.flatnonzero(~wrong)
        for j in np.flatnonzero(wrong)
        if sureness[i] <= sureness[j]
    )  # (1 - AUROC) r (1 - r) N^2
    r = weight[wrong].sum() / weight.sum()
    assert metrics.augrc(y_true, y_pred, sureness, sample_weight=weight) == pytest.approx(
        lost / weight.sum() ** 2 + r**2 / 2
    )


def test_points_are_masked_and_not_thresholds():
    """Worked by hand; in the order of the file: right, wrong, right, right, wrong."""
    y_true, y_pred = [0, 1, 0, 1, 0], [0, 0, 0, 1, 1]
    sureness = [0.9, 0.5, 0.8, 0.7, 0.6]
    # The two least confident decisions are the two wrong ones. Masking the first entries of the
    # sorted thresholds would reject the first points of the file: 1/2 at R = 0.2, and not 3/4.
    curve = metrics.accuracy_reject_curve(y_true, y_pred, sureness)
    assert curve.threshold.tolist() == [0.5, 0.6, 0.7, 0.8, 0.9, math.inf]
    np.testing.assert_allclose(curve.rejection_rate, [0, 0.2, 0.4, 0.6, 0.8, 1])
    np.testing.assert_allclose(curve.accuracy, [3 / 5, 3 / 4, 1, 1, 1, math.nan])
    assert metrics.auarc(y_true, y_pred, sureness) == pytest.approx((3 / 5 + 3 / 4 + 3) / 5)
    assert metrics.aurc(y_true, y_pred, sureness) == pytest.approx((2 / 5 + 1 / 4) / 5)
    # E at the coverages 0, 0.2, ..., 1 is 0, 0, 0, 0, 0.2, 0.4.
    assert metrics.augrc(y_true, y_pred, sureness) == pytest.approx(0.2 * (0.1 + 0.3))


@given(n_right=st.integers(0, 30), n_wrong=st.integers(0, 30))
def test_the_best_ranking_has_almost_no_excess(n_right, n_wrong):
    n = n_right + n_wrong
    if n:
        y_pred = np.repeat([1, 0], [n_right, n_wrong])
        excess = metrics.e_aurc(np.ones(n), y_pred, -np.arange(n))
        assert 0 <= excess <= n_wrong / n**2 + 1e-12


@pytest.mark.parametrize(
    ("sureness", "message"),
    [
        ([0.5], "sureness"),
        (np.eye(2), r"got \(2, 2\); for posteriors, pass the largest in each row"),
        ([0.5, np.nan], "sureness"),
        ([0.5, np.inf], "sureness"),
        (["high", "low"], "sureness"),
    ],
)
def test_wrong_sureness_is_named(sureness, message):
    for area in (*AREAS, metrics.risk_coverage_curve):
        with pytest.raises(ValueError, match=message):
            area([0, 1], [0, 1], sureness)


def test_wrong_weights_and_kinds_are_named():
    with pytest.raises(ValueError, match="sample_weight"):
        metrics.aurc([0, 1], [0, 1], [1, 2], sample_weight=[0, 0])
    with pytest.raises(ValueError, match="accuracy"):
        metrics.accuracy_reject_curve([0, 1], [0, 1], [1, 2], accuracy="all")
    with pytest.raises(ValueError, match="accuracy"):
        metrics.auarc([0, 1], [0, 1], [1, 2], accuracy=None)
    with pytest.raises(ValueError, match="risk"):
        metrics.risk_coverage_curve([0, 1], [0, 1], [1, 2], risk="selective")
