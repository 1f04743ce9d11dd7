//! Verification of certificates.
use pyo3::prelude::*;
use slackwater_engine::plan as engine;

record! {
    /// One statement of a certificate beside the number that its own data give.
    pub(crate) struct CertificateCheck {
        /// Name of the statement, such as `bound` or `requirements[0].energy_kwh`.
        line: String,
        /// Number that the certificate states; 0 for a rule, which nothing may break.
        stated: f64,
        /// Number computed from the data; for a rule, how far the data break it.
        computed: f64,
        /// Computed less stated number.
        difference: f64,
        /// Difference that counts as rounding; 0 or more.
        tolerance: f64,
        /// True if the difference is rounding.
        holds: bool,
    }

    /// All statements of a certificate, computed anew from its own data.
    pub(crate) struct Verification {
        /// True if every statement holds.
        holds: bool,
        /// Names of the statements that do not hold; empty if all do.
        failed: Vec<String>,
        /// One check per statement: rules of the data, then cost, bound, gap and proof.
        checks: Vec<CertificateCheck>,
    }
}

impl Verification {
    /// Truth of all statements, names of those that do not hold, and the checks.
    pub(crate) fn into_parts(self) -> (bool, Vec<String>, Vec<CertificateCheck>) {
        (self.holds, self.failed, self.checks)
    }

    /// The checks of the engine.
    pub(crate) fn new(checks: Vec<engine::Check>) -> Self {
        let failing = checks.iter().filter(|check| !check.holds());
        let failed: Vec<String> = failing.map(|check| check.line.clone()).collect();
        let check = |check: engine::Check| CertificateCheck {
            difference: check.difference(),
            holds: check.holds(),
            line: check.line,
            stated: check.stated,
            computed: check.computed,
            tolerance: check.tolerance,
        };
        let checks = checks.into_iter().map(check).collect();
        Self { holds: failed.is_empty(), failed, checks }
    }
}
