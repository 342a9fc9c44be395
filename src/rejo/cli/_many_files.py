"""Tables that are several files: patterns, folders, and files that a cluster reads."""

import os
from argparse import Namespace

from rejo.cli._files import CommandError


def is_many(arguments: Namespace) -> bool:
    """Return whether DATA is read row group by row group, as several files are."""
    from rejo.tables import pieces

    if arguments.data == "-":
        return False
    if pieces.is_many(arguments.data) or arguments.dask is not None:
        return True
    output = getattr(arguments, "output", "")
    folder = output.endswith(("/", os.sep)) or os.path.isdir(output)
    return folder and arguments.data.lower().endswith(pieces.ENDINGS)


def check_folder(arguments: Namespace) -> None:
    """Refuse an output for several files that is not a folder, or not yet one."""
    output = arguments.output
    _, ending = os.path.splitext(output)
    if output == "-" or os.path.isfile(output) or (ending and not os.path.isdir(output)):
        raise CommandError(
            f"the decisions on {arguments.data} go to a folder: give one with -o, such as -o "
            "decided/"
        )
