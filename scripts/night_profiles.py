"""Charging profiles as a charger keeps them, and the limit that follows from them at an instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sandboxes import Json

OWN, DEFAULT, WHOLE = "TxProfile", "TxDefaultProfile", "ChargePointMaxProfile"


@dataclass(frozen=True)
class Outlet:
    """What a charger can give.

    Attributes:
        phases: Number of phases.
        volts: From phase to neutral.
        amps: Highest current of each phase.
    """

    phases: int
    volts: float
    amps: float


@dataclass
class Profiles:
    """Profiles of one connector, with the fields of OCPP in snake case."""

    outlet: Outlet
    kept: list[Json] = field(default_factory=list)

    def put(self, profile: Json) -> None:
        """Keep a profile, in place of one with its identifier, or its purpose and level."""
        self.kept = [one for one in self.kept if not replaces(profile, one)]
        self.kept.append(profile)

    def clear(self, keeps: Json) -> bool:
        """Forget the profiles that a function does not keep; tell whether there was one."""
        before = len(self.kept)
        self.kept = [one for one in self.kept if keeps(one)]
        return len(self.kept) < before

    def end_session(self) -> None:
        """Forget the profiles of a transaction that has ended."""
        self.clear(lambda one: one["charging_profile_purpose"] != OWN)

    def limit_amps(self, at: datetime, begun: datetime | None) -> float:
        """Return the limit at an instant; `begun` is when the transaction began.

        The profile with the highest level of a purpose counts, a profile of the transaction
        before a default, and those of the whole charger beside it (OCPP 1.6, section 3.13).
        """
        own = self._limit(OWN, at, begun) if begun else None
        if own is None:
            own = self._limit(DEFAULT, at, begun)
        whole = self._limit(WHOLE, at, begun)
        return min(amps for amps in (own, whole, self.outlet.amps) if amps is not None)

    def steps(self, at: datetime, seconds: int, begun: datetime | None) -> list[Json]:
        """Return the limit over time, as periods of a composite schedule."""
        until = at + timedelta(seconds=seconds)
        ends = [instant(one["valid_to"]) for one in self.kept if "valid_to" in one]
        times = sorted({at, *(end for end in ends if at < end < until)})
        return [
            {
                "start_period": int((time - at).total_seconds()),
                "limit": round(self.limit_amps(time, begun), 1),
            }
            for time in times
        ]

    def _limit(self, purpose: str, at: datetime, begun: datetime | None) -> float | None:
        own = [one for one in self.kept if one["charging_profile_purpose"] == purpose]
        for profile in sorted(own, key=lambda one: one["stack_level"], reverse=True):
            amps = self._amps(profile, at, begun)
            if amps is not None:
                return amps
        return None

    def _amps(self, profile: Json, at: datetime, begun: datetime | None) -> float | None:
        """Return the limit of a profile in A on each phase; `None` while it says nothing."""
        if "valid_from" in profile and at < instant(profile["valid_from"]):
            return None
        if "valid_to" in profile and at >= instant(profile["valid_to"]):
            return None
        schedule = profile["charging_schedule"]
        schedule = schedule[0] if isinstance(schedule, list) else schedule
        is_relative = profile["charging_profile_kind"] == "Relative"
        start = begun or at
        if not is_relative and "start_schedule" in schedule:
            start = instant(schedule["start_schedule"])
        elapsed = (at - start).total_seconds()
        if elapsed < 0 or elapsed >= schedule.get("duration", float("inf")):
            return None
        periods = schedule["charging_schedule_period"]
        limit = [one for one in periods if one["start_period"] <= elapsed][-1]["limit"]
        if schedule["charging_rate_unit"] == "A":
            return float(limit)
        return float(limit) / (self.outlet.phases * self.outlet.volts)


def replaces(new: Json, old: Json) -> bool:
    """Tell whether a profile takes the place of another."""
    same = ("charging_profile_purpose", "stack_level")
    identifier = "charging_profile_id" if "charging_profile_id" in new else "id"
    return new[identifier] == old.get(identifier) or all(new[one] == old[one] for one in same)


def instant(text: str) -> datetime:
    """Return a time as the protocol writes it."""
    return datetime.fromisoformat(text)
