//! The welcome of a sandbox: each command that it prints works.
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::command_line::{program, run};

#[tokio::test]
async fn each_command_of_the_welcome_works() {
    let folder = tempfile::tempdir().unwrap();
    let serve = ["serve", "--scenario", "street", "--clock", "1x", "--welcome", "--listen"];
    let mut command = program(&[&serve[..], &["127.0.0.1:0"]].concat());
    command.current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
    let lines: Vec<String> =
        lines.take_while(|line| !line.starts_with("Documentation: ")).collect();
    let admin =
        lines.iter().find_map(|line| line.trim().strip_prefix("export SLACKWATER_ADMIN_URL="));
    let commands = lines.iter().filter_map(|line| line.trim().strip_prefix("slackwater-api "));
    let commands: Vec<&str> = commands.collect();
    let of_charger = commands.iter().filter(|command| command.starts_with("command "));
    assert!(of_charger.count() > 0, "{lines:?}");
    let mut failures = Vec::new();
    for words in &commands {
        let words: Vec<&str> = words.split(' ').collect();
        let mut command = program(&words);
        command.env("SLACKWATER_ADMIN_URL", admin.unwrap());
        let (is_done, _, error) = run(command).await;
        if !is_done {
            failures.push(format!("{words:?}: {error}"));
        }
    }
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(failures.is_empty(), "{failures:?}");
}
