"""joblib's loops on a Dask cluster.

joblib has a Dask backend of its own, which waits for ever if workers die on a task or the scheduler
goes away.  This one hands out its tasks as :func:`~rejo.cluster.hand_out` does.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pickle import Unpickler
from threading import RLock, Thread
from traceback import format_tb
from typing import Any, NamedTuple

from joblib import parallel_config
from joblib.parallel import ParallelBackendBase, SequentialBackend

from rejo.cluster._connect import connect
from rejo.cluster._hand_out import Tasks

LARGE = 1_000_000  # bytes from which data are sent to each worker once, not with each task
SENT_ONCE = ("numpy", "pandas", "scipy")  # packages whose objects tell their size


@contextmanager
def placed(client: Any, *, security: Any = None) -> Iterator[Any]:
    """Run joblib's loops on a cluster: cross-validation, comparison, grid search.

    Inside the block, estimators and functions with ``n_jobs`` use all threads of the workers,
    whatever its value, unless it is 1.  Results are the same as without a cluster.

    Parameters
    ----------
    client : distributed.Client, cluster, str or None
        See :func:`connect`; with ``None`` the loops run here, as usual.
    security : distributed.Security or bool, default=None
        See :func:`connect`.

    Yields
    ------
    client : distributed.Client or None
        The connection; None if the loops run here.

    Examples
    --------
    The same code runs here and on a cluster:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from rejo import RejectClassifierCV, ThresholdRejectClassifier
    >>> from rejo.datasets import make_synthetic_2
    >>> from rejo.cluster import placed
    >>> X, y = make_synthetic_2(200, random_state=0)
    >>> base = ThresholdRejectClassifier(LogisticRegression())
    >>> with placed(None):  # or the address of a scheduler, "tcp://10.0.0.1:8786"
    ...     model = RejectClassifierCV(base, review_budget=0.2).fit(X, y)
    >>> model.expected_.rejection_rate.estimate
    0.2
    """
    if client is None:
        yield None
        return
    with connect(client, security=security) as opened:
        backend = _Backend(opened)
        try:
            with parallel_config(backend=backend):
                yield opened
        finally:
            backend.abort_everything()


class _Call(NamedTuple):
    function: Callable[[], Any]
    callback: Callable[[Any], None]


class _Backend(ParallelBackendBase):
    supports_retrieve_callback = True
    default_n_jobs = -1

    def __init__(self, client: Any) -> None:
        super().__init__(nesting_level=0)
        self._client = client
        self._tasks: Tasks[_Call, Any] = Tasks(client, _run, lambda call: "a task", self._pack)
        self._sent: dict[int, tuple[Any, Any]] = {}  # id -> the object, and where it is
        self._lock = RLock()
        self._collector: Thread | None = None

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        # With one job, joblib would work here.
        return 1 if n_jobs == 1 else max(2, self._tasks.threads)

    def submit(self, func: Any, callback: Any = None) -> None:
        with self._lock:
            self._tasks.submit(_Call(func, callback))
            if self._collector is None:
                self._collector = Thread(target=self._collect, name="rejo-joblib", daemon=True)
                self._collector.start()

    apply_async = submit  # its name before joblib 1.5

    def retrieve_result_callback(self, out: tuple[Any, Exception | None]) -> Any:
        value, error = out
        if error is not None:
            raise error
        return value

    def get_nested_backend(self) -> tuple[Any, None]:
        return SequentialBackend(nesting_level=1), None

    def stop_call(self) -> None:
        if not len(self._tasks):
            self._sent.clear()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        self._tasks.cancel()
        self._sent.clear()

    def _collect(self) -> None:
        """Tell joblib of each task that ends, also of those that never will."""
        while True:
            try:
                ended = self._tasks.next()
            except Exception as error:  # the cluster has gone
                for call in self._tasks.cancel():
                    call.callback((None, error))
                ended = None
            if ended is not None:
                call, value, raised = ended
                if raised is not None and raised.__traceback__ is not None:
                    raised.add_note("On the worker:\n" + "".join(format_tb(raised.__traceback__)))
                call.callback((value, raised))
                continue
            with self._lock:
                if not len(self._tasks):
                    self._collector = None
                    return

    def _pack(self, call: _Call) -> tuple[bytes, list[Any]]:
        """Pickle a function without its large arrays and frames, which are sent once."""
        from cloudpickle import CloudPickler  # type: ignore[import-untyped]
        from dask.sizeof import sizeof

        parts: list[Any] = []

        class Packer(CloudPickler):
            def persistent_id(packer, obj: Any) -> int | None:
                package = type(obj).__module__.partition(".")[0]
                if package not in SENT_ONCE or sizeof(obj) < LARGE:
                    return None
                parts.append(self._send(obj))
                return len(parts) - 1

        file = BytesIO()
        Packer(file).dump(call.function)
        return file.getvalue(), parts

    def _send(self, obj: Any) -> Any:
        """Send an object once; workers pass it on.

        It is the result of a task, not scattered: if its worker dies, Dask makes it again.
        """
        if id(obj) not in self._sent:
            future = self._client.submit(_same, obj, pure=False)
            self._sent[id(obj)] = obj, future  # the object, so that its id stays its own
        return self._sent[id(obj)][1]


def _same(obj: Any) -> Any:
    return obj


def _run(packed: tuple[bytes, list[Any]]) -> Any:
    payload, parts = packed

    class Unpacker(Unpickler):
        def persistent_load(self, place: int) -> Any:
            return parts[place]

    return Unpacker(BytesIO(payload)).load()()
