//! A control box that writes one limit, for trials of `slackwater-eebus` without a device.
//!
//! ```sh
//! control_box KEY_FILE                                # prints its SKI, for --trust
//! control_box KEY_FILE SKI ADDRESS WATTS [SECONDS]    # writes a limit to the program with a SKI
//! ```
//!
//! It goes on until it is stopped, and prints the answers. It is made of the same library as the program.
#![expect(clippy::unwrap_used, reason = "an example for trials is blunt")]

#[path = "../tests/exchange/control_box.rs"]
mod control_box;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use eebus::usecases::limitation::LimitWrite;
use slackwater_eebus::identity::open_identity;
use tokio::time::interval;

use control_box::{BoxState, ControlBox, SharedBox};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let identity = open_identity(Path::new(&arguments[0])).unwrap();
    println!("SKI {}", identity.ski.to_display_string());
    let [_, ski, address, watts, rest @ ..] = &arguments[..] else { return };
    let duration = rest.first().map(|seconds| Duration::from_secs(seconds.parse().unwrap()));
    let limit = LimitWrite { is_active: true, watts: watts.parse().unwrap(), duration };
    let state = BoxState { limit: Some(limit), ..BoxState::default() };
    let state: SharedBox = Arc::new(Mutex::new(state));
    let (system, address) = (ski.parse().unwrap(), address.parse().unwrap());
    let control_box = ControlBox::connect(identity, system, address, state.clone());
    tokio::join!(control_box.run_forever(), print_answers(&state));
}

async fn print_answers(state: &SharedBox) {
    let mut looks = interval(Duration::from_millis(100));
    loop {
        looks.tick().await;
        let mut state = state.lock().unwrap();
        for (limit, is_taken) in state.answers.drain(..) {
            println!("{} {limit:?}", if is_taken { "acknowledged" } else { "refused" });
        }
        for is_taken in state.fail_safe_answers.drain(..) {
            println!("fail-safe {}", if is_taken { "acknowledged" } else { "refused" });
        }
        if std::mem::take(&mut state.failures) > 0 {
            println!("not connected");
        }
    }
}
