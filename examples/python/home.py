"""A week of a home with sun, a battery and a commuting car, under three tariffs."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import slackwater as sw

monday = datetime(2026, 6, 1, tzinfo=ZoneInfo("Europe/Berlin"))
hours = [monday + timedelta(hours=each) for each in range(168)]
dynamic = sw.sim.year_of_prices(2026).between(monday, monday + timedelta(days=7)) + 0.15
night = [0.22 if hour.hour < 6 else 0.34 for hour in hours]
tariffs = [dynamic, dynamic * 0 + 0.30, sw.Prices.from_values(monday, night, currency="EUR")]
sun = sw.Solar("roof", power_kw=[max(0, 4 - abs(hour.hour - 13)) for hour in hours])
drives = [(leaves, leaves + timedelta(hours=9), 9.0) for leaves in hours[8:120:24]]
car = sw.Vehicle("car", power_max_kw=11, battery=sw.Battery(60, 50), consumption=drives)
battery = sw.StationaryBattery("battery", capacity_kwh=10, soc_percent=50, power_max_kw=5)
home = [sun, car, battery, sw.Load("house", power_kw=0.5)]
for tariff in tariffs:
    print(sw.plan_site(tariff, now=monday, devices=home, export_prices=tariff * 0 + 0.08))
