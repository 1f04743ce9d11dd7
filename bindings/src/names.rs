//! Names of arguments, columns and results: earlier ones, and those that somebody else uses.
//!
//! One table serves keywords, columns of tables, attributes and options. A name is looked up where
//! nothing reads it, together with the names that are read there, so that `gap` is refused of the
//! plan of an area, which has `relative_gap`, and not of the plan of a vehicle, which has `gap`.

use pyo3::prelude::*;

/// Earlier names and today's. `Owner.name` is the name within one class.
const RENAMED: [(&str, &str); 40] = [
    ("Discharge.efficiency", "discharge_efficiency"),
    ("Discharge.power_max_kw", "discharge_max_kw"),
    ("UnmetNeed", "Shortfall"),
    ("added_per_kwh", "congestion_price_per_kwh"),
    ("charge_limit", "charge_limit_percent"),
    ("charge_max_kw", "power_max_kw"),
    ("co2", "carbon"),
    ("costs", "wish_costs"),
    ("due", "deadline"),
    ("efficiency_discharge", "discharge_efficiency"),
    ("expected_missing_kwh", "expected_shortfall_kwh"),
    ("export_limit_price_per_kwh", "export_breach_price_per_kwh"),
    ("fill_when_worth", "fill_when_negative"),
    ("gap", "relative_gap"),
    ("limit", "limit_kw"),
    ("limit_price_per_kwh", "breach_price_per_kwh"),
    ("marginal_price", "marginal_price_per_kwh"),
    ("max_rounds", "rounds_max"),
    ("missing_cost", "shortfall_cost"),
    ("missing_kwh", "shortfall_kwh"),
    ("missing_max_kwh", "shortfall_max_kwh"),
    ("missing_minutes", "shortfall_minutes"),
    ("peak_kw", "peak_incurred_kw"),
    ("power_kw", "power_max_kw"),
    ("power_max", "power_max_kw"),
    ("price_per_kw", "peak_price_per_kw"),
    ("reproducible", "is_reproducible"),
    ("shadow_prices", "shadow_price_per_kwh"),
    ("soc", "soc_percent"),
    ("soc_end_percent", "target_percent"),
    ("soc_max_percent", "charge_limit_percent"),
    ("target", "target_percent"),
    ("unmanaged_cost", "baseline_cost"),
    ("unmanaged_load_kw", "baseline_load_kw"),
    ("unmet", "shortfalls"),
    ("unmet_bound_kwh", "shortfall_bound_kwh"),
    ("unmet_kwh", "shortfall_kwh"),
    ("vehicle_missing_kwh", "vehicle_shortfall_kwh"),
    ("wear_per_kwh", "wear_price_per_kwh"),
    ("wear_price", "wear_price_per_kwh"),
];

/// Names of other functions, other programs and everyday language, and ours.
const OTHER_NAMES: [(&str, &str); 23] = [
    ("baseline_kw", "non_smart_kw"),
    ("baseline_kwh", "non_smart_kwh"),
    ("battery_kwh", "capacity_kwh"),
    ("charge_efficiency", "efficiency"),
    ("efficiency_charge", "efficiency"),
    ("end_value", "end_value_per_kwh"),
    ("energy_required_kwh", "energy_kwh"),
    ("expires", "valid_until"),
    ("expiry", "valid_until"),
    ("now", "arrival"),
    ("plugged_in", "arrival"),
    ("plugged_out", "departure"),
    ("price", "price_per_kwh"),
    ("required_kwh", "energy_kwh"),
    ("soc_min_percent", "reserve_percent"),
    ("soc_start_percent", "soc_percent"),
    ("target_soc_percent", "target_percent"),
    ("time_limit", "time_max"),
    ("valid_till", "valid_until"),
    ("valid_to", "valid_until"),
    ("deadline", "departure"),
    ("deadline", "by"),
    ("power", "power_max_kw"),
];

/// Name that is read in place of one that is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meant<'a> {
    /// The name had this one as its successor.
    Renamed(&'a str),
    /// Another name for the same, or a slip of the pen.
    Near(&'a str),
}

/// Finds the name that `given` stands for, among those that are read.
pub(crate) fn find_meant<'a>(given: &str, owner: &str, known: &[&'a str]) -> Option<Meant<'a>> {
    let find = |name: &str| known.iter().find(|known| **known == name).copied();
    let own = format!("{owner}.{given}");
    let mut earlier = RENAMED.iter().filter(|(old, _)| *old == own || *old == given);
    if let Some(name) = earlier.find_map(|(_, new)| find(new)) {
        return Some(Meant::Renamed(name));
    }
    let mut others = OTHER_NAMES.iter().filter(|(other, _)| *other == given);
    let other = others.find_map(|(_, ours)| find(ours));
    let near = || known.iter().find(|name| is_near(given, name)).copied();
    // A slip of the pen in somebody else's name.
    let near_other = || {
        let mut others = OTHER_NAMES.iter().filter(|(other, _)| is_near(given, other));
        others.find_map(|(_, ours)| find(ours))
    };
    other.or_else(near).or_else(near_other).map(Meant::Near)
}

/// Whether one name may be a slip of the pen for the other: one letter is
/// wrong, missing, too many or swapped, or two of a long name, but none of a
/// name of four, which `note` and `node` would share; its words are in
/// another order, or its unit is missing.
fn is_near(given: &str, name: &str) -> bool {
    let slips = match name.len() {
        0..5 => 0,
        5..8 => 1,
        _ => 2,
    };
    let (given, name) = (given.to_lowercase(), name.to_lowercase());
    let given = given.replace([' ', '-'], "_");
    strsim::osa_distance(&given, &name) <= slips || has_words_of(&given, &name)
}

/// Units at the end of names.
const UNITS: [&str; 9] =
    ["celsius", "kg", "kw", "kwh", "per_kg", "per_kw", "per_kwh", "percent", "price_per_kwh"];

/// Whether a name has the words of another one in any order, without its unit or with it:
/// `power_min`, `max_power_kw` and `price_kwh` for `power_min_kw`, `power_max_kw` and
/// `price_per_kwh`.
fn has_words_of(given: &str, name: &str) -> bool {
    let mut without = UNITS.iter().filter_map(|unit| name.strip_suffix(unit)?.strip_suffix('_'));
    has_same_words(given, name) || without.any(|name| has_same_words(given, name))
}

/// Whether two names have the same words in any order, as `max_power_kw` and `power_max_kw`.
pub(crate) fn has_same_words(given: &str, name: &str) -> bool {
    words(given) == words(name)
}

/// Words of a name in the order of the alphabet.
fn words(name: &str) -> Vec<&str> {
    let mut words: Vec<&str> = name.split('_').filter(|word| *word != "per").collect();
    words.sort_unstable();
    words
}

/// Name that is meant by one that nothing reads, and whether it is its successor.
#[pyfunction]
pub(crate) fn meant_name(given: &str, owner: &str, known: Vec<String>) -> Option<(String, bool)> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    find_meant(given, owner, &known).map(|meant| match meant {
        Meant::Renamed(name) => (name.to_owned(), true),
        Meant::Near(name) => (name.to_owned(), false),
    })
}

/// Earlier names and today's, for the documentation.
#[pyfunction]
pub(crate) fn renamed_names() -> Vec<(&'static str, &'static str)> {
    RENAMED.to_vec()
}
