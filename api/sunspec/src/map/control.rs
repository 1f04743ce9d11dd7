//! Operation modes of a battery by model 124, *Basic Storage Controls*.
//!
//! The two low bits of `StorCtl_Mod` switch limits of the charging (bit 0, `InWRte`) and of the
//! discharging power (bit 1, `OutWRte`) on, in percent of the highest powers. A negative limit of
//! one direction is a least power of the other:
//!
//! | Mode | `StorCtl_Mod` | `OutWRte` | `InWRte` |
//! |---|---|---|---|
//! | `self_reliance` | 0 | 100 % | 100 % |
//! | `import_focus` | 3 | -100 % | 100 % |
//! | `export_focus` | 3 | 100 % | -100 % |
//! | `idle` | 3 | 0 % | 0 % |
//!
//! The limits hold for `InOutWRte_RvrtTms` seconds from the last write. Then the device returns to
//! its own control, so that a battery of a service that was lost does not charge or discharge on.
//! A device without this timer is not commanded.
use slackwater_control::device::battery::OperationMode;

use crate::map::points::{Points, scale};

/// Offsets of the points.
const STORAGE_CONTROL_MODE: u16 = 5;
const DISCHARGE_RATE: u16 = 12;
const CHARGE_RATE: u16 = 13;
pub(crate) const REVERT_SECONDS: u16 = 15;
const RATE_SCALE_FACTOR: u16 = 25;

/// Bit of a limit of the charging power.
const LIMITS_CHARGING: u16 = 1;

/// Bit of a limit of the discharging power.
const LIMITS_DISCHARGING: u16 = 2;

/// Both.
const LIMITS_BOTH: u16 = LIMITS_CHARGING | LIMITS_DISCHARGING;

/// The highest power of a direction, in percent.
const FULL_RATE: f64 = 100.0;

/// State of the storage control of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageControl {
    limits: Option<u16>,
    discharge_rate: Option<i16>,
    charge_rate: Option<i16>,
    revert_seconds: Option<u16>,
    rate_power: Option<i32>,
}

/// Registers to write, from an offset of the model on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Offset of the first register from the identifier of the model.
    pub offset: u16,
    /// Their values.
    pub values: Vec<u16>,
}

/// A mode that a device cannot be set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// There is no model 124.
    #[error("the device has no storage control (model 124)")]
    NoModel,
    /// The device has no such mode.
    #[error("storage control (model 124) has no mode {}", mode.as_str())]
    NoSuchMode {
        /// The mode.
        mode: OperationMode,
    },
    /// The device would keep a limit for ever.
    #[error("the device has no timer that ends a limit (InOutWRte_RvrtTms of model 124)")]
    NoTimer,
    /// Limits cannot be written.
    #[error("the device has no limits of its powers in percent (OutWRte and InWRte of model 124)")]
    NoRates,
}

impl StorageControl {
    /// Storage control in the points of a model 124.
    #[must_use]
    pub fn read(points: &Points) -> Self {
        Self {
            limits: points.read_uint16(usize::from(STORAGE_CONTROL_MODE)),
            discharge_rate: points.read_int16(usize::from(DISCHARGE_RATE)),
            charge_rate: points.read_int16(usize::from(CHARGE_RATE)),
            revert_seconds: points.read_uint16(usize::from(REVERT_SECONDS)),
            rate_power: points.read_scale_factor(usize::from(RATE_SCALE_FACTOR)),
        }
    }

    /// Mode that the limits amount to; `None` for limits that are none of ours.
    #[must_use]
    pub fn operation_mode(&self) -> Option<OperationMode> {
        let limits = self.limits? & LIMITS_BOTH;
        if limits == 0 {
            return Some(OperationMode::SelfReliance);
        }
        let bounded =
            |bit, rate: Option<i16>| if limits & bit == 0 { Some(None) } else { rate.map(Some) };
        let discharging = bounded(LIMITS_DISCHARGING, self.discharge_rate)?;
        let charging = bounded(LIMITS_CHARGING, self.charge_rate)?;
        match (discharging, charging) {
            (Some(..0), None | Some(1..)) => Some(OperationMode::ImportFocus),
            (None | Some(1..), Some(..0)) => Some(OperationMode::ExportFocus),
            (Some(0), Some(0)) => Some(OperationMode::Idle),
            _ => None,
        }
    }

    /// Writes that set a mode, in their order: the timer and the limits before the bits that switch
    /// the limits on.
    ///
    /// # Errors
    /// The device cannot be set to the mode.
    pub fn list_writes(
        &self,
        mode: OperationMode,
        revert_seconds: u16,
    ) -> Result<Vec<Write>, ControlError> {
        let (limits, discharge, charge) = match mode {
            OperationMode::SelfReliance => (0, FULL_RATE, FULL_RATE),
            OperationMode::ImportFocus => (LIMITS_BOTH, -FULL_RATE, FULL_RATE),
            OperationMode::ExportFocus => (LIMITS_BOTH, FULL_RATE, -FULL_RATE),
            OperationMode::Idle => (LIMITS_BOTH, 0.0, 0.0),
            OperationMode::TimeOfUse => return Err(ControlError::NoSuchMode { mode }),
        };
        let control = Write { offset: STORAGE_CONTROL_MODE, values: vec![limits] };
        if limits == 0 {
            // A device that never had a limit of ours need not have its registers.
            return Ok(vec![control]);
        }
        self.revert_seconds.ok_or(ControlError::NoTimer)?;
        let can_limit = self.discharge_rate.is_some() && self.charge_rate.is_some();
        let power = self.rate_power.filter(|_| can_limit).ok_or(ControlError::NoRates)?;
        let encode = |rate| encode_rate(rate, power).ok_or(ControlError::NoRates);
        Ok(vec![
            Write { offset: REVERT_SECONDS, values: vec![revert_seconds] },
            Write { offset: DISCHARGE_RATE, values: vec![encode(discharge)?, encode(charge)?] },
            control,
        ])
    }
}

