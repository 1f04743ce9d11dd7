//! A stay while it is simulated: its meter, its steps, and the last plan of its policy.
use crate::plan::charge::plan::Plan;
use crate::plan::stability::budget::Budget;
use crate::simulate::device::ExactDevice;
use crate::simulate::facts::Stay;
use crate::simulate::regret::Relaxation;
use crate::simulate::settlement::Meter;
use crate::statistics::fixed::Amount;
use crate::time::instant::micros_of;

/// Plan that a policy remembers from its last decision for one stay.
#[derive(Debug, Default)]
pub struct Memory {
    pub(crate) last: Option<Box<(Plan, Budget)>>,
}

/// Time from one decision to the next, for one stay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// First microsecond since 1970.
    pub start: i64,
    /// First microsecond after it.
    pub end: i64,
    /// Energy drawn at the plug, in kWh.
    pub energy_kwh: f64,
    /// Energy at the plug that is missing at the end, in kWh.
    pub missing_kwh: f64,
    /// Cost of energy and starts. The costs of all steps add up to that of the stay.
    pub cost: Amount,
    /// Emissions of the energy in kg; 0 where they are not counted.
    pub carbon_kg: f64,
}

/// A stay while it is simulated.
pub(crate) struct Session {
    pub(crate) row: usize,
    pub(crate) home: u32,
    pub(crate) arrival: i64,
    pub(crate) departure: i64,
    pub(crate) meter: Meter,
    pub(crate) decisions: u32,
    pub(crate) steps: Vec<Step>,
    pub(crate) memory: Memory,
}

impl Session {
    /// The stay `row` under relaxed conditions, before its arrival.
    pub(crate) fn new(row: usize, stay: &Stay, relaxed: Relaxation) -> Self {
        let (device, need) = relaxed.device(stay);
        Self {
            row,
            home: stay.home,
            arrival: micros_of(stay.arrival),
            departure: micros_of(stay.departure),
            meter: Meter::new(ExactDevice::new(&device), need),
            decisions: 0,
            steps: Vec::new(),
            memory: Memory::default(),
        }
    }
}
