//! Default values of fields of a device.
use chrono::NaiveDate;
use slackwater_control::device::battery::OperationMode;
use slackwater_control::device::hvac::Mode;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{Energy, Percent, Power, Temperature};
use slackwater_engine::units::{amps, celsius, kw, kwh, percent};

use slackwater_integration::reading::HvacCategory;

use super::devices::Outlet;

macro_rules! defaults {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        $(pub(crate) fn $name() -> $type { $value })*
    };
}

defaults! {
    yes: bool = true;
    half: Percent = percent(50.0);
    full: Percent = percent(100.0);
    ninety: Percent = percent(90.0);
    thirty: Percent = percent(30.0);
    two_kw: Power = kw(2.0);
    five_kw: Power = kw(5.0);
    eleven_kw: Power = kw(11.0);
    eighteen_kwh: Energy = kwh(18.0);
    three: f64 = 3.0;
    five: f64 = 5.0;
    fifty: f64 = 50.0;
    thirty_five: f64 = 35.0;
    south: f64 = 180.0;
    european: f64 = 230.0;
    eighteen: Temperature = celsius(18.0);
    twenty: Temperature = celsius(20.0);
    twenty_one: Temperature = celsius(21.0);
    twenty_six: Temperature = celsius(26.0);
    two_minutes: u16 = 2;
    ten_minutes: u16 = 10;
    ten_seconds: u16 = 10;
    unnamed: String = "Sandbox".to_owned();
    heat_pump: HvacCategory = HvacCategory::HeatPump;
    heating: Mode = Mode::Heat;
    all_modes: Vec<Mode> = Mode::ALL.to_vec();
    self_reliance: OperationMode = OperationMode::SelfReliance;
    six: HourMinute = clock("06:00");
    ten_at_night: HourMinute = clock("22:00");
    long_ago: NaiveDate = NaiveDate::from_ymd_opt(2021, 5, 1).unwrap_or_default();
    socket: Outlet = outlet(1, 10.0);
    three_phases: Outlet = outlet(3, 16.0);
}

fn outlet(phases: u8, current: f64) -> Outlet {
    Outlet { phases, volts: european(), current_max: amps(current) }
}

fn clock(text: &str) -> HourMinute {
    HourMinute::parse(text).unwrap_or_default()
}
