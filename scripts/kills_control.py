"""Clients that tell devices what to do, and remember what they were answered."""

import json
import random
import sqlite3
from collections.abc import Iterator
from typing import Any

from kills_writers import BEGIN, Doors, Writer, clock, must
from sandboxes import uuid_of

# Actions that are asked for again after a restart, and schedules at a time.
RECENT = 8


def state_of(store: sqlite3.Connection, action_id: str) -> tuple[str, str | None] | None:
    """State and failure of an action."""
    query = "select state, failure from actions where id = ?"
    row: tuple[str, str | None] | None = store.execute(query, (action_id,)).fetchone()
    return row


def begin_action(doors: Doors, charger_id: str, rng: random.Random) -> str | None:
    """Sets another current; `None` where the charger is known to have it already."""
    limit = {"maxCurrent": rng.randint(6, 16)}
    status, body = doors.base.ask("POST", f"/chargers/{charger_id}/max-current", limit)
    if status == 400 and body["detail"] == "the device is in the desired state already":
        return None
    action_id: str = must((status, body))["id"]
    return action_id


class Commands(Writer):
    """Actions of a charger, of which each ends the one before."""

    def __init__(self, charger: str, number: int) -> None:
        self.name = f"actions {number} of {charger}"
        self.charger_id = uuid_of(charger)
        self.promised: list[str] = []

    def write(self, doors: Doors, rng: random.Random) -> None:
        """Sets another current."""
        action_id = begin_action(doors, self.charger_id, rng)
        if action_id is not None:
            self.promised.append(action_id)

    def check(self, doors: Doors, store: sqlite3.Connection) -> Iterator[str]:
        """Whether each is there."""
        yield from (
            f"{self.name}: {action_id} is lost"
            for action_id in self.promised
            if state_of(store, action_id) is None
        )
        for action_id in self.promised[-RECENT:]:
            status, body = doors.base.ask("GET", f"/chargers/actions/{action_id}")
            if status != 200 or body["id"] != action_id:
                yield f"{self.name}: {action_id} is not shown: {status} {body}"


class Cancels(Writer):
    """Actions that are called off at once."""

    def __init__(self, charger: str) -> None:
        self.name = f"cancels of {charger}"
        self.charger_id = uuid_of(charger)
        self.promised: list[str] = []

    def write(self, doors: Doors, rng: random.Random) -> None:
        """Begins an action and calls it off. It may have ended before."""
        action_id = begin_action(doors, self.charger_id, rng)
        if action_id is None:
            return
        status, body = doors.base.ask("POST", f"/chargers/actions/{action_id}/cancel")
        must((status, body), 200, 409)
        if status == 200:
            self.promised.append(body["id"])

    def check(self, doors: Doors, store: sqlite3.Connection) -> Iterator[str]:
        """Whether each stayed called off."""
        del doors
        for action_id in self.promised:
            state, failure = state_of(store, action_id) or ("lost", None)
            if state != "cancelled" or "requested_cancellation" not in (failure or ""):
                yield f"{self.name}: {action_id} is {state}, {failure}"


class Overrides(Writer):
    """Charge now, and no longer."""

    def __init__(self, charger: str) -> None:
        self.name = f"override of {charger}"
        self.charger_id = uuid_of(charger)
        # Whether there is none, as far as was answered.
        self.is_ended = False
        self.is_tried = False
        self.made: dict[str, int] = {}

    def write(self, doors: Doors, rng: random.Random) -> None:
        """Begins or ends one."""
        is_end = rng.random() < 0.5
        self.is_tried = True
        path = f"/chargers/{self.charger_id}/smart-override"
        status, body = doors.base.ask("DELETE" if is_end else "POST", path)
        must((status, body), 200, *([404] if is_end else []))
        if not is_end:
            self.made[body["createdAt"]] = 1
        self.is_ended, self.is_tried = is_end, False

    def check(self, doors: Doors, store: sqlite3.Connection) -> Iterator[str]:
        """Whether one that was ended stayed so, and each that was made is there."""
        del doors
        rows = store.execute(
            "select created_at, ended_at from overrides where target_id = ?", (self.charger_id,)
        ).fetchall()
        # Nobody else makes any; that they end by themselves is their nature.
        if self.is_ended and not self.is_tried and any(ended is None for _, ended in rows):
            yield f"{self.name}: is active, and was ended"
        kept = {created for created, _ in rows}
        for at in self.made:
            micros = round(BEGIN.fromisoformat(at).timestamp() * 1e6)
            if micros not in kept:
                yield f"{self.name}: made at {at}, and lost"
        self.is_tried = False


