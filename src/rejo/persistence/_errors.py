"""The one error of this room."""


class ModelFileError(ValueError):
    """A model file cannot be trusted or read, or a model cannot be put into one.

    The message is one line: the file, what is wrong with it, and what to do.
    """
