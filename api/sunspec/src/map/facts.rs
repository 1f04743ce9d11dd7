//! Facts of a device in the points of its models.
//!
//! | Fact | Points, the first that the device implements |
//! |---|---|
//! | make, model, serial number | `Mn`, `Md`, `SN` of model 1 |
//! | power, positive where the device gives | `W` of 701, of 101 to 103 (integers), of 111 to 113 (floats) |
//! | energy given | `TotWhInj` of 701, `WH` of 101 to 103 and of 111 to 113 |
//! | energy taken | `TotWhAbs` of 701 |
//! | state of charge | `SoC` of 713, of 802; `ChaState` of 124 |
//! | capacity | `WHRtg` of 713, of 802, of 120 |
//! | storage control | model 124 |
use std::collections::BTreeMap;

use slackwater_control::device::battery::OperationMode;
use slackwater_engine::units::{Energy, Percent, Power};

use crate::map::control::StorageControl;
use crate::map::points::{Points, scale};

/// Model 1, of every device.
pub const COMMON: u16 = 1;

/// Model with the nominal energy of a battery, of devices of the generation of models 101 to 124.
const NAMEPLATE: u16 = 120;

/// Model with storage control.
pub const STORAGE_CONTROL: u16 = 124;

/// Measured powers and energies of devices by IEEE 1547-2018.
const AC_MEASUREMENT: u16 = 701;

/// Battery of such devices.
const STORAGE_CAPACITY: u16 = 713;

/// Battery bank.
const BATTERY_BASE: u16 = 802;

/// Inverters in integers with scale factors: one phase, split phase, three phases.
const INTEGER_INVERTERS: [u16; 3] = [101, 102, 103];

/// Models of inverters in floating point.
const FLOAT_INVERTERS: [u16; 3] = [111, 112, 113];

/// Power of ten from W to kW, and from Wh to kWh.
const KILO: i32 = -3;

/// Returns true for a model that facts are read from.
#[must_use]
pub fn is_read(model: u16) -> bool {
    let single =
        [COMMON, NAMEPLATE, STORAGE_CONTROL, AC_MEASUREMENT, STORAGE_CAPACITY, BATTERY_BASE];
    single.contains(&model)
        || INTEGER_INVERTERS.contains(&model)
        || FLOAT_INVERTERS.contains(&model)
}

/// Facts of a device; `None` for what it does not tell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceFacts {
    /// Make.
    pub make: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial_number: Option<String>,
    /// Power at the AC side; positive where the device gives.
    pub given_power: Option<Power>,
    /// Energy given there since the device was made.
    pub given: Option<Energy>,
    /// Energy taken there since then.
    pub taken: Option<Energy>,
    /// State of charge.
    pub soc: Option<Percent>,
    /// Capacity.
    pub capacity: Option<Energy>,
    /// Storage control.
    pub control: Option<StorageControl>,
}

impl DeviceFacts {
    /// Facts in the points of models, by identifier.
    #[must_use]
    pub fn read(models: &BTreeMap<u16, Points>) -> Self {
        let common = models.get(&COMMON);
        let text = |offset, registers| common?.read_text(offset, registers);
        let measured = models.get(&AC_MEASUREMENT);
        let integers = find_first(models, &INTEGER_INVERTERS);
        let floats = find_first(models, &FLOAT_INVERTERS);
        Self {
            make: text(2, 16),
            model: text(18, 16),
            serial_number: text(50, 16),
            given_power: measured
                .and_then(|points| read_power(points, 10, 116))
                .or_else(|| read_power(integers?, 14, 15))
                .or_else(|| Power::from_kw(scale(floats?.read_float32(22)?, KILO)).ok()),
            given: measured
                .and_then(|points| read_total(points, 19, 120))
                .or_else(|| read_count(integers?, 24, 26))
                .or_else(|| read_float_count(floats?, 32)),
            taken: measured.and_then(|points| read_total(points, 23, 120)),
            soc: models
                .get(&STORAGE_CAPACITY)
                .and_then(|points| read_percent(points, 4, 8))
                .or_else(|| read_percent(models.get(&BATTERY_BASE)?, 11, 56))
                .or_else(|| read_percent(models.get(&STORAGE_CONTROL)?, 8, 22)),
            capacity: models
                .get(&STORAGE_CAPACITY)
                .and_then(|points| read_capacity(points, 2, 7))
                .or_else(|| read_capacity(models.get(&BATTERY_BASE)?, 3, 53))
                .or_else(|| read_capacity(models.get(&NAMEPLATE)?, 19, 20)),
            control: models.get(&STORAGE_CONTROL).map(StorageControl::read),
        }
    }

