"""What schemathesis cannot know: identifiers that exist, and what the street accepts.

Loaded by schemathesis, as ``SCHEMATHESIS_HOOKS``. Half of the generated path
parameters are replaced by those of the street, and half of some bodies by ones
that make sense in it: a schema does not say which currency a zone has. What
deletes gets only what may be spent, also in place of what schemathesis saw in
answers.
"""

import json
import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import schemathesis

LIVE: dict[str, list[str]] = json.loads(os.environ["SLACKWATER_LIVE_IDS"])
SPENT: dict[str, list[str]] = json.loads(os.environ["SLACKWATER_SPENT_IDS"])
CHOOSE = random.Random(7)

Parameters = dict[str, object]
Body = dict[str, object]

OLDEST = "2023-05-01"
"""The version whose paths do not name the user: a header does."""


def half() -> bool:
    """Whether a request gets what makes sense."""
    return CHOOSE.random() < 0.5


def price_signal() -> Body:
    """Prices of quarters of an hour from some hour on, in the currency of the zone."""
    start = datetime(2026, 1, 5, tzinfo=UTC) + timedelta(hours=CHOOSE.randrange(48))
    quarters = CHOOSE.randrange(1, 97)
    *steps, to = [(start + timedelta(minutes=15 * i)).isoformat() for i in range(quarters + 1)]
    values = [{"at": at, "price": round(CHOOSE.uniform(-0.5, 3.0), 4)} for at in steps]
    return {"currency": "NOK", "to": to, "values": values}


def link() -> Body:
    """A session for the chargers of one manufacturer, or for anything."""
    own = {"vendorType": "charger", "vendor": "VOLTBOX"} if half() else {}
    return {"scopes": ["charger:read:data"], **own}


def charger() -> Body:
    """A charger at its home, or nowhere."""
    return {"chargingLocationId": CHOOSE.choice([None, *LIVE["locationId"]])}


def power() -> Body:
    """A limit that a charger can keep."""
    return {"chargeRateLimit": CHOOSE.choice([4.0, 7.0, 11.0])}


BODIES: dict[str, Callable[[], Body]] = {
    "PUT /flex/price-signals/{zoneId}/areas/{areaId}": price_signal,
    "POST /users/{userId}/link": link,
    "PUT /chargers/{chargerId}": charger,
    "POST /chargers/{chargerId}/charge-rate-limit": power,
}


@schemathesis.hook  # type: ignore[untyped-decorator, unused-ignore]
def map_path_parameters(
    context: schemathesis.HookContext, parameters: Parameters | None
) -> Parameters | None:
    """Puts live identifiers into half of the paths."""
    if not parameters:
        return parameters
    operation = context.operation
    spent: dict[str, list[str]] = {}
    if operation is not None and operation.method.lower() == "delete":
        # Who leaves one manufacturer is still there to leave another.
        leaver = "changer" if "{vendor}" in operation.path else "userId"
        spent = {**SPENT, "userId": SPENT[leaver]}
    replaced = dict(parameters)
    for name, value in parameters.items():
        ids = spent.get(name, LIVE.get(name, []))
        is_taboo = name in spent and value in LIVE.get(name, [])
        if ids and (is_taboo or half()):
            replaced[name] = CHOOSE.choice(ids)
    return replaced


@schemathesis.hook  # type: ignore[untyped-decorator, unused-ignore]
def map_headers(context: schemathesis.HookContext, headers: Parameters | None) -> Parameters | None:
    """Names a user to half of the operations that only the oldest version has."""
    path = context.operation.path if context.operation is not None else ""
    if not path.startswith(("/me", "/statistics")) or not half():
        return headers
    users = SPENT["oldChanger"] if path.startswith("/me/vendors") else LIVE["userId"]
    own = {"Service-Version": OLDEST, "Service-User-Id": CHOOSE.choice(users)}
    return {**(headers or {}), **own}


@schemathesis.hook  # type: ignore[untyped-decorator, unused-ignore]
def map_body(context: schemathesis.HookContext, body: object) -> object:
    """Puts what makes sense in the street into half of some bodies."""
    fitting = BODIES.get(context.operation.label) if context.operation is not None else None
    return fitting() if fitting is not None and half() else body
