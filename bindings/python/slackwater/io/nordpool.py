"""Day-ahead prices in the forms that Nord Pool publishes."""

from slackwater import _engine
from slackwater._engine import InputError
from slackwater.io._prices import PriceImport, published
from slackwater.io._text import StrPath, read_text
from slackwater.io.prices_csv import read_prices_csv


def read_nordpool(
    path: StrPath,
    *,
    time_zone: str | None = None,
    currency: str | None = None,
    unit: str | None = None,
    area: str | None = None,
) -> PriceImport:
    """Read day-ahead prices from a table or from the JSON of the data portal.

    A table has the local start, mostly the local end, and a price per row. A
    day of the spring change has 23 hours, the repeated hour of autumn is two
    rows that look alike: both are resolved, see ``notes``. JSON has instants,
    a price per area, and its currency.

    Args:
        path: The file. JSON starts with a brace.
        time_zone: For a table: IANA name of the zone whose clocks it shows.
        currency: For a table: code of the currency, such as ``"SEK"``.
        unit: What the numbers count. Without it, a table's header must say,
            and JSON is per MWh.
        area: For JSON with several areas: the one to read, such as ``"SE3"``.

    Returns:
        Prices per kWh, gaps and notes.

    Raises:
        InputError: As in `read_prices_csv`; the area is missing or unclear;
            an entry lacks its times.

    Example:
        Three days in öre per kWh; the second has 23 hours:

        >>> from slackwater import io, samples
        >>> day = io.read_nordpool(
        ...     samples.NORDPOOL_SPRING, time_zone="Europe/Stockholm", currency="SEK"
        ... )
        >>> len(day.prices), day.gaps
        (71, ())
    """
    text = read_text(path)
    if text.lstrip().startswith("{"):
        return published(
            _engine.prices_from_nordpool(str(path), text, currency=currency, unit=unit, area=area)
        )
    if time_zone is None or currency is None:
        raise InputError(f"{path}: a table needs time_zone= and currency=")
    if area is not None:
        raise InputError(f"{path}: a table has no areas, so area={area!r} cannot be chosen")
    return read_prices_csv(path, time_zone=time_zone, currency=currency, unit=unit)
