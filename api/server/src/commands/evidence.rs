//! Keys of evidence, and its check without a server.
use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;
use slackwater_store::evidence::{EvidenceKey, EvidenceKeyError, EvidencePublicKey, check_log};

use crate::commands::failure::Failure;
use crate::commands::output::print;

#[derive(Debug, Subcommand)]
pub(crate) enum EvidenceCommand {
    /// Make a key that signs evidence, in a new file that only its owner reads, and print the public
    /// key, with which others check the evidence.
    Key {
        /// The file, for `grid.NAME.evidence_key_file` of the settings.
        file: PathBuf,
    },
    /// Print the public key of a key.
    PublicKey {
        /// The file with the key.
        file: PathBuf,
    },
    /// Check that no line of evidence was changed, removed or added, and that it was signed. It needs
    /// no server, no settings and no private key. It fails with the first line that is wrong, and if
    /// nothing is signed.
    Check {
        /// The file with the evidence.
        file: PathBuf,
        /// The public key of whoever wrote it.
        #[arg(long, value_name = "KEY", value_parser = parse_key)]
        public_key: EvidencePublicKey,
    },
}

/// Makes a key or checks evidence.
pub(crate) fn run_evidence_command(command: &EvidenceCommand) -> Result<(), Failure> {
    match command {
        EvidenceCommand::Key { file } => {
            let key = EvidenceKey::create_file(file)?;
            print(&key.public_key().to_string())
        }
        EvidenceCommand::PublicKey { file } => {
            print(&EvidenceKey::read_file(file)?.public_key().to_string())
        }
        EvidenceCommand::Check { file, public_key } => {
            let checked = check_log(file, public_key)?;
            print(&format!("{:#}", json!(checked)))?;
            // Whoever writes a chain anew can leave the signatures out, or all of it.
            if checked.signatures == 0 {
                return Err(Failure::Unsigned { file: file.clone(), lines: checked.lines });
            }
            Ok(())
        }
    }
}

fn parse_key(given: &str) -> Result<EvidencePublicKey, EvidenceKeyError> {
    given.parse()
}