    /// Operation mode of its battery.
    #[must_use]
    pub fn operation_mode(&self) -> Option<OperationMode> {
        self.control.as_ref().and_then(StorageControl::operation_mode)
    }
}

fn find_first<'a>(models: &'a BTreeMap<u16, Points>, wanted: &[u16]) -> Option<&'a Points> {
    wanted.iter().find_map(|model| models.get(model))
}

/// An `int16` in W.
fn read_power(points: &Points, offset: usize, factor: usize) -> Option<Power> {
    let watts = f64::from(points.read_int16(offset)?);
    Power::from_kw(scale(watts, points.read_scale_factor(factor)? + KILO)).ok()
}

/// An `acc32` in Wh.
fn read_count(points: &Points, offset: usize, factor: usize) -> Option<Energy> {
    let count = f64::from(points.read_acc32(offset)?);
    Energy::from_kwh(scale(count, points.read_scale_factor(factor)? + KILO)).ok()
}

/// A `uint64` in Wh.
fn read_total(points: &Points, offset: usize, factor: usize) -> Option<Energy> {
    let total = points.read_uint64(offset)? as f64;
    Energy::from_kwh(scale(total, points.read_scale_factor(factor)? + KILO)).ok()
}

/// A `float32` in Wh that counts; below zero it is none.
fn read_float_count(points: &Points, offset: usize) -> Option<Energy> {
    let count = points.read_float32(offset).filter(|count| *count > 0.0)?;
    Energy::from_kwh(scale(count, KILO)).ok()
}

/// A `uint16` in percent; beyond 100 it is none.
fn read_percent(points: &Points, offset: usize, factor: usize) -> Option<Percent> {
    let value = f64::from(points.read_uint16(offset)?);
    Percent::from_percent(scale(value, points.read_scale_factor(factor)?)).ok()
}

