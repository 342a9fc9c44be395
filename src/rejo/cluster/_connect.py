"""A connection to a Dask cluster: opened, checked and closed."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any, NamedTuple

from rejo._errors import RejoError, optional
from rejo._io import one_line, without_password
from rejo.cluster._watch import bounded, hushed

TIMEOUT = 5.0  # seconds in which a scheduler must answer, and show workers
ANSWER = 60.0  # seconds in which one that is there must answer: its machine may be busy
IMPORTS = 60.0  # seconds in which workers must have imported rejo
# Sent as text to `eval`: a function of this module could not be read by workers without it.
VERSIONS = (
    "{'rejo': __import__('rejo').__version__,"
    " 'Python': '%d.%d' % __import__('sys').version_info[:2],"
    " 'scikit-learn': __import__('sklearn').__version__}"
)


class ClusterError(RejoError):
    """The cluster cannot do the work; the message says why, and what to do."""


class WorkerInfo(NamedTuple):
    """A worker of a cluster."""

    address: str
    threads: int
    memory_limit: int  # bytes; 0: none
    nanny: str | None  # address of the process that restarts it; None: nobody does
    folder: str  # another one after a restart, even at the same address


@contextmanager
def connect(client: Any, *, security: Any = None, timeout: float = TIMEOUT) -> Iterator[Any]:
    """Give a client of a Dask cluster whose workers run the same versions as this process.

    Dask's messages on stderr are held back inside the block.

    Parameters
    ----------
    client : distributed.Client, cluster or str
        A client, which stays open; a cluster, such as a ``LocalCluster``; or the address of a
        scheduler, such as "tcp://10.0.0.1:8786" or "tls://10.0.0.1:8786".
    security : distributed.Security or bool, default=None
        Certificates for a "tls://" address; by default those of Dask's configuration.
    timeout : float, default=5
        Seconds to wait for the scheduler, and for a first worker.

    Yields
    ------
    client : distributed.Client

    Raises
    ------
    ClusterError
        If nothing answers, there are no workers, or workers have other versions.
    """
    distributed = optional("distributed", "a cluster", "dask.distributed", "dask")
    with hushed():
        given = isinstance(client, distributed.Client)
        opened = client if given else _open(distributed, client, security, timeout)
        try:
            _check(opened, timeout)
            yield opened
        finally:
            if not given:
                with suppress(Exception):  # the scheduler may be gone
                    bounded(2 * TIMEOUT, opened.close)


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
        from rejo.cluster._joblib_backend import loops_on  # which imports Dask

        with loops_on(opened):
            yield opened


def workers(client: Any) -> list[WorkerInfo]:
    """List the workers that the scheduler of a client knows now, sorted by address."""
    return survey(client)[0]


def survey(client: Any) -> tuple[list[WorkerInfo], list[WorkerInfo]]:
    """List the workers, and those of them that begin nothing because their memory is nearly full.

    Dask pauses a worker that uses 80 % of its limit.  It ends what it has begun.  If its memory is
    not free then, it stays paused for ever.
    """
    check_scheduler(client)
    try:
        identity = client.scheduler.identity
        found = client.sync(identity, n_workers=-1, callback_timeout=ANSWER)["workers"]
    except Exception as error:
        raise scheduler_lost(client) from error
    there, stuck = [], []
    for address, worker in found.items():
        limit, nanny = worker["memory_limit"] or 0, worker["nanny"]
        one = WorkerInfo(address, worker["nthreads"], limit, nanny, worker["local_directory"])
        there.append(one)
        at_work = worker["metrics"].get("task_counts", {}).get("executing", 0)
        if worker["status"] == "paused" and not at_work:
            stuck.append(one)
    return sorted(there), stuck


def check_scheduler(client: Any) -> None:
    if client.status != "running":
        raise scheduler_lost(client)


def scheduler_lost(client: Any) -> ClusterError:
    return ClusterError(
        "the Dask scheduler went away",
        where=address_of(client),
        parameter="client",
        remedy="Start it again, and repeat the call.",
    )


def no_workers(client: Any, seconds: float) -> ClusterError:
    address = address_of(client)
    return ClusterError(
        f"the Dask scheduler has had no workers for {seconds:g} seconds",
        where=address,
        parameter="client",
        remedy=f"Start some: dask worker {address}",
    )


def address_of(client: Any) -> str:
    return str(client.scheduler.address) if client.scheduler is not None else "Dask"


def _open(distributed: Any, address: Any, security: Any, timeout: float) -> Any:
    if isinstance(address, str):
        place = without_password(address)
        _check_address(distributed, address, security, place)
    elif hasattr(address, "scheduler_address"):
        place = address.scheduler_address
    else:
        raise ClusterError(
            f"client={address!r} must be a distributed.Client or the address of a scheduler",
            parameter="client",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on versions, which _check compares
            # Dask's own time-out does not cover a listener that says nothing.
            return bounded(
                2 * timeout, distributed.Client, address,
                timeout=timeout, set_as_default=False, security=security, name="rejo",
            )  # fmt: skip
    except OSError as error:
        raise ClusterError(
            f"no Dask scheduler answers within {timeout:g} seconds",
            where=place,
            parameter="client",
            remedy="Start one with `dask scheduler`, or check the address.",
        ) from error


def _check_address(distributed: Any, address: str, security: Any, place: str) -> None:
    """Refuse an address before a client is made: Dask leaves a client that fails half open."""
    try:
        distributed.comm.get_address_host_port(address)
    except ValueError as error:
        raise ClusterError(
            f"this is not the address of a scheduler: {one_line(str(error))}",
            where=place,
            parameter="client",
            remedy="It is written like tcp://10.0.0.1:8786.",
        ) from None
    if address.startswith("tls:") and security is None:
        options = distributed.Security().get_connection_args("client")  # of Dask's configuration
        if options.get("ssl_context") is None:
            raise ClusterError(
                "a tls:// address needs certificates",
                where=place,
                parameter="client",
                remedy="Give security=, or set distributed.comm.tls in Dask's configuration.",
            )


def _check(client: Any, timeout: float) -> None:
    if client.asynchronous:
        raise ClusterError("client must not be asynchronous", parameter="client")
    end = monotonic() + timeout
    while not workers(client):
        if monotonic() > end:
            raise no_workers(client, timeout)
        sleep(0.1)
    here = eval(VERSIONS)
    for worker, there in sorted(_versions(client).items()):
        if isinstance(there, BaseException):
            problem = f"this worker cannot run rejo: {one_line(str(there))}"
            remedy = f"Install rejo {here['rejo']} where the workers run."
        elif other := [name for name in here if here[name] != there[name]]:
            name = other[0]
            problem = f"this worker runs {name} {there[name]}, and this process {here[name]}"
            remedy = "Install the same version on both."
        else:
            continue
        raise ClusterError(problem, where=worker, parameter="client", remedy=remedy)


def _versions(client: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    end = monotonic() + IMPORTS
    while not found and monotonic() < end:
        check_scheduler(client)
        answers = bounded(IMPORTS, client.run, eval, VERSIONS, on_error="return")
        found = {key: value for key, value in answers.items() if not isinstance(value, OSError)}
    return found
