"""Job files: what a night does, in TOML.

::

    name = "nightly"
    at = "02:00"                           # UTC; what `olscale jobs units` prints
    max_age = "26h"                        # `jobs status` fails when the last good night is older
    max_hours = 6
    keep = { stores = 14, failed = 7 }     # nights whose stores stay; the history stays for ever

    [[ingest]]
    source = "claims.csv"                  # relative to this file, like every path here
    dest = "data/claims"
    options = { label = "fraud" }

    [[evaluate]]
    experiment = "experiment.toml"
    repeat = 3                             # speeds: the best of three passes
    where = { workers = 2 }

    [[bench]]
    names = ["linear", "local"]

    [alarm]
    speed = { change = 0.05, nights = 3 }

    [[notify]]
    on = ["failed", "alarm", "recovered", "late"]
    command = ["/usr/local/bin/tell-the-team"]
"""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from olscale.addresses import server_of
from olscale.bench import BENCHMARKS
from olscale.data.ingest.ingest import ingest
from olscale.errors import UnknownNameError
from olscale.evaluation.experiment import read_toml
from olscale.evaluation.explain import explain, refuse_flags
from olscale.system.paths import path_text
from olscale.system.sizes import parse_duration

Event = Literal["failed", "alarm", "recovered", "late"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class IngestStep(_Section):
    """Sources that are ingested again when they change.

    Attributes
    ----------
    source : str or tuple of str
        Files of the training split.
    dest : str
        Folder of the dataset, to which only the job writes.
    options : table
        Options of `olscale.ingest`.
    """

    source: str | tuple[str, ...]
    dest: str
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _local(self) -> IngestStep:
        if "://" in self.dest:
            raise ValueError(  # object stores rename nothing
                "expected a folder of this machine as dest: a dataset is replaced by a rename"
            )
        options = sorted(
            signature(ingest).parameters.keys()
            - {"sources", "dest", "progress", "note"}
        )
        for name in self.options:
            if name not in options:
                raise ValueError(
                    str(UnknownNameError("option of ingest", name, options))
                )
        for path in (*self.sources, self.dest):
            path_text(path, "a path of [[ingest]]")
        return self

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources as a tuple."""
        if isinstance(self.source, str):
            return (self.source,)
        return self.source

    @property
    def tests(self) -> tuple[str, ...]:
        """The sources of the test split, which are among the options."""
        test = self.options.get("test", ())
        if isinstance(test, str):
            return (test,)
        return tuple(test)


class WhereSpec(_Section):
    """Where an experiment runs, as the options of ``olscale evaluate`` say it.

    Attributes
    ----------
    workers : int, optional
        Number of local worker processes.
    scheduler : str, optional
        Address of a Dask scheduler.
    tls : str, optional
        Folder with the certificates for that scheduler.
    in_process : bool
        Whether to run without Dask.
    """

    workers: int | None = Field(default=None, ge=1)
    scheduler: str | None = None
    tls: str | None = None
    in_process: bool = False


class EvaluateStep(_Section):
    """An experiment that is evaluated into the store of the night.

    Attributes
    ----------
    experiment : str
        Its file.
    repeat : int
        Number of passes, each into a new store; the fastest counts for speeds.
    where : table
        Where it runs; by default on local workers.
    """

    experiment: str
    repeat: int = Field(default=1, ge=1)
    where: WhereSpec = WhereSpec()


def _known_benchmarks(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError("expected names of `olscale bench`")
    for name in names:
        if name not in BENCHMARKS:
            raise ValueError(str(UnknownNameError("benchmark", name, BENCHMARKS)))
    return names


class BenchStep(_Section):
    """Benchmarks of ``olscale bench``.

    Attributes
    ----------
    names : tuple of str
        Their names.
    rows : int, optional
        Number of rows, as ``olscale bench --rows``.
    """

    names: Annotated[tuple[str, ...], AfterValidator(_known_benchmarks)]
    rows: int | None = Field(default=None, ge=1000)


class SpeedRule(_Section):
    """A change of speed that counts.

    Attributes
    ----------
    change : float
        Least change, as a fraction.
    nights : int
        Number of nights for which it lasts.
    load : float
        Nights that begin at a higher load per core are shown, but do not count.
    """

    change: float = Field(default=0.05, gt=0, lt=1)
    nights: int = Field(default=3, ge=2)
    load: float = Field(default=0.5, gt=0)


class ErrorRule(_Section):
    """A change of the error of a dataset whose rows change.

    Attributes
    ----------
    change : float
        Least change, as a fraction of all rows.
    nights : int
        Number of nights for which it lasts.
    """

    change: float = Field(default=0.02, gt=0, lt=1)
    nights: int = Field(default=2, ge=2)


class AlarmRules(_Section):
    """What raises an alarm.

    Attributes
    ----------
    results : {"exact", "ignore"}
        Whether a run may have other bytes than on the first night that had it.
    since : str, optional
        A night: results and speeds of the nights before it are no longer what later ones are held
        against.
    speed : table
        Which changes of speed raise an alarm.
    error : table
        Which changes of the error raise an alarm.
    """

    results: Literal["exact", "ignore"] = "exact"
    since: str = ""
    speed: SpeedRule = SpeedRule()
    error: ErrorRule = ErrorRule()


class KeepRule(_Section):
    """How many nights keep their stores.

    Attributes
    ----------
    stores : int
        Number of the last nights that ended.
    failed : int
        Number of the last nights that failed.
    """

    stores: int = Field(default=14, ge=1)
    failed: int = Field(default=7, ge=0)


class MailSpec(_Section):
    """A message by e-mail. The job file, which others may read, holds no secret.

    Attributes
    ----------
    to : tuple of str
        Addresses of the recipients.
    from : str
        Address of the sender.
    host : str
        Name of the mail server.
    port : int
        Its port.
    starttls : bool
        Whether the connection is encrypted by STARTTLS.
    user : str, optional
        Name to log in with.
    password_in : str, optional
        Name of the environment variable that has the password.
    """

    to: tuple[str, ...] = Field(min_length=1)
    sender: str = Field(default="olscale@localhost", alias="from")
    host: str = "localhost"
    port: int = Field(default=25, ge=1, le=65535)
    starttls: bool = False
    user: str | None = None
    password_in: str | None = None


class NotifyRule(_Section):
    """Who is notified of what: by one of a command, a webhook and an e-mail.

    Attributes
    ----------
    on : tuple of str
        Which events are sent.
    command : tuple of str, optional
        Program and arguments; it gets JSON on standard input.
    webhook : str, optional
        Address to which the same JSON is posted.
    email : table, optional
        A message by e-mail.
    """

    on: tuple[Event, ...] = ("failed", "alarm", "recovered", "late")
    command: tuple[str, ...] | None = None
    webhook: str | None = None
    email: MailSpec | None = None

    @model_validator(mode="after")
    def _one_way(self) -> NotifyRule:
        if (
            sum(
                channel is not None
                for channel in (self.command, self.webhook, self.email)
            )
            != 1
        ):
            raise ValueError(
                "expected one of command, webhook and email in each [[notify]]"
            )
        if self.command == ():
            raise ValueError("expected a program and its arguments in command")
        if self.webhook is not None and not self.webhook.startswith(
            ("http://", "https://")
        ):
            raise ValueError(  # of the address only the server: its path is a secret
                f"webhook was {server_of(self.webhook)}, expected an address with http:// or "
                "https://"
            )
        return self


def _checked_age(text: str) -> str:
    parse_duration(text)
    return text


def _checked_name(text: str) -> str:
    if not re.fullmatch(r"[\w.-]+", text):
        raise ValueError(
            "expected letters, digits, points, dashes and underscores: folders and units are "
            "called so"
        )
    return text


def _checked_time(text: str) -> str:
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", text):
        raise ValueError('expected a time of day from "00:00" to "23:59", in UTC')
    return text


class JobFile(_Section):
    """What a night does, read from a file by `load_job`.

    Attributes
    ----------
    name : str
        Name of the job: letters, digits, points, dashes and underscores.
    home : str
        Folder of the nights; by default the name and ``-nights``.
    at : str
        Time of day in UTC at which the printed units call it.
    max_age : str
        Age of the last good night from which ``olscale jobs status`` fails.
    max_hours : float
        Longest duration of a night; a longer one stops and has failed.
    keep : table
        How many nights keep their stores.
    ingest : array of tables
        Sources that are ingested again when they change.
    evaluate : array of tables
        Experiments.
    bench : array of tables
        Benchmarks.
    alarm : table
        What raises an alarm.
    notify : array of tables
        Who is notified.
    """

    name: Annotated[str, AfterValidator(_checked_name)]
    home: str = ""
    at: Annotated[str, AfterValidator(_checked_time)] = "02:00"
    max_age: Annotated[str, AfterValidator(_checked_age)] = "26h"
    max_hours: float = Field(default=20.0, gt=0)
    keep: KeepRule = KeepRule()
    ingest: tuple[IngestStep, ...] = ()
    evaluate: tuple[EvaluateStep, ...] = ()
    bench: tuple[BenchStep, ...] = ()
    alarm: AlarmRules = AlarmRules()
    notify: tuple[NotifyRule, ...] = ()

    @model_validator(mode="after")
    def _does_something(self) -> JobFile:
        if not (self.ingest or self.evaluate or self.bench):
            raise ValueError(
                "expected at least one of [[ingest]], [[evaluate]] and [[bench]]: the night would "
                "do nothing"
            )
        return self


_SECTIONS: dict[str, type] = {
    "ingest": IngestStep,
    "evaluate": EvaluateStep,
    "where": WhereSpec,
    "bench": BenchStep,
    "alarm": AlarmRules,
    "speed": SpeedRule,
    "error": ErrorRule,
    "keep": KeepRule,
    "notify": NotifyRule,
    "email": MailSpec,
}


def load_job(path: str | Path) -> JobFile:
    """Read a job file; its paths are relative to it.

    Raises
    ------
    ExperimentError
        If the file is missing, is no TOML or has a value that does not fit.
    """
    path = Path(path_text(path, "job file"))
    # A job without a name is called after its file, and so is its home.
    content = read_toml(path)
    return parse_job(content, str(path), path.parent.resolve())


def parse_job(
    content: dict[str, Any], source: str = "job", folder: Path | None = None
) -> JobFile:
    """Check the content of a job file, called `source` in messages; paths are relative to `folder`.

    Examples
    --------
    >>> parse_job({"name": "nightly", "bensh": [{"names": ["linear"]}]})
    Traceback (most recent call last):
    ...
    olscale.errors.ExperimentError: job: unknown key 'bensh'; did you mean 'bench'? there are: ...
    """
    try:
        job = JobFile.model_validate(content)
    except ValidationError as error:
        raise explain(error, source, JobFile, _SECTIONS) from None
    # Pydantic takes true for the number 1. Options of an ingest are checked where they are used.
    numeric = {key: table for key, table in content.items() if key != "ingest"}
    refuse_flags(numeric, source, but=("in_process", "starttls"))
    base = folder or Path.cwd()
    ingests = tuple(_absolute_ingest(base, step) for step in job.ingest)
    evaluates = tuple(
        step.model_copy(update={"experiment": _absolute(base, step.experiment)})
        for step in job.evaluate
    )
    home = _absolute(base, job.home or f"{job.name}-nights")
    return job.model_copy(
        update={"ingest": ingests, "evaluate": evaluates, "home": home}
    )


def _absolute_ingest(folder: Path, step: IngestStep) -> IngestStep:
    options = dict(step.options)
    if step.tests:
        options["test"] = [_absolute(folder, source) for source in step.tests]
    sources = tuple(_absolute(folder, source) for source in step.sources)
    dest = _absolute(folder, step.dest)
    return step.model_copy(update={"source": sources, "dest": dest, "options": options})


def _absolute(folder: Path, path: str) -> str:
    """Return an absolute path; addresses and ``sklearn:NAME`` stay as they are."""
    if re.match(r"[a-z][a-z0-9+_-]*:", path, re.I) or Path(path).is_absolute():
        return path
    return str(folder / path)
