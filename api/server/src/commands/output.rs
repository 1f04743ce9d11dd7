//! Printing to the standard output.
use std::io::{self, Write};

use serde_json::Value;

use crate::commands::failure::Failure;

/// Prints a text and ends its line.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write(text).map_err(Failure::Print)
}

/// Prints a text with a secret that nobody can read again. A reader that has gone, such as
/// `head`, is a failure here.
pub(crate) fn print_secret(text: &str) -> Result<(), Failure> {
    write(text).map_err(Failure::SecretLost)
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.trim_end_matches('\n'))?;
    out.flush()
}

/// Warning about an area without homes, for an answer with its zone, name and number of homes: a limit
/// there bounds nothing, and its name may be mistyped.
pub(crate) fn describe_lack_of_homes(shown: &Value) -> Option<String> {
    let (zone, area) = (shown["zone"].as_str()?, shown["area"].as_str()?);
    (shown["homes"] == 0).then(|| {
        format!(
            "no home is in the area {area:?} of the zone {zone:?}: the limit bounds nothing yet"
        )
    })
}
