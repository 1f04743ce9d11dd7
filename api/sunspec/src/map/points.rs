//! Points of a model: numbers and texts in its registers.
//!
//! Each type of point has a value that stands for *not implemented*. Such a point, and one beyond
//! the end of the registers, is `None` and never zero:
//!
//! | Type | Registers | Not implemented |
//! |---|---|---|
//! | `int16`, `sunssf` | 1 | `0x8000` |
//! | `uint16`, `enum16`, `bitfield16` | 1 | `0xFFFF` |
//! | `uint64` | 4 | `0xFFFF_FFFF_FFFF_FFFF` |
//! | `acc32` | 2 | 0 |
//! | `float32` | 2 | NaN |
//! | `string` | as defined | first byte 0 |
//!
//! Registers are big-endian, and so is their order within a point.

/// Value of a signed point that a device does not implement.
const NO_INT16: u16 = 0x8000;

/// Value of an unsigned point that a device does not implement.
const NO_UINT16: u16 = 0xFFFF;

/// Powers of ten that a scale factor may have.
const SCALE_FACTORS: std::ops::RangeInclusive<i16> = -10..=10;

/// Registers of one model, from its identifier on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Points(Vec<u16>);

impl Points {
    /// Points in registers.
    #[must_use]
    pub const fn new(registers: Vec<u16>) -> Self {
        Self(registers)
    }

    fn read_registers<const N: usize>(&self, offset: usize) -> Option<[u16; N]> {
        self.0.get(offset..)?.first_chunk().copied()
    }

    /// A `uint16`, `enum16` or `bitfield16`.
    #[must_use]
    pub fn read_uint16(&self, offset: usize) -> Option<u16> {
        self.read_registers::<1>(offset).map(|[value]| value).filter(|value| *value != NO_UINT16)
    }

    /// An `int16`.
    #[must_use]
    pub fn read_int16(&self, offset: usize) -> Option<i16> {
        let value = self.read_registers::<1>(offset).map(|[value]| value);
        value.filter(|value| *value != NO_INT16).map(u16::cast_signed)
    }

    /// An `acc32`: a count that begins at 1.
    #[must_use]
    pub fn read_acc32(&self, offset: usize) -> Option<u32> {
        self.read_uint32(offset).filter(|count| *count != 0)
    }

    /// A `uint64`.
    #[must_use]
    pub fn read_uint64(&self, offset: usize) -> Option<u64> {
        let registers = self.read_registers::<4>(offset)?;
        let value = registers.iter().fold(0, |high, low| (high << 16) | u64::from(*low));
        Some(value).filter(|value| *value != u64::MAX)
    }

    /// A `float32`; infinity is no measured value, either.
    #[must_use]
    pub fn read_float32(&self, offset: usize) -> Option<f64> {
        let value = f32::from_bits(self.read_uint32(offset)?);
        value.is_finite().then(|| f64::from(value))
    }

    fn read_uint32(&self, offset: usize) -> Option<u32> {
        let [high, low] = self.read_registers(offset)?;
        Some((u32::from(high) << 16) | u32::from(low))
    }

    /// A `sunssf`: the power of ten by which another point is multiplied. One that is out of bounds
    /// is `None`, as one that is not implemented, and with it all points that need it.
    #[must_use]
    pub fn read_scale_factor(&self, offset: usize) -> Option<i32> {
        let power = self.read_int16(offset)?;
        SCALE_FACTORS.contains(&power).then(|| i32::from(power))
    }

    /// A `string` of so many registers, without what fills it up.
    #[must_use]
    pub fn read_text(&self, offset: usize, registers: usize) -> Option<String> {
        let registers = self.0.get(offset..offset.checked_add(registers)?)?;
        let bytes: Vec<u8> = registers.iter().flat_map(|register| register.to_be_bytes()).collect();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let text = String::from_utf8_lossy(&bytes[..end]).trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    }
}

/// A number times a power of ten. Negative powers divide, so that 5,230 W are 5.23 kW to the last
/// bit.
#[must_use]
pub fn scale(value: f64, power: i32) -> f64 {
    let factor = 10_f64.powi(power.abs());
    if power < 0 { value / factor } else { value * factor }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_implemented_is_absent() {
        let points = Points::new(vec![0x8000, 0xFFFF, 0, 0, 0x7FC0, 0x0000, 0x7F80, 0x0000]);
        assert_eq!((points.read_int16(0), points.read_uint16(0)), (None, Some(0x8000)));
        assert_eq!((points.read_int16(1), points.read_uint16(1)), (Some(-1), None));
        assert_eq!((points.read_int16(2), points.read_uint16(2)), (Some(0), Some(0)));
        assert_eq!(points.read_acc32(2), None, "a count of 0 was never counted");
        assert_eq!((points.read_float32(2), points.read_float32(4)), (Some(0.0), None));
        assert_eq!(points.read_float32(6), None, "infinity");
        assert_eq!(Points::new(vec![0xFFFF; 4]).read_uint64(0), None);
        assert_eq!(Points::new(vec![0, 0, 1, 2]).read_uint64(0), Some(0x1_0002));
        assert_eq!(Points::new(vec![0, 7]).read_acc32(0), Some(7));
    }

    #[test]
    fn what_lies_beyond_the_end_is_absent() {
        let points = Points::new(vec![1]);
        assert_eq!((points.read_uint16(1), points.read_acc32(0)), (None, None));
        assert_eq!((points.read_uint64(usize::MAX), points.read_text(1, usize::MAX)), (None, None));
    }

    #[test]
    fn scale_factors_have_bounds() {
        let read = |power: i16| Points::new(vec![power.cast_unsigned()]).read_scale_factor(0);
        assert_eq!((read(-10), read(10), read(0)), (Some(-10), Some(10), Some(0)));
        assert_eq!((read(-11), read(11), read(i16::MIN)), (None, None, None));
        assert_eq!(scale(5230.0, -3).to_bits(), 5.23_f64.to_bits());
        assert_eq!(scale(-5.0, 2).to_bits(), (-500.0_f64).to_bits());
    }

    #[test]
    fn texts_end_at_their_first_zero() {
        let text = |bytes: &[u8]| {
            let registers = bytes.chunks(2).map(|two| u16::from_be_bytes([two[0], two[1]]));
            Points::new(registers.collect()).read_text(0, bytes.len() / 2)
        };
        assert_eq!(text(b"Fjord\0xx").as_deref(), Some("Fjord"));
        assert_eq!(text(b"Fjord   ").as_deref(), Some("Fjord"));
        assert_eq!(text(b"Fjordane").as_deref(), Some("Fjordane"));
        assert_eq!((text(b"\0\0\0\0"), text(b"    ")), (None, None));
    }

    proptest! {
        #[test]
        fn no_registers_are_a_panic(
            registers in prop::collection::vec(any::<u16>(), 0..20),
            offset in 0_usize..30,
            length in 0_usize..30,
        ) {
            let points = Points::new(registers);
            let _ = (points.read_uint16(offset), points.read_int16(offset));
            let _ = (points.read_acc32(offset), points.read_uint64(offset));
            let _ = points.read_text(offset, length);
            if let Some(value) = points.read_float32(offset) {
                prop_assert!(value.is_finite());
            }
            if let Some(power) = points.read_scale_factor(offset) {
                prop_assert!(scale(f64::from(u32::MAX), power).is_finite());
            }
        }
    }
}
