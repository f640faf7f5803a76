"""Messages: one for each change of a job's state, by a command, a webhook or e-mail.

Channels that do not answer cost ten seconds at most, all together, and never fail a night.
"""

from __future__ import annotations

import json
import os
import signal
import smtplib
import subprocess
import threading
from collections.abc import Sequence
from email.message import EmailMessage
from http.client import InvalidURL
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Any
from urllib.request import Request, urlopen

from olscale.addresses import server_of
from olscale.errors import ExecutionError, one_line
from olscale.jobs.home import JobHome, read_json, write_json
from olscale.jobs.job_file import Event, JobFile, MailSpec, NotifyRule
from olscale.system.interrupts import text_of

_SECONDS = 10.0
_MOST_LINES = 20
_WORDS = 300


def tell_state(
    job: JobFile,
    home: JobHome,
    night: str,
    state: str,
    keys: Sequence[str],
    lines: Sequence[str],
    seconds: float = _SECONDS,
) -> str:
    """Report a night that changed the state of the job or has an alarm that was not yet reported.

    Parameters
    ----------
    job : JobFile
    home : JobHome
    night, state : str
        The state is ``"good"``, ``"failed"`` or ``"alarm"``.
    keys : sequence of str
        Keys of the night's alarms.
    lines : sequence of str
        What failed or changed.
    seconds : float
        For all messages together.

    Returns
    -------
    str
        The event that was reported; empty if there was none.
    """
    last_message = read_json(home.path / "told.json")
    before = str(last_message.get("state", "good"))
    # which `tell_late` has reported since: a good night recovers
    if last_message.get("late"):
        before = "late"
    event = _event(before, state, set(keys) - set(last_message.get("keys", ())))
    faults = list(last_message.get("faults", ()))
    if event:
        faults = _send(
            job, event, _message(job, home, event, night, before, lines), seconds
        )
    write_json(
        home.path / "told.json",
        {
            "night": night,
            "state": state,
            "keys": sorted(keys),
            "faults": faults,
            "late": False,
        },
    )
    return event or ""


def tell_late(
    job: JobFile, home: JobHome, line: str, seconds: float = _SECONDS
) -> bool:
    """Report, once, that no night has ended well for too long; return whether it was now."""
    last_message = read_json(home.path / "told.json")
    if last_message.get("late") or not any("late" in rule.on for rule in job.notify):
        return False
    message = _message(
        job,
        home,
        "late",
        str(last_message.get("night", "")),
        str(last_message.get("state", "good")),
        [line],
    )
    write_json(
        home.path / "told.json",
        last_message | {"late": True, "faults": _send(job, "late", message, seconds)},
    )
    return True


def _event(before: str, state: str, new: set[str]) -> Event | None:
    if state == "good":
        if before != "good":
            return "recovered"
        return None
    if state == "alarm":
        if new or before != "alarm":
            return "alarm"
        return None
    if before != "failed" or new:
        return "failed"
    return None


def _message(
    job: JobFile,
    home: JobHome,
    event: str,
    night: str,
    before: str,
    lines: Sequence[str],
) -> dict[str, Any]:
    # leaves room for a title, the line on the others, and the page
    most = _MOST_LINES - 3
    shown = list(lines[:most])
    if len(lines) > most:
        shown.append(f"and {len(lines) - most} more")
    page = str(home.path / "page" / "index.html")
    text = "\n".join(
        [
            f"{job.name}: {event}, night {night or '-'} (before: {before})",
            *map(one_line, shown),
            page,
        ]
    )
    return {
        "job": job.name,
        "event": event,
        "night": night,
        "before": before,
        "lines": list(lines),
        "page": page,
        "text": text,
    }


def _send(
    job: JobFile, event: Event, message: dict[str, Any], seconds: float
) -> list[str]:
    """Send a message on all channels that ask for the event, at once; return what went wrong."""
    rules = [rule for rule in job.notify if event in rule.on]
    faults: list[str | None] = [
        f"{_way(rule)} did not answer within {seconds:g} s" for rule in rules
    ]

    def send(number: int, rule: NotifyRule) -> None:
        try:
            _send_one(rule, message, seconds)
            faults[number] = None
        except Exception as fault:  # networks, programs and servers raise anything
            faults[number] = f"{_way(rule)}: {text_of(fault)}"

    threads = [
        threading.Thread(target=send, args=numbered_rule, daemon=True)
        for numbered_rule in enumerate(rules)
    ]
    for thread in threads:
        thread.start()
    # Threads, since neither DNS nor a slow server heeds the time-outs of urllib and smtplib; they
    # are daemons, so one that hangs does not keep the process alive.
    end = monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - monotonic()))
    return [fault for fault in faults if fault is not None]


def _way(rule: NotifyRule) -> str:
    if rule.command is not None:
        return f"command {rule.command[0]}"
    if rule.webhook is not None:
        return f"webhook {server_of(rule.webhook)}"
    return "email"


def _send_one(rule: NotifyRule, message: dict[str, Any], seconds: float) -> None:
    data = json.dumps(message).encode()
    if rule.command is not None:
        _run(rule.command, data, 0.9 * seconds)
    elif rule.webhook is not None:
        _post(rule.webhook, data, 0.9 * seconds)
    elif rule.email is not None:
        _mail(rule.email, message, seconds)


def _post(address: str, data: bytes, seconds: float) -> None:
    """Send `data` to an address."""
    request = Request(
        address, data, {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urlopen(request, timeout=seconds) as answer:
            answer.read(1)
    except InvalidURL:
        # Its words are a part of the address, without what it would be redacted by.
        raise ValueError(
            "its address has a port that is no number, or a user and a password; "
            "expected http://HOST:PORT/PATH or https://HOST/PATH, with a token in PATH"
        ) from None


def _run(command: Sequence[str], data: bytes, seconds: float) -> None:
    """Run a command on `data`; of its output only the last words of a failure are kept."""
    words = bytearray()

    def keep_last_words(pipe: IO[bytes]) -> None:
        while block := os.read(pipe.fileno(), 1 << 16):
            words.extend(block)
            del words[:-_WORDS]

    # By a file: writing to the pipe of a command that does not read it would block.
    with TemporaryFile() as message:
        message.write(data)
        message.seek(0)
        process = subprocess.Popen(
            command,
            stdin=message,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # a group of its own, which can be killed as a whole
            start_new_session=True,
        )
    reader = threading.Thread(
        target=keep_last_words, args=(process.stderr,), daemon=True
    )
    reader.start()
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with what it has started
        process.wait()
        raise
    reader.join(0.5)  # what it has started may hold the pipe and live on
    if code:
        raise ExecutionError(
            f"exit code {code}: "
            f"{one_line(words.decode(errors='replace')) or 'no word on standard error'}"
        )


def _mail(mail: MailSpec, message: dict[str, Any], seconds: float) -> None:
    letter = EmailMessage()
    letter["Subject"] = f"olscale {message['job']}: {message['event']}"
    letter["From"] = mail.sender
    letter["To"] = ", ".join(mail.to)
    letter.set_content(message["text"])
    with smtplib.SMTP(mail.host, mail.port, timeout=0.9 * seconds) as server:
        if mail.starttls:
            server.starttls()
        if mail.user is not None:
            server.login(mail.user, os.environ.get(mail.password_in or "", ""))
        server.send_message(letter)
