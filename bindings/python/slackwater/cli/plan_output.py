"""One plan on the screen and in files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import slackwater as sw
from slackwater import _view
from slackwater.cli.clock import Clock
from slackwater.cli.files import INSTANT, Json, OutputFormat, to_csv, to_json, write_table
from slackwater.cli.screen import amount, answers, show_notes, titled

PERIODS = pa.schema(
    {
        "start": INSTANT,
        "end": INSTANT,
        "power_kw": pa.float64(),
        "energy_kwh": pa.float64(),
        "cost": pa.float64(),
        "price_max_per_kwh": pa.float64(),
        "reason": pa.string(),
    }
)


@dataclass(frozen=True)
class Answer:
    """A plan and how to speak of it.

    Attributes:
        plan: The plan.
        clock: The clock of the reader.
        now: From when it was planned.
        notes: What the importer of the prices had to say.
        with_reasons: Whether to print a sentence for each period.
    """

    plan: sw.Plan
    clock: Clock
    now: datetime
    notes: Sequence[str]
    with_reasons: bool

    def write(self, path: Path) -> None:
        """Write the whole answer as JSON, or its periods of charging as a table."""
        if path.suffix.lower() == ".json":
            path.write_text(to_json(self.document()), encoding="utf-8")
        else:
            write_table(self.periods(), path, self.clock)

    def show(self, form: OutputFormat) -> None:
        """Print the answer; notes go to stderr."""
        match form:
            case OutputFormat.JSON:
                sys.stdout.write(to_json(self.document()))
            case OutputFormat.CSV:
                sys.stdout.write(to_csv(self.periods(), self.clock))
            case OutputFormat.TABLE:
                answers().print(self.table())
        if form is not OutputFormat.JSON:
            show_notes(self.notes)

    def periods(self) -> pa.Table:
        """The periods of charging as rows."""
        rows = [
            {
                "start": reason.start,
                "end": reason.end,
                "power_kw": self._power_kw(reason.start),
                "energy_kwh": reason.energy_kwh,
                "cost": reason.cost,
                "price_max_per_kwh": reason.price_max_per_kwh,
                "reason": reason.code,
            }
            for reason in _view.charging(self.plan.explain())
        ]
        return pa.Table.from_pylist(rows, PERIODS)

    def _power_kw(self, at: datetime) -> float:
        intervals = self.plan.intervals
        return next(each.power_kw for each in intervals if each.start <= at < each.end)

    def document(self) -> dict[str, Json]:
        """Everything that is known of the plan, as JSON."""
        plan, iso = self.plan, self.clock.iso
        return {
            "slackwater": sw.__version__,
            "time_zone": self.clock.name,
            "now": iso(self.now),
            "currency": plan.currency,
            "energy_kwh": plan.energy_kwh,
            "cost": plan.cost,
            "baseline_cost": plan.baseline_cost,
            "savings": plan.savings,
            "shortfall_kwh": plan.shortfall_kwh,
            "marginal_price_per_kwh": plan.marginal_price_per_kwh,
            "unpriced_hours": plan.unpriced_hours,
            "soc_percent_at_end": self._soc_at_end(),
            "carbon_kg": plan.carbon_kg,
            "baseline_carbon_kg": plan.baseline_carbon_kg,
            "carbon_cost": plan.carbon_cost,
            "intervals": [
                {"start": iso(each.start), "end": iso(each.end), "power_kw": each.power_kw}
                for each in plan.intervals
            ],
            "targets": [self._target(each) for each in plan.targets],
            "reasons": [self._reason(each) for each in plan.explain(time_zone=self.clock.name)],
            "slots": [
                {
                    "start": iso(slot.start),
                    "end": iso(slot.end),
                    "price_per_kwh": slot.price_per_kwh,
                    "power_max_kw": slot.power_max_kw,
                    "energy_kwh": slot.energy_kwh,
                }
                for slot in plan.slots
            ],
            "certificate": self._certificate(plan.certificate),
            "notes": list(self.notes),
        }

    def _target(self, target: sw.TargetOutcome) -> dict[str, Json]:
        return {
            "by": self._iso(target.by),
            "wanted_kwh": target.wanted_kwh,
            "delivered_kwh": target.delivered_kwh,
            "shortfall_kwh": target.shortfall_kwh,
            "above_limit_kwh": target.above_limit_kwh,
            "reached_at": self._iso(target.reached_at),
        }

    def _reason(self, reason: sw.Reason) -> dict[str, Json]:
        return {
            "start": self._iso(reason.start),
            "end": self._iso(reason.end),
            "energy_kwh": reason.energy_kwh,
            "cost": reason.cost,
            "price_max_per_kwh": reason.price_max_per_kwh,
            "code": reason.code,
            "deadline": self._iso(reason.deadline),
            "marginal_price_per_kwh": reason.marginal_price_per_kwh,
            "runner_up_start": self._iso(reason.runner_up_start),
            "runner_up_price_per_kwh": reason.runner_up_price_per_kwh,
            "sentence": reason.sentence,
        }

    def _certificate(self, proof: sw.Certificate) -> dict[str, Json]:
        return {
            "cost": proof.cost,
            "bound": proof.bound,
            "gap": proof.gap,
            "is_proved": proof.is_proved,
            "at_once_kwh": proof.at_once_kwh,
            "energy_max_kwh": proof.energy_max_kwh,
            "surplus_price_per_kwh": proof.surplus_price_per_kwh,
            "requirements": [
                {
                    "by": self._iso(each.by),
                    "energy_kwh": each.energy_kwh,
                    "marginal_price_per_kwh": each.marginal_price_per_kwh,
                }
                for each in proof.requirements
            ],
        }

    def _iso(self, at: datetime | None) -> str | None:
        return None if at is None else self.clock.iso(at)

    def _soc_at_end(self) -> float | None:
        """State of charge when the plan is through."""
        intervals = self.plan.intervals
        return self.plan.soc_percent_by(intervals[-1].end if intervals else self.now)

    def table(self) -> Group:
        """The answer for people."""
        parts: list[RenderableType] = [self._rows(), Text(), *self._summary()]
        if self.with_reasons:
            sentences = self.plan.explain(time_zone=self.clock.name)
            parts += [Text(), Text("Why", style="bold")]
            parts += [Padding(Text(f"• {each.sentence}"), (0, 0, 0, 2)) for each in sentences]
        return Group(*parts)

    def _rows(self) -> Table | Text:
        plan = self.plan
        if not plan.intervals:
            return Text("Nothing is charged.", style="bold")
        table = titled(f"Charging plan, {self.clock.name}", has_footer=True)
        table.add_column("when", "in all", no_wrap=True)
        table.add_column("kWh", amount(plan.energy_kwh), justify="right", style="cyan")
        table.add_column(f"{plan.currency}/kWh", justify="right", no_wrap=True)
        table.add_column(plan.currency, amount(plan.cost), justify="right", style="bold")
        table.add_column("reason", style="dim")
        for reason in _view.charging(plan.explain()):
            table.add_row(
                self.clock.span(reason.start, reason.end),
                amount(reason.energy_kwh),
                self._prices(reason),
                amount(reason.cost),
                reason.code.replace("_", " "),
            )
        return table

    def _prices(self, reason: sw.Reason) -> str:
        """The prices of a period: one, or the least and the highest."""
        prices = [
            slot.price_per_kwh
            for slot in self.plan.slots
            if slot.start < reason.end and reason.start < slot.end
        ]
        # A period of less than a microsecond overlaps nothing.
        prices = prices or [reason.price_max_per_kwh or 0.0]
        least, most = f"{min(prices):.4f}", f"{max(prices):.4f}"
        return least if least == most else f"{least} to {most}"

    def _summary(self) -> list[Text]:
        plan = self.plan
        money = plan.currency
        lines = [
            Text.assemble(
                (f"{plan.energy_kwh:.2f} kWh", "bold cyan"),
                " for ",
                (f"{amount(plan.cost)} {money}", "bold"),
                f"; charging at once would cost {amount(plan.baseline_cost)} {money}: ",
                _savings(plan),
            )
        ]
        lines += [Text(f"{words}.") for words in _view.emissions(plan)]
        if (soc := self._soc_at_end()) is not None:
            lines.append(Text(f"The battery ends at {soc:.1f} %."))
        lines += [
            Text(self._missed(each), style="bold red")
            for each in plan.targets
            if each.shortfall_kwh > 0
        ]
        if plan.unpriced_hours > 0:
            hours = f"{plan.unpriced_hours:,.1f} h before the last deadline have no known price"
            lines.append(Text(f"{hours}; they are not used.", style="yellow"))
        proof = plan.certificate
        if proof.is_proved:
            lines.append(Text(f"Proved optimal: gap {proof.gap:.1g} {money}.", style="green"))
        else:
            lines.append(Text(f"Not proved optimal: gap {proof.gap:.3g} {money}.", style="yellow"))
        return lines

    def _missed(self, target: sw.TargetOutcome) -> str:
        by = "the end of the prices" if target.by is None else self.clock.date(target.by)
        text = f"{target.shortfall_kwh:.2f} of {target.wanted_kwh:.2f} kWh are missing at {by}"
        if target.above_limit_kwh > 0:
            text += f", {target.above_limit_kwh:.2f} kWh of it above the charge limit"
        if target.reached_at is None:
            return f"{text}."
        return f"{text}; reached at {self.clock.date(target.reached_at)}."


def _savings(plan: sw.Plan) -> tuple[str, str]:
    if plan.savings < 0:
        return f"{-plan.savings:.2f} {plan.currency} more than that", "yellow"
    return f"saves {plan.savings:.2f} {plan.currency}", "bold green"
