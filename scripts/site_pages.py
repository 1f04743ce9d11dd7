"""Pages of the reference that are generated from the Python package and its command line."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import typer
from sphinx.ext.autodoc import mock

import slackwater
from slackwater.cli.app import app as command_line

from site_tables import table

# Commands, arguments and options of click, which typer has a copy of.
Command = Any

# Names at the root of the package, by the page that shows them. A name in no list is shown
# on the page of its prefix, or else on the last page, so that a new one is never left out.
TOPICS: Mapping[str, tuple[str, list[str]]] = {
    "prices": (
        "Prices and time",
        ["Prices", "PriceSlot", "Series", "SeriesSlot", "next_deadline", "TIME_ZONE_VERSION"],
    ),
    "vehicles": (
        "Vehicles",
        [
            "plan_charge", "plan_vehicle", "plan_duration", "Target", "SocTarget", "Battery",
            "PowerLimit", "Plan", "Interval", "PlannedSlot", "TargetOutcome", "SocPoint",
            "Reason", "Certificate", "Requirement",
        ],
    ),
    "storage": ("Batteries that discharge", ["plan_storage", "StoragePlan", "Consumption"]),
    "heat": (
        "Rooms and tanks",
        ["plan_heat", "HeatPlan", "SetBack", "HeatOnOff", "identify_heat", "HeatFit", "Estimate"],
    ),
    "uncertain": (
        "Uncertain prices",
        [
            "plan_policy", "MarkovPrices", "PriceTree", "ChargePolicy", "BidCurve", "BidStep",
            "plan_area_scenarios", "AreaScenario", "AreaScenarioPlan", "AreaScenarioOutcome",
            "AreaScenarioComparison",
        ],
    ),
    "intraday": (
        "Order books",
        [
            "trade_rolling_intrinsic", "RollingIntrinsicTrading", "IntradayTrade",
            "IntradayUpdate", "IntradayPosition",
        ],
    ),
    "bills": (
        "Bills",
        [
            "bill", "Bill", "BillLine", "MonthBill", "BillingTariff", "TariffComponent",
            "TariffSource", "TariffEntry", "plan_capacity", "CapacityPlan", "CapacityCost",
            "MonthPower",
        ],
    ),
    "switching": (
        "Devices that switch",
        ["plan_switching", "SwitchingPlan", "Session", "UnmetSwitchingWish"],
    ),
    "site": (
        "Sites",
        [
            "plan_site", "SitePlan", "Vehicle", "Discharge", "StationaryBattery", "SoftBound",
            "Solar", "Load", "ShiftableLoad", "HeatUnit", "Group", "DemandCharge", "Tiers",
            "Carbon", "DevicePlan", "HeatOutcome", "RoomSlot",
        ],
    ),
    "batches": (
        "Batches",
        ["plan_batch", "plan_row", "plan_storage_batch", "plan_storage_row", "PlanTable"],
    ),
    "areas": (
        "Areas",
        [
            "plan_area", "Node", "AreaPlan", "NodeLoad", "Shortfall", "AreaHeat", "AreaHeatReason",
            "AreaHeatIntervals", "AreaChange", "AreaProgress", "RoundMemory",
        ],
    ),
    "questions": (
        "Questions to a plan",
        [
            "WhatIf", "Departure", "EnergyAtRisk", "DepartureOutcome", "insurance_frontier",
            "InsuranceFrontier", "InsurancePoint", "PlanChange", "PowerChange", "SourceShare",
            "Stability",
        ],
    ),
    "saved": ("Saved plans", ["load_plan", "load_area", "replay", "Replay", "Difference"]),
    "simulations": (
        "Simulations",
        [
            "simulate", "Simulation", "SimulationTable", "Replan", "View", "issue_forecasts",
            "publish_day_ahead", "Forecast", "Persistence", "SeasonalNaive", "Evaluation",
        ],
    ),
    "more": ("Further names", ["InputError", "__version__"]),
}  # fmt: skip

PREFIXES = {
    "Storage": "storage",
    "Heat": "heat",
    "Policy": "uncertain",
    "Switching": "switching",
    "Site": "site",
    "Area": "areas",
    "plan_": "vehicles",
}

# Modules with names of their own that users import. Those in `__all__` of the package are
# shown without being listed here.
MODULES = ["gym", "io", "parts", "plot", "ray", "samples", "saved", "sim"]


# Packages that only some users have; the reference shows what needs them all the same.
FOREIGN = ["gymnasium", "ray"]

# Members of all base classes but these are shown.
INHERITED = "   :inherited-members: tuple, ValueError, FigureBase, Artist, Figure"


def topic_of(name: str) -> str:
    """Page of a name at the root of the package."""
    for page, (_, names) in TOPICS.items():
        if name in names:
            return page
    prefixes = (page for prefix, page in PREFIXES.items() if name.startswith(prefix))
    return next(prefixes, "more")


def directive(path: str, value: object) -> list[str]:
    """Lines of reStructuredText that show the documentation of one name."""
    if inspect.isclass(value):
        # Members of native classes are shown also where they have no text: name and type tell.
        is_native = any(
            type(member).__name__ == "getset_descriptor" for member in vars(value).values()
        )
        undocumented = ["   :undoc-members:"] if is_native else []
        return [f".. autoclass:: {path}", "   :members:", INHERITED, *undocumented, ""]
    kind = "autofunction" if callable(value) else "autodata"
    return [f".. {kind}:: {path}", ""]


def page(title: str, intro: str, lines: list[str]) -> str:
    """Page in Markdown with reStructuredText below its introduction."""
    body = "\n".join(lines)
    return f"# {title}\n\n{intro}\n\n```{{eval-rst}}\n{body}```\n"


def topic_pages() -> Iterator[tuple[str, str]]:
    """Names at the root of the package, a page for each topic."""
    shown = [name for name in slackwater.__all__ if not is_module(name)]
    for topic, (title, order) in TOPICS.items():
        names = [name for name in order if name in shown]
        names += [name for name in shown if topic_of(name) == topic and name not in names]
        if not names:
            continue
        lines = [".. currentmodule:: slackwater", ""]
        for name in names:
            lines += directive(f"slackwater.{name}", getattr(slackwater, name))
        intro = "Names in the package `slackwater`."
        yield f"reference/python/{topic}.md", page(title, intro, lines)


def is_module(name: str) -> bool:
    """Whether a name at the root of the package is a module."""
    return inspect.ismodule(getattr(slackwater, name))


def module_names() -> list[str]:
    """Names of all modules that users import, in the order of the alphabet."""
    public = [name for name in slackwater.__all__ if is_module(name)]
    present = [name for name in MODULES if find_spec(f"slackwater.{name}") is not None]
    return sorted({*public, *present})


def shown_elsewhere(path: str) -> list[str]:
    """Names of a module that are the same at the root of the package, and are shown there."""
    with mock(FOREIGN):
        module = importlib.import_module(path)
    names = getattr(module, "__all__", ())
    return [name for name in names if getattr(slackwater, name, None) is getattr(module, name)]


def module_pages() -> Iterator[tuple[str, str]]:
    """Page of each module with names of its own."""
    for name in module_names():
        path = f"slackwater.{name}"
        lines = [f".. automodule:: {path}", "   :members:", INHERITED]
        lines += [f"   :exclude-members: {', '.join(shown_elsewhere(path))}", ""]
        yield f"reference/python/module-{name}.md", page(f"`{path}`", "", lines)


def commands(command: Command, words: list[str]) -> Iterator[tuple[str, Any]]:
    """Commands with the words that call them."""
    below = getattr(command, "commands", {})
    if not below:
        yield " ".join(words), command
    for name, inner in below.items():
        yield from commands(inner, [*words, name])


def option_row(option: Command) -> tuple[str, ...]:
    """Row of an argument or option: names, default, meaning."""
    is_argument = option.param_type_name == "argument"
    names = [option.name.upper()] if is_argument else [*option.opts, *option.secondary_opts]
    default = "" if option.default in {None, False, ()} else f"`{option.default}`"
    return (
        ", ".join(f"`{name}`" for name in names),
        "required" if option.required else default,
        getattr(option, "help", None) or "",
    )


COMMAND_LINE_INTRO = """\
# Command line

