"""The catalogue of the paper's figures agrees with itself and with the study."""

import dataclasses

import pytest

from rejo.datasets import CATALOGUE, bayes_risk
from rejo.study import METHODS, Study, paper

CURVES = [figure for figure in paper.FIGURES.values() if figure.dataset]


def test_all_ten_figures_of_curves_and_the_explanatory_ones_are_there():
    assert sum(figure.caption != "" for figure in CURVES) == 10
    unseen = [figure.name for figure in CURVES if not figure.caption]
    assert unseen == ["syntheticIII-nn", "syntheticIV-nn", "bcct-nn"]
    assert {f.name for f in paper.FIGURES.values() if not f.dataset} == {
        *("SeiLa", "SeiLa2", "proposedModel", "proposedRejectModel", "syntheticI", "syntheticIII"),
    }


def test_a_figure_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        paper.FIGURES["SeiLa"].title = "another"


@pytest.mark.parametrize("figure", CURVES, ids=lambda figure: figure.name)
def test_the_study_can_run_every_figure(figure):
    methods = (*figure.methods, *figure.beside)
    assert set(methods) <= set(METHODS)
    assert len(methods) <= 6  # with the Bayes curve 7, more cannot be told apart
    study = Study([figure.dataset], figure.shares, 1, methods, splits=("random",))
    assert {cell.method for cell in study.cells()} == set(methods)
    assert figure.methods[0].startswith("rejo")


@pytest.mark.parametrize("name", paper.DATA)
def test_data_are_known(name):
    data = paper.DATA[name]
    assert data.fresh == (data.bayes is not None) == (data.catalogue is None)
    if data.bayes:
        assert bayes_risk(data.bayes, 0.2) > 0
    else:
        assert data.catalogue in CATALOGUE
        assert ("group" in data.splits) == (CATALOGUE[data.catalogue].group is not None)


@pytest.mark.parametrize("claim", paper.CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_is_about_methods_of_its_figures(claim):
    drawn = {method for name in claim.figures for method in paper.FIGURES[name].methods}
    assert set(claim.methods) <= drawn


def test_figures_are_chosen_by_name_in_the_order_of_the_paper():
    chosen = paper.choose_figures(["bcct-svm", "SeiLa"])
    assert [figure.name for figure in chosen] == ["SeiLa", "bcct-svm"]
    assert len(paper.choose_figures()) == len(paper.FIGURES)
    with pytest.raises(ValueError, match="no figure 'fig1'; choose from SeiLa"):
        paper.choose_figures(["fig1"])


def test_methods_of_a_data_set_are_those_of_all_its_figures():
    found = paper.methods_by_dataset(paper.choose_figures(["syntheticI-svm", "syntheticI-nn"]))
    assert set(found) == {"syntheticI"}
    assert {"rejoSVM/poly", "rejoNN"} <= set(found["syntheticI"])
