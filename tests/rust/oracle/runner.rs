//! Runs a property on seeded random values.
use std::env;
use std::fmt::Debug;

use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseResult, TestRng, TestRunner,
};

/// Seeds of cases that failed once; they run first, in every property.
const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rust/oracle/regressions.txt");

/// Tries `test` on so many values, times `ORACLE_SCALE`.
///
/// # Panics
/// A value fails; the message has it in its smallest form, and the seed.
#[track_caller]
pub(crate) fn for_all<V: Debug>(
    cases: u32,
    values: &BoxedStrategy<V>,
    test: impl Fn(V) -> TestCaseResult,
) {
    let seed = variable("ORACLE_SEED", 20_260_105);
    let config = Config {
        cases: cases * variable("ORACLE_SCALE", 1),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    if let Err(failure) = TestRunner::new_with_rng(config, rng).run(values, test) {
        panic!("{failure}\nORACLE_SEED={seed}");
    }
}

fn variable(name: &str, default: u32) -> u32 {
    env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a whole number"))
    })
}

/// Whether two numbers agree to a part of the larger one, or of 1.
pub(crate) fn near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * a.abs().max(b.abs()).max(1.0)
}
