//! Printing to the standard output.
use std::io::{self, Write};

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
