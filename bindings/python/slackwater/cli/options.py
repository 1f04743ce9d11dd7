"""The options that commands share or that need many words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from slackwater._engine import InputError
from slackwater.cli.files import ENDINGS, OutputFormat
from slackwater.cli.prices import PriceFormat

PRICES, NEED, OUTPUT = "Prices", "What is wanted", "Output"

PICTURES = (".png", ".svg", ".pdf")

PricesFile = Annotated[
    Path, typer.Option("--prices", help="File with prices.", metavar="FILE", rich_help_panel=PRICES)
]
PricesFiles = Annotated[
    list[str],
    typer.Option(
        "--prices",
        help="File with prices; ID=FILE, repeated, where vehicles name a price_id.",
        metavar="FILE",
        rich_help_panel=PRICES,
    ),
]
PricesForm = Annotated[
    PriceFormat,
    typer.Option(
        "--prices-format", help="Format of the prices; auto detects it.", rich_help_panel=PRICES
    ),
]
TimeZone = Annotated[
    str | None,
    typer.Option(
        "--time-zone",
        help="IANA name of the zone of local prices, of times like 07:00, and of the output.",
        metavar="ZONE",
        rich_help_panel=PRICES,
    ),
]
Currency = Annotated[
    str | None,
    typer.Option(
        "--currency",
        metavar="CODE",
        help="Currency, if the file has none.",
        rich_help_panel=PRICES,
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="UNIT",
        help="Unit of the prices, such as EUR/MWh.",
        rich_help_panel=PRICES,
    ),
]
Area = Annotated[
    str | None,
    typer.Option(
        "--area",
        metavar="NAME",
        help="Price area, if the file has several.",
        rich_help_panel=PRICES,
    ),
]

CarbonFile = Annotated[
    Path | None,
    typer.Option(
        "--carbon",
        metavar="FILE",
        help="Carbon intensity over time, whose price is part of the cost: .csv, .json or .parquet "
        "with start, end and one column of numbers.",
        rich_help_panel=PRICES,
    ),
]
CarbonUnit = Annotated[
    str | None,
    typer.Option(
        "--carbon-unit",
        metavar="UNIT",
        help="Unit of the intensity, such as gCO2eq/kWh.",
        rich_help_panel=PRICES,
    ),
]
CarbonPrice = Annotated[
    float | None,
    typer.Option(
        "--carbon-price-per-kg",
        metavar="MONEY",
        help="Price of a kg of CO2, in the currency of the prices.",
        rich_help_panel=PRICES,
    ),
]

Now = Annotated[
    str,
    typer.Option(
        "--now",
        help="Plug-in time with its offset, such as 2026-01-05T18:00+01:00.",
        metavar="TIME",
        rich_help_panel=NEED,
    ),
]
PowerKw = Annotated[
    float, typer.Option("--power-max-kw", metavar="KW", help="Highest power.", rich_help_panel=NEED)
]
EnergyKwh = Annotated[
    float | None,
    typer.Option(
        "--energy-kwh", metavar="KWH", help="Energy wanted at the plug.", rich_help_panel=NEED
    ),
]
SocPercent = Annotated[
    float | None,
    typer.Option(
        "--soc-percent",
        metavar="PERCENT",
        help="State of charge now, in percent.",
        rich_help_panel=NEED,
    ),
]
CapacityKwh = Annotated[
    float | None,
    typer.Option("--capacity-kwh", metavar="KWH", help="Usable capacity.", rich_help_panel=NEED),
]
TargetPercent = Annotated[
    float | None,
    typer.Option(
        "--target-percent",
        metavar="PERCENT",
        help="State of charge wanted, in percent; without it, the charge limit.",
        rich_help_panel=NEED,
    ),
]
ChargeLimit = Annotated[
    float | None,
    typer.Option(
        "--charge-limit-percent",
        metavar="PERCENT",
        help="State of charge at which the vehicle stops itself, in percent.",
        rich_help_panel=NEED,
    ),
]
Efficiency = Annotated[
    float | None,
    typer.Option(
        "--efficiency",
        metavar="SHARE",
        help="Stored energy per energy at the plug, up to 1.",
        rich_help_panel=NEED,
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="Deadline: a time with its offset, or 07:00 for the next one in the time zone; "
        "without it, the end of the prices.",
        metavar="TIME",
        rich_help_panel=NEED,
    ),
]
TargetAt = Annotated[
    list[str] | None,
    typer.Option(
        "--target-at",
        help="A further target, in kWh or percent as the first: 06:00=20. Repeatable.",
        metavar="TIME=LEVEL",
        rich_help_panel=NEED,
    ),
]
ReserveKwh = Annotated[
    float | None,
    typer.Option(
        "--reserve-kwh", metavar="KWH", help="Energy charged at once.", rich_help_panel=NEED
    ),
]
EnergyMaxKwh = Annotated[
    float | None,
    typer.Option(
        "--energy-max-kwh",
        metavar="KWH",
        help="Most energy that the battery takes: up to it negative prices are used.",
        rich_help_panel=NEED,
    ),
]
FillWhenNegative = Annotated[
    bool,
    typer.Option(
        "--fill-when-negative/--no-fill-when-negative",
        help="Whether negative prices may fill the battery up to its charge limit, "
        "where needs are in percent.",
        rich_help_panel=NEED,
    ),
]
ReservePercent = Annotated[
    float | None,
    typer.Option(
        "--reserve-percent",
        metavar="PERCENT",
        help="State of charge reached at once.",
        rich_help_panel=NEED,
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        help="When the vehicle leaves, written as a deadline.",
        metavar="TIME",
        rich_help_panel=NEED,
    ),
]

Form = Annotated[
    OutputFormat, typer.Option("--format", help="Format on stdout.", rich_help_panel=OUTPUT)
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Write a file: .csv, .json or .parquet.",
        metavar="FILE",
        rich_help_panel=OUTPUT,
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Draw a picture: .png, .svg or .pdf.",
        metavar="FILE",
        rich_help_panel=OUTPUT,
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(
        "--save",
        help="Save the plan with its prices and its request, for replay, explain and diff: .json.",
        metavar="FILE",
        rich_help_panel=OUTPUT,
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Print the reasons.", rich_help_panel=OUTPUT)
]


def check_out(path: Path | None, *, option: str = "--out") -> None:
    """Refuse a file that cannot be written, before any work is done.

    Raises:
        InputError: Its ending is none that we write, or its folder is missing.
    """
    if path is None:
        return
    kinds = {"--plot": PICTURES, "--save": (".json",), "--report": (".html",)}
    endings = kinds.get(option, ENDINGS)
    if path.suffix.lower() not in endings:
        raise InputError(f"{option} {path}: the name has to end in {', '.join(endings)}")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {path.parent}")


def check_apart(written: Mapping[str, Path | None], read: Iterable[Path | None]) -> None:
    """Refuse to write over a file that is read, or two files by one name.

    Raises:
        InputError: Two of them are the same file.
    """
    inputs = [path for path in read if path and path.exists()]
    seen: dict[Path, str] = {}
    for option, path in written.items():
        if path is None:
            continue
        if path.exists() and any(path.samefile(file) for file in inputs):
            raise InputError(f"{option} {path}: this file is read; it would be written over")
        other = seen.setdefault(path.resolve(), option)
        if other != option:
            raise InputError(f"{option} {path}: {other} is the same file")
