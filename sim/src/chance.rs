//! Pseudo-random draws: each is a function of a seed and the subject of the draw.
//!
//! A draw does not depend on the draws before it. Any order of draws, and any repetition, gives
//! the same values.
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use slackwater_engine::units::Percent;

/// Source of draws. Narrow it down to the subject of a draw ([`Chance::of`], [`Chance::at`]),
/// then draw.
///
/// # Example
///
/// ```
/// use slackwater_sim::chance::Chance;
/// let monday = Chance::seeded(7).of("ada-car").at(20_458);
/// assert_eq!(monday.share(), Chance::seeded(7).of("ada-car").at(20_458).share());
/// assert_ne!(monday.share(), Chance::seeded(8).of("ada-car").at(20_458).share());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Chance(u64);

impl Chance {
    /// All draws of a seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self(mixed(seed))
    }

    /// The draws about something with a name.
    #[must_use]
    pub fn of(self, name: &str) -> Self {
        let folded = name.bytes().fold(self.0, |sum, byte| mixed(sum ^ u64::from(byte)));
        Self(mixed(folded ^ name.len() as u64))
    }

    /// The draws about something with a number.
    #[must_use]
    pub const fn at(self, number: i64) -> Self {
        Self(mixed(self.0 ^ mixed(number as u64)))
    }

    /// A number in `[0, 1)`, each as likely as any other.
    #[must_use]
    pub fn share(self) -> f64 {
        // The 53 upper bits are as many as a double holds.
        (mixed(self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number in `[low, high)`; `low` if there is none.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> f64 {
        low + self.share() * (high - low).max(0.0)
    }

    /// A whole number below `count`; zero if `count` is.
    #[must_use]
    pub fn below(self, count: usize) -> usize {
        ((self.share() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// A length of time from `low` up to `high`, to the microsecond.
    #[must_use]
    pub fn length(self, low: TimeDelta, high: TimeDelta) -> TimeDelta {
        let micros = |length: TimeDelta| length.num_microseconds().unwrap_or(i64::MAX) as f64;
        TimeDelta::microseconds(self.between(micros(low), micros(high)) as i64)
    }

    /// Returns true with a probability of `percent`.
    #[must_use]
    pub fn happens(self, percent: Percent) -> bool {
        self.share() * 100.0 < percent.as_percent()
    }
}

/// A bijection of 64 bits in which each bit of the input moves half of the
/// output's: the finaliser of `SplitMix64`.
const fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::units::percent;

    #[test]
    fn draws_spread_evenly_and_differ_by_name_and_number() {
        let chance = Chance::seeded(1).of("x");
        let shares: Vec<f64> = (0..10_000).map(|n| chance.at(n).share()).collect();
        assert!(shares.iter().all(|share| (0.0..1.0).contains(share)));
        let mean = shares.iter().sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        for tenth in 0..10 {
            let low = f64::from(tenth) / 10.0;
            let within = shares.iter().filter(|share| (low..low + 0.1).contains(*share)).count();
            assert!((900..1100).contains(&within), "{within} from {low}");
        }
        assert_ne!(Chance::seeded(1).of("ab").of("c"), Chance::seeded(1).of("a").of("bc"));
    }

    #[test]
    fn bounds_are_kept() {
        let chance = Chance::seeded(2);
        for n in 0..1000 {
            assert!((15.0..20.0).contains(&chance.at(n).between(15.0, 20.0)));
            assert!(chance.at(n).below(3) < 3);
            assert!(!chance.at(n).happens(percent(0.0)) && chance.at(n).happens(percent(100.0)));
        }
        assert_eq!((chance.below(0), chance.between(2.0, 1.0)), (0, 2.0));
        let length = chance.length(TimeDelta::seconds(15), TimeDelta::seconds(20));
        assert!(length >= TimeDelta::seconds(15) && length < TimeDelta::seconds(20));
    }
}