`pip install 'slackwater[cli]'` installs the program `slackwater`; `python -m slackwater` is the
same. Invalid input prints one line and exits with code 2. A number that looks like another unit,
such as 7000 kW, is used as it is, and a line on stderr that begins with `warning:` tells it.
"""


def help_blocks(text: str) -> Iterator[str]:
    """Paragraphs of a help text; a command to type is one that can be copied."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        is_command = paragraph.startswith("slackwater ")
        yield f"```sh\n{' '.join(paragraph.split())}\n```\n" if is_command else f"{paragraph}\n"


def command_line_page() -> str:
    """All commands of `slackwater`, from the program itself."""
    lines = [COMMAND_LINE_INTRO]
    for words, command in commands(typer.main.get_command(command_line), ["slackwater"]):
        lines += [f"## `{words}`", "", *help_blocks(command.help or ""), ""]
        options = [option for option in command.params if option.name != "help"]
        lines += table(("Option", "Default", "Meaning"), [option_row(item) for item in options])
    return "\n".join(lines)


def index_page(places: Iterable[str]) -> str:
    """Page that lists all pages of the Python reference, in their order."""
    entries = "\n".join(
        place.removeprefix("reference/python/").removesuffix(".md") for place in places
    )
    intro = (
        "By topic, then by module. Names without a module are in the package `slackwater` itself."
    )
    return f"# Python\n\n{intro}\n\n```{{toctree}}\n{entries}\n```\n"


def pages() -> dict[str, str]:
    """All pages of this file by their paths in the site."""
    python = {**dict(topic_pages()), **dict(module_pages())}
    return {
        **python,
        "reference/python/index.md": index_page(python),
        "reference/command-line.md": command_line_page(),
    }
