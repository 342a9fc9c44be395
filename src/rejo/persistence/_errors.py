"""The one error of this package, and text from files that is safe to show."""


class ModelFileError(ValueError):
    """A model file cannot be trusted or read, or a model cannot be put into one.

    The message is one line: the file, what is wrong with it, and what to do.
    """


def printable(text: str) -> str:
    """Replace what would break the line, or steer a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)