class Schedules(Writer):
    """Schedules of a charger: made, changed, deleted."""

    def __init__(self, user: str, charger: str) -> None:
        self.name = f"schedules of {charger}"
        self.user, self.charger_id = user, uuid_of(charger)
        self.count = 0
        self.promised: dict[str, dict[str, Any]] = {}
        # What is under way: the schedule, if it has a name, and what becomes of it.
        self.tried: tuple[str | None, dict[str, Any] | None] | None = None

    def body(self) -> dict[str, Any]:
        """Rules that say the same number three times."""
        self.count += 1
        window = {"from": clock(self.count), "to": clock(self.count + 60)}
        rules = [{"shouldCharge": True, "hourMinute": window, "weekdays": [day]} for day in (0, 2)]
        return {
            "isEnabled": True,
            "defaultShouldCharge": self.count % 2 == 0,
            "rules": [*rules, {"shouldCharge": False, "hourMinute": window}],
            "targetId": self.charger_id,
            "targetType": "charger",
            "locationId": None,
        }

    def write(self, doors: Doors, rng: random.Random) -> None:
        """Makes, changes or deletes one."""
        body = self.body()
        full = len(self.promised) >= RECENT
        what = rng.choice(["PUT", "DELETE"] if full else ["POST", "POST", "PUT"])
        if what == "POST" or not self.promised:
            self.tried = (None, body)
            made = must(doors.base.ask("POST", f"/users/{self.user}/schedules", body), 200, 201)
            self.promised[made["id"]] = body
        else:
            schedule_id = rng.choice(sorted(self.promised))
            is_put = what == "PUT"
            self.tried = (schedule_id, body if is_put else None)
            answer = doors.base.ask(what, f"/schedules/{schedule_id}", body if is_put else None)
            must(answer)
            self.promised.pop(schedule_id)
            if is_put:
                self.promised[schedule_id] = body
        self.tried = None

    def check(self, doors: Doors, store: sqlite3.Connection) -> Iterator[str]:
        """Whether exactly those are there, each as it was last answered."""
        query = """select id, is_enabled, default_should_charge, rules, target_id
                   from schedules where target_id = ?"""
        kept = {row[0]: row[1:] for row in store.execute(query, (self.charger_id,))}
        tried_id, tried = self.tried or (None, None)
        if self.tried is not None and tried_id is None and tried is not None:
            # The answer with its name was lost: it is there whole, or not at all.
            made = [key for key in kept if key not in self.promised]
            self.promised.update(dict.fromkeys(made[:1], tried))
        if tried_id is not None and tried is not None and kept.get(tried_id) == row_of(tried):
            self.promised[tried_id] = tried
        if tried_id is not None and tried is None and tried_id not in kept:
            self.promised.pop(tried_id)
        promised = {key: row_of(body) for key, body in self.promised.items()}
        if promised != kept:
            yield f"{self.name}: kept is {kept}, promised {promised}, tried {self.tried}"
        for schedule_id, body in self.promised.items():
            status, shown = doors.base.ask("GET", f"/schedules/{schedule_id}")
            if status != 200 or any(shown[name] != body[name] for name in body):
                yield f"{self.name}: {schedule_id} is shown as {status} {shown}"
        self.tried = None


def row_of(body: dict[str, Any]) -> tuple[object, ...]:
    """A schedule as it is kept."""
    drafts = [
        {
            "should_charge": rule["shouldCharge"],
            "hour_minute": [rule["hourMinute"]["from"], rule["hourMinute"]["to"]],
            "from_timestamp": None,
            "to_timestamp": None,
            "weekdays": rule.get("weekdays"),
        }
        for rule in body["rules"]
    ]
    flags = (int(body["isEnabled"]), int(body["defaultShouldCharge"]))
    return (*flags, json.dumps(drafts, separators=(",", ":")), body["targetId"])
