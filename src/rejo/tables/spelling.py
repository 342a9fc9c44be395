"""One word in several spellings: ``Good``, ``good `` and ``GOOD``; ``1`` and ``1.0``."""

from rejo.tables.values import NUMBER, word_of


def same_spelling(word: str) -> str:
    """Return what all spellings of a word have in common.

    >>> same_spelling(" Very  GOOD ") == same_spelling("very good")
    True
    >>> same_spelling("1.0"), same_spelling("01"), same_spelling("1.50")
    ('1', '01', '1.5')
    """
    word = " ".join(word.split())
    code = len(word) > 1 and word[0] == "0" and word[1].isdigit()  # 007 is not 7
    if NUMBER.fullmatch(word) and not code:
        return word_of(float(word))
    return word.casefold()
