"""``slackwater plan``: the cheapest charging of one vehicle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import slackwater as sw
from slackwater._engine import InputError
from slackwater.cli import options, plan_output
from slackwater.cli.clock import Clock, parse_deadline, parse_instant
from slackwater.cli.emissions import CarbonOptions
from slackwater.cli.files import OutputFormat
from slackwater.cli.prices import PriceFormat, PriceOptions, read_prices


@dataclass(frozen=True)
class Need:
    """What the command line wants of a vehicle; ``None`` where an option is missing."""

    now: datetime
    power_max_kw: float
    by: datetime | None
    until: datetime | None
    energy_kwh: float | None
    reserve_kwh: float | None
    soc_percent: float | None
    capacity_kwh: float | None
    target_percent: float | None
    charge_limit_percent: float | None
    efficiency: float | None
    reserve_percent: float | None
    energy_max_kwh: float | None
    fill_when_negative: bool
    extra: list[tuple[datetime, float]]
    carbon: sw.Carbon | None

    def plan(self, prices: sw.Prices) -> sw.Plan:
        """Plan in kWh or in percent, whichever was given."""
        self._refuse_mixture()
        if self.soc_percent is None or self.capacity_kwh is None:
            return self._plan_energy(prices)
        battery = sw.Battery(
            capacity_kwh=self.capacity_kwh,
            soc_percent=self.soc_percent,
            charge_limit_percent=_given(self.charge_limit_percent, 100.0),
            efficiency=_given(self.efficiency, 1.0),
        )
        last = sw.SocTarget(self.by, self.target_percent)
        return sw.plan_vehicle(
            prices,
            now=self.now,
            power_max_kw=self.power_max_kw,
            battery=battery,
            targets=[*(sw.SocTarget(*target) for target in self.extra), last],
            until=self.until,
            reserve_percent=_given(self.reserve_percent, 0.0),
            fill_when_negative=self.fill_when_negative,
            carbon=self.carbon,
        )

    def _plan_energy(self, prices: sw.Prices) -> sw.Plan:
        targets = [sw.Target(*target) for target in self.extra]
        if self.energy_kwh is not None:
            targets.append(sw.Target(self.by, self.energy_kwh))
        return sw.plan_charge(
            prices,
            now=self.now,
            power_max_kw=self.power_max_kw,
            targets=targets,
            until=self.until,
            reserve_kwh=_given(self.reserve_kwh, 0.0),
            energy_max_kwh=self.energy_max_kwh,
            carbon=self.carbon,
        )

    def _refuse_mixture(self) -> None:
        """Refuse wishes in kWh next to wishes in percent."""
        in_kwh = {
            "--energy-kwh": self.energy_kwh,
            "--energy-max-kwh": self.energy_max_kwh,
            "--reserve-kwh": self.reserve_kwh,
        }
        in_percent = {
            "--soc-percent": self.soc_percent,
            "--capacity-kwh": self.capacity_kwh,
            "--target-percent": self.target_percent,
            "--charge-limit-percent": self.charge_limit_percent,
            "--efficiency": self.efficiency,
            "--reserve-percent": self.reserve_percent,
        }
        kwh = [option for option, value in in_kwh.items() if value is not None]
        percent = [option for option, value in in_percent.items() if value is not None]
        if kwh and percent:
            raise InputError(f"{kwh[0]} is in kWh and {percent[0]} in percent: use one of the two")
        if not kwh and not percent:
            raise InputError("say --energy-kwh, or --soc-percent and --capacity-kwh")
        for option in ("--soc-percent", "--capacity-kwh"):
            if percent and option not in percent:
                raise InputError(f"{percent[0]} needs {option}")
        if kwh and self.energy_kwh is None:
            raise InputError(f"{kwh[0]} needs --energy-kwh")


def _given(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _extra_target(text: str, *, time_zone: str | None, now: datetime) -> tuple[datetime, float]:
    at, _, level = text.rpartition("=")
    try:
        value = float(level.removesuffix("%").lower().removesuffix("kwh"))
    except ValueError:
        at = ""
        value = 0.0
    if not at:
        raise InputError(f"--target-at {text!r} is not TIME=LEVEL, such as 06:00=50")
    return parse_deadline(at, option="--target-at", time_zone=time_zone, now=now), value


def plan(
    *,
    prices: options.PricesFile,
    prices_format: options.PricesForm = PriceFormat.AUTO,
    time_zone: options.TimeZone = None,
    currency: options.Currency = None,
    unit: options.Unit = None,
    area: options.Area = None,
    carbon: options.CarbonFile = None,
    carbon_unit: options.CarbonUnit = None,
    carbon_price_per_kg: options.CarbonPrice = None,
    now: options.Now,
    power_max_kw: options.PowerKw,
    energy_kwh: options.EnergyKwh = None,
    soc_percent: options.SocPercent = None,
    capacity_kwh: options.CapacityKwh = None,
    target_percent: options.TargetPercent = None,
    charge_limit_percent: options.ChargeLimit = None,
    efficiency: options.Efficiency = None,
    by: options.By = None,
    target_at: options.TargetAt = None,
    reserve_kwh: options.ReserveKwh = None,
    reserve_percent: options.ReservePercent = None,
    energy_max_kwh: options.EnergyMaxKwh = None,
    fill_when_negative: options.FillWhenNegative = True,
    until: options.Until = None,
    form: options.Form = OutputFormat.TABLE,
    out: options.Out = None,
    plot: options.Plot = None,
    save: options.Save = None,
    explain: options.Explain = False,
) -> None:
    """Plan the cheapest charging of one vehicle.

    slackwater plan --prices day.csv --time-zone Europe/Oslo --now
    2026-01-05T18:00+01:00 --power-max-kw 11 --energy-kwh 30 --by 07:00
    """
    clock = Clock(time_zone)
    for option, file in (("--out", out), ("--plot", plot), ("--save", save)):
        options.check_out(file, option=option)
    start = parse_instant(now, option="--now")

    def deadline(text: str | None, option: str) -> datetime | None:
        if text is None:
            return None
        return parse_deadline(text, option=option, time_zone=time_zone, now=start)

    need = Need(
        now=start,
        power_max_kw=power_max_kw,
        by=deadline(by, "--by"),
        until=deadline(until, "--until"),
        energy_kwh=energy_kwh,
        reserve_kwh=reserve_kwh,
        soc_percent=soc_percent,
        capacity_kwh=capacity_kwh,
        target_percent=target_percent,
        charge_limit_percent=charge_limit_percent,
        efficiency=efficiency,
        reserve_percent=reserve_percent,
        energy_max_kwh=energy_max_kwh,
        fill_when_negative=fill_when_negative,
        extra=[_extra_target(text, time_zone=time_zone, now=start) for text in target_at or []],
        carbon=CarbonOptions(carbon, carbon_unit, carbon_price_per_kg, time_zone).read(),
    )
    imported = read_prices(prices, PriceOptions(prices_format, time_zone, currency, unit, area))
    planned = need.plan(imported.prices)
    answer = plan_output.Answer(planned, clock, start, imported.notes, with_reasons=explain)
    if plot:
        planned.plot(time_zone=clock.name).savefig(plot, dpi=150)
    if save:
        planned.save(save)
    if out:
        answer.write(out)
    answer.show(form)
