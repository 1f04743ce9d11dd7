"""What holds in the database of a service, whoever wrote and whenever it was killed."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from kills_writers import FlexDay

ACTION_UPDATED = "user:vendor-action:updated"
FLEX_EVENTS = ["Flex Policy Updated", "Flex Policy Status"]


def opened(file: Path) -> sqlite3.Connection:
    """The database as it is now, for one look that nothing changes meanwhile."""
    store = sqlite3.connect(f"file:{file}?mode=ro", uri=True, isolation_level=None)
    store.execute("begin")
    return store


class Events:
    """All events up to a place, read once each."""

    def __init__(self) -> None:
        self.last = 0
        self.ids: set[str] = set()
        self.of_action: dict[str, list[str]] = defaultdict(list)
        self.of_policy: dict[str, list[str]] = defaultdict(list)

    def read(self, store: sqlite3.Connection) -> Iterator[str]:
        """Takes in what is new: numbered without a gap, and none twice."""
        query = "select seq, id, name, target_id, body from events where seq > ? order by seq"
        for seq, event_id, name, target_id, body in store.execute(query, (self.last,)):
            if seq != self.last + 1:
                yield f"event {seq} comes after {self.last}"
            if event_id in self.ids:
                yield f"event {event_id} is there twice"
            self.last = seq
            self.ids.add(event_id)
            if name == ACTION_UPDATED:
                action = json.loads(body)
                self.of_action[action["id"]].append(action["state"])
            elif name in FLEX_EVENTS:
                self.of_policy[target_id].append(name)
        (count, most) = store.execute(
            "select count(*), coalesce(max(seq), 0) from events"
        ).fetchone()
        (counted,) = store.execute("select value from counters where name = 'events'").fetchone()
        if not count == most == counted == self.last:
            yield f"{count} events up to {most}, counted {counted}, seen {self.last}"


def flaws(store: sqlite3.Connection, events: Events, days: Iterable[FlexDay]) -> Iterator[str]:
    """What is half made, lost or twice."""
    for (line,) in store.execute("pragma integrity_check"):
        if line != "ok":
            yield f"the file: {line}"
    for row in store.execute("pragma foreign_key_check"):
        yield f"a row without its parent: {row}"
    yield from events.read(store)
    yield from actions(store, events)
    yield from policies(store, events, days)
    orphans = """
        select 'override without its action', id from overrides
            where has_start_action = 1 and action_id not in (select id from actions)
        union all select 'plan without its prices', device_id from plans
            where sheet_id is not null and sheet_id not in (select id from price_sheets)
        union all select 'series without steps', id from price_series
            where id not in (select series_id from price_steps)"""
    for what, row_id in store.execute(orphans):
        yield f"{what}: {row_id}"


def actions(store: sqlite3.Connection, events: Events) -> Iterator[str]:
    """Each action has the events of its states, once each, and no event is of none."""
    kept = dict(store.execute("select id, state from actions"))
    for action_id, state in kept.items():
        expected = ["PENDING"] if state == "pending" else ["PENDING", state.upper()]
        if events.of_action.get(action_id) != expected:
            yield f"action {action_id} is {state}, its events {events.of_action.get(action_id)}"
    yield from (f"events of {one}, which is not kept" for one in events.of_action.keys() - kept)


def policies(store: sqlite3.Connection, events: Events, days: Iterable[FlexDay]) -> Iterator[str]:
    """Each change of a flex policy has both of its events, the update first."""
    del store
    changes: Counter[str] = Counter()
    for day in days:
        changes[day.policy_id] += day.applied
    for policy_id, count in changes.items():
        if events.of_policy[policy_id] != FLEX_EVENTS * count:
            counted = Counter(events.of_policy[policy_id])
            yield f"flex policy {policy_id}: {count} changes, events {counted}"