/// A `uint16` in Wh; a battery without capacity does not tell it.
fn read_capacity(points: &Points, offset: usize, factor: usize) -> Option<Energy> {
    let capacity = f64::from(points.read_uint16(offset).filter(|capacity| *capacity > 0)?);
    Energy::from_kwh(scale(capacity, points.read_scale_factor(factor)? + KILO)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use slackwater_engine::units::{kw, kwh, percent};

    use super::*;

    /// A model that implements only these points.
    fn model(id: u16, length: u16, points: &[(usize, u16)]) -> (u16, Points) {
        let mut registers = vec![0x8000; usize::from(length) + 2];
        registers[..2].copy_from_slice(&[id, length]);
        for &(offset, value) in points {
            registers[offset] = value;
        }
        (id, Points::new(registers))
    }

    const fn signed(value: i16) -> u16 {
        value.cast_unsigned()
    }

    fn facts<const N: usize>(models: [(u16, Points); N]) -> DeviceFacts {
        DeviceFacts::read(&BTreeMap::from(models))
    }

    #[test]
    fn an_inverter_in_integers_is_scaled() {
        let points = [(14, 523), (15, 1), (24, 1), (25, 0), (26, signed(-1))];
        let read = facts([model(103, 50, &points)]);
        assert_eq!(read.given_power, Some(kw(5.23)));
        // 65,536 tenths of a Wh.
        assert_eq!((read.given, read.taken), (Some(kwh(6.5536)), None));
        assert_eq!((read.soc, read.capacity, read.control), (None, None, None));
    }

    #[test]
    fn an_inverter_in_floats_is_read() {
        let registers = |value: f32| {
            let bits = value.to_bits();
            [(bits >> 16) as u16, bits as u16]
        };
        let (power, energy) = (registers(-42.5), registers(1500.0));
        let points = [(22, power[0]), (23, power[1]), (32, energy[0]), (33, energy[1])];
        let read = facts([model(111, 60, &points)]);
        assert_eq!((read.given_power, read.given), (Some(kw(-0.0425)), Some(kwh(1.5))));
        let none = model(111, 60, &[(22, 0x7FC0), (23, 0), (32, 0x7FC0), (33, 0)]);
        assert_eq!(facts([none]), DeviceFacts::default());
    }

    #[test]
    fn a_device_of_the_newer_generation_counts_both_ways() {
        let points = [
            (10, signed(-1200)),
            (116, 0),
            (19, 0),
            (20, 0),
            (21, 0),
            (22, 9000),
            (23, 0),
            (24, 0),
            (25, 1),
            (26, 0),
            (120, 1),
        ];
        let battery = [(2, 1350), (4, 805), (7, 1), (8, signed(-1))];
        let read = facts([model(701, 153, &points), model(713, 7, &battery)]);
        assert_eq!(read.given_power, Some(kw(-1.2)));
        assert_eq!((read.given, read.taken), (Some(kwh(90.0)), Some(kwh(655.36))));
        assert_eq!((read.soc, read.capacity), (Some(percent(80.5)), Some(kwh(13.5))));
    }

    #[test]
    fn a_battery_of_the_older_generation_is_read_from_storage_control() {
        let control = model(124, 24, &[(8, 6400), (22, signed(-2)), (5, 0)]);
        let nameplate = model(120, 26, &[(19, 1024), (20, 1)]);
        let read = facts([control, nameplate]);
        assert_eq!((read.soc, read.capacity), (Some(percent(64.0)), Some(kwh(10.24))));
        assert_eq!(read.operation_mode(), Some(OperationMode::SelfReliance));
    }

    #[test]
    fn what_is_not_implemented_or_impossible_is_absent() {
        // Neither power nor scale factor; a power without a scale factor; one out of bounds.
        for points in [&[][..], &[(14, 100)], &[(14, 100), (15, 11)], &[(15, 0)]] {
            assert_eq!(facts([model(101, 50, points)]).given_power, None, "{points:?}");
        }
        let nothing_counted = [(24, 0), (25, 0), (26, 0)];
        assert_eq!(facts([model(101, 50, &nothing_counted)]).given, None);
        let too_full = model(713, 7, &[(4, 101), (8, 0), (2, 0xFFFF), (7, 0)]);
        let read = facts([too_full]);
        assert_eq!((read.soc, read.capacity), (None, None));
    }

    #[test]
    fn the_common_model_has_texts() {
        let mut points = vec![0; 68];
        points[2] = u16::from_be_bytes(*b"Fj");
        points[18] = u16::from_be_bytes(*b"H8");
        points[50] = u16::from_be_bytes(*b"77");
        let read = facts([(1, Points::new(points))]);
        let texts = [read.make, read.model, read.serial_number].map(Option::unwrap_or_default);
        assert_eq!(texts, ["Fj", "H8", "77"]);
    }

    proptest! {
        #[test]
        fn no_registers_are_a_panic(
            models in prop::collection::btree_map(
                prop::sample::select(vec![1_u16, 101, 103, 111, 113, 120, 124, 701, 713, 802]),
                prop::collection::vec(any::<u16>(), 0..160),
                0..10,
            ),
        ) {
            let models = models.into_iter().map(|(id, registers)| (id, Points::new(registers)));
            let read = DeviceFacts::read(&models.collect());
            for energy in [read.given, read.taken, read.capacity].into_iter().flatten() {
                prop_assert!(energy.as_kwh() >= 0.0);
            }
            let _ = read.operation_mode();
        }
    }
}
