"""The prices of ``--costs``, read before the classes are known."""

from argparse import ArgumentTypeError

import pytest

from rejo.cli._options import costs


def test_prices_in_all_forms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.csv").write_text("class,ill,well,review\nill,,5000,40\nwell,300,0,40\n")
    assert costs("error=5000,review=40") == {"error": 5000, "review": 40}
    assert costs("ill>well=5000,error=300,review=40") == {
        "ill>well": 5000, "error": 300, "review": 40
    }  # fmt: skip
    assert costs("step=10,review=15") == {"step": 10, "review": 15}  # two steps may cost more
    assert costs("prices.csv") == {
        "ill>well": 5000, "review:ill": 40, "well>ill": 300, "well>well": 0, "review:well": 40
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("5,1", "'5'"),
        ("error=5", "review="),
        ("review=5", "error="),
        ("error=5,review=0", "1e-06"),
        ("error=1e10,review=1", r"1e\+09"),
        ("error=5,review=6", "swapped"),
        ("error:ill=5,error:well=3,review=5", "swapped"),
        ("error=5,review=1,accuracy=95", "0.95"),
        ("no.csv", "no.csv"),
    ],
)
def test_prices_that_cannot_be_are_refused_at_once(text, word):
    with pytest.raises(ArgumentTypeError, match=word):
        costs(text)
