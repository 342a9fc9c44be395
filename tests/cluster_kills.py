"""Workers that are killed in the middle of a fit, wherever they are started."""

import os
import signal
from pathlib import Path

from distributed import WorkerPlugin


class KilledAt(WorkerPlugin):
    """A plugin of workers: they are killed when they have grown some round, once for each."""

    def __init__(self, rounds, folder):
        self.rounds, self.folder = rounds, folder

    def setup(self, worker):
        from rejo.estimators.growing import Grower

        plain, rounds, folder = Grower._loss, self.rounds, self.folder

        def loss(self, booster, number):
            if number in rounds:
                try:
                    Path(folder, str(number)).touch(exist_ok=False)
                except FileExistsError:
                    pass
                else:
                    os.kill(os.getpid(), signal.SIGKILL)
            return plain(self, booster, number)

        Grower._loss = loss