/// A percentage as an `int16` with a scale factor; `None` if it is no whole number of its steps, or
/// too many of them.
fn encode_rate(percent: f64, power: i32) -> Option<u16> {
    let steps = scale(percent, -power);
    // One more than the least, which is the value of a point that is not implemented.
    let bounds = f64::from(i16::MIN + 1)..=f64::from(i16::MAX);
    let fits = steps.fract() == 0.0 && bounds.contains(&steps);
    fits.then(|| (steps as i16).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A model 124 that implements what storage control needs.
    fn registers(limits: u16, discharge: i16, charge: i16) -> Vec<u16> {
        let mut registers = vec![0xFFFF; 26];
        registers[..2].copy_from_slice(&[124, 24]);
        registers[5] = limits;
        registers[12] = discharge.cast_unsigned();
        registers[13] = charge.cast_unsigned();
        registers[15] = 0;
        registers[25] = (-2_i16).cast_unsigned();
        registers
    }

    fn read(registers: &[u16]) -> StorageControl {
        StorageControl::read(&Points::new(registers.to_vec()))
    }

    fn mode(limits: u16, discharge: i16, charge: i16) -> Option<OperationMode> {
        read(&registers(limits, discharge, charge)).operation_mode()
    }

    #[test]
    fn limits_amount_to_a_mode() {
        assert_eq!(mode(0, -5000, -5000), Some(OperationMode::SelfReliance));
        assert_eq!(mode(3, -10_000, 10_000), Some(OperationMode::ImportFocus));
        assert_eq!(mode(2, -5000, 0), Some(OperationMode::ImportFocus));
        assert_eq!(mode(1, 0, -5000), Some(OperationMode::ExportFocus));
        assert_eq!(mode(3, 0, 0), Some(OperationMode::Idle));
        // Only discharging is limited, half of the power, and a contradiction.
        assert_eq!((mode(2, 0, 0), mode(3, 5000, 5000), mode(3, -1, -1)), (None, None, None));
        assert_eq!((mode(0xFFFF, 0, 0), mode(3, i16::MIN, 0)), (None, None));
        // Bits beyond the two are not ours.
        assert_eq!(mode(4, 0, 0), Some(OperationMode::SelfReliance));
    }

    #[test]
    fn the_timer_and_the_limits_are_written_before_they_are_switched_on() {
        let control = read(&registers(0, 10_000, 10_000));
        let writes = control.list_writes(OperationMode::ImportFocus, 1800).unwrap();
        let expected = [
            Write { offset: 15, values: vec![1800] },
            Write { offset: 12, values: vec![(-10_000_i16).cast_unsigned(), 10_000] },
            Write { offset: 5, values: vec![3] },
        ];
        assert_eq!(writes, expected);
        let released = control.list_writes(OperationMode::SelfReliance, 1800).unwrap();
        assert_eq!(released, [Write { offset: 5, values: vec![0] }]);
    }

    #[test]
    fn devices_that_cannot_return_by_themselves_are_refused() {
        let refused = |offset: usize, value: u16| {
            let mut changed = registers(0, 10_000, 10_000);
            changed[offset] = value;
            read(&changed).list_writes(OperationMode::Idle, 1800).unwrap_err()
        };
        assert_eq!(refused(15, 0xFFFF), ControlError::NoTimer);
        assert_eq!(refused(12, 0x8000), ControlError::NoRates);
        assert_eq!(refused(25, 0x8000), ControlError::NoRates);
        let control = read(&registers(0, 0, 0));
        let mode = OperationMode::TimeOfUse;
        assert_eq!(control.list_writes(mode, 1800), Err(ControlError::NoSuchMode { mode }));
    }

    #[test]
    fn rates_are_written_in_steps_of_the_device() {
        let rate = |percent, power| encode_rate(percent, power).map(u16::cast_signed);
        assert_eq!(
            (rate(100.0, -2), rate(-100.0, 0), rate(100.0, 1)),
            (Some(10_000), Some(-100), Some(10))
        );
        assert_eq!((rate(100.0, 3), rate(100.0, -3), rate(-100.0, -10)), (None, None, None));
        assert_eq!(rate(0.0, 10), Some(0));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_the_mode(
            mode in prop::sample::select(OperationMode::ALL.to_vec()),
            mut device in prop::collection::vec(any::<u16>(), 26..=26),
            revert_seconds in 1_u16..0xFFFF,
        ) {
            let Ok(writes) = read(&device).list_writes(mode, revert_seconds) else { return Ok(()) };
            for write in writes {
                let start = usize::from(write.offset);
                device[start..start + write.values.len()].copy_from_slice(&write.values);
            }
            prop_assert_eq!(read(&device).operation_mode(), Some(mode));
            if mode != OperationMode::SelfReliance {
                prop_assert_eq!(device[15], revert_seconds);
            }
        }
    }
}
