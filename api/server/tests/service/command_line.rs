//! The program as a user of a terminal calls it.
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use expect_test::expect_file;
use serde_json::{Value, json};
use slackwater_integration::registry::Registry;
use slackwater_server::running::{Service, Stop};
use slackwater_service::clock::Clock;
use slackwater_service::config::{Config, Listener};
use slackwater_store::evidence::{EvidenceKey, EvidenceLog};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::golden::golden;
use crate::harness::{add_zone, six};

const TOKEN: &str = "0123456789abcdefghij";

/// The program, with nothing of this process's settings.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slackwater-api"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// The program on a database of its own.
fn in_store(arguments: &[&str], url: &str) -> Command {
    let mut command = program(arguments);
    command.env("SLACKWATER_STORE__URL", url);
    command
}

/// Runs the program beside the server of the test.
pub(crate) async fn run(mut command: Command) -> (bool, String, String) {
    let output = spawn_blocking(move || command.output()).await.unwrap();
    let Output { status, stdout, stderr } = output.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.success(), text(stdout), text(stderr))
}

struct Running {
    folder: TempDir,
    admin: String,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

async fn serve() -> Running {
    serve_with(|_| ()).await
}

async fn serve_with(change: impl FnOnce(&mut Config)) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::default();
    let url = format!("sqlite:{}", folder.path().join("kept.db").display());
    config.store.url = url.parse().unwrap();
    let free = || Listener { listen: "127.0.0.1:0".parse().unwrap(), url: None };
    let doors = config.environments.sandbox.as_mut().unwrap();
    (doors.base, doors.auth, doors.link) = (free(), free(), free());
    config.admin.listen = free().listen;
    config.admin.token = Some(TOKEN.parse().unwrap());
    add_zone(&mut config);
    change(&mut config);
    let service = Service::start(config, Clock::fixed(six()), &Registry::new()).await.unwrap();
    let admin = service.admin_url().to_owned();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(async move {
        let stop = async {
            stopped.await.unwrap();
            Stop::AtOnce
        };
        service.run(stop).await.unwrap();
    });
    Running { folder, admin, stop, server }
}

#[tokio::test]
async fn clients_and_events_are_those_of_the_running_server() {
    let Running { folder, admin, stop, server } = serve().await;
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let ask = |arguments: &[&str]| {
        let mut command = program(arguments);
        command.env("SLACKWATER_ADMIN_URL", &admin).env("SLACKWATER_ADMIN_TOKEN", TOKEN);
        command.current_dir(&elsewhere);
        command
    };
    let create = ["client", "create", "--environment", "sandbox", "--name", "mine"];
    let (is_done, made, error) = run(ask(&create)).await;
    assert!(is_done, "{error}");
    let made: Value = serde_json::from_str(&made).unwrap();
    let id = made["client_id"].as_str().unwrap();
    let image = include_str!("../../../../Dockerfile").split_once("HEALTHCHECK").unwrap().1;
    let check = image.split_once("CMD [").unwrap().1.split_once(']').unwrap().0;
    let check: Vec<&str> = check.split(", ").map(|word| word.trim_matches('"')).collect();
    let (is_done, alive, error) = run(ask(&check[1..])).await;
    assert!(is_done && alive.contains("is_alive"), "{error}");
    let (_, all, _) = run(ask(&["client", "list"])).await;
    assert!(all.contains(id) && !all.contains(made["client_secret"].as_str().unwrap()));
    let subscribe = ["events", "subscribe", "mine", "--client", id, "--url", "http://127.0.0.1:9/"];
    let (is_done, subscribed, error) = run(ask(&subscribe)).await;
    assert!(is_done, "{error}");
    let subscribed: Value = serde_json::from_str(&subscribed).unwrap();
    assert_eq!(subscribed["name"], "mine");
    let (is_done, _, error) = run(ask(&["events", "tail", "--once"])).await;
    assert!(is_done, "{error}");
    let (is_done, removed, error) = run(ask(&["events", "remove", "mine"])).await;
    assert!(is_done && removed.contains("mine"), "{error}");
    // No database of its own appears.
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    let (is_done, _, error) = run(program(&["client", "list", "--admin", &admin])).await;
    assert!(!is_done && error.contains("401"), "{error}");
    stop.send(()).unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn without_a_server_commands_say_so_or_use_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("kept.db").display());
    let nowhere = "http://127.0.0.1:1";
    let (is_done, _, error) = run(program(&["client", "list", "--admin", nowhere])).await;
    assert!(!is_done);
    for part in [nowhere, "refused", "slackwater-api serve", "--admin", "--store"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    for words in [&["client", "list", "--store"][..], &["events", "list", "--store"]] {
        let (is_done, _, error) = run(in_store(words, &url)).await;
        assert!(!is_done && error.contains("there is no database"), "{error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no database was made");
    let create = ["client", "create", "--environment", "sandbox", "--store"];
    let (is_done, made, error) = run(in_store(&create, &url)).await;
    assert!(is_done, "{error}");
    let made: Value = serde_json::from_str(&made).unwrap();
    let list = ["client", "list", "--store"];
    let mut list = program(&list);
    // Kubernetes sets such variables for a service of that name.
    list.env("SLACKWATER_STORE__URL", &url).env("SLACKWATER_API_PORT", "tcp://10.0.0.1:80");
    let (is_done, all, error) = run(list).await;
    assert!(is_done && all.contains(made["client_id"].as_str().unwrap()), "{error}");
}

#[tokio::test]
async fn a_database_that_is_away_is_told_with_its_place_and_the_cause() {
    let list = ["client", "list", "--store"];
    let url = "postgres://me:sesame@127.0.0.1:1/slackwater";
    let (is_done, _, error) = run(in_store(&list, url)).await;
    assert!(!is_done && !error.contains("sesame"), "{error}");
    let told = "cannot open PostgreSQL at 127.0.0.1:1: Connection refused";
    assert!(error.contains(told), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing/kept.db");
    let create = ["client", "create", "--environment", "sandbox", "--store"];
    let missing_url = format!("sqlite:{}", missing.display());
    let (is_done, _, error) = run(in_store(&create, &missing_url)).await;
    assert!(!is_done && error.contains(&missing.display().to_string()), "{error}");
}

#[tokio::test]
async fn a_limit_of_an_unknown_zone_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let url = format!("sqlite:{}", folder.path().join("kept.db").display());
    let path = file.display().to_string();
    for (limit, name) in [
        (
            "[[plans.limits]]\nzone = \"NO9\"\narea = \"north\"\npower_max_kw = 20.0\n",
            "plans.limits[0]",
        ),
        ("[grid.dso]\nzone = \"NO9\"\narea = \"north\"\n", "grid.dso"),
    ] {
        std::fs::write(&file, format!("[store]\nurl = \"{url}\"\n{limit}")).unwrap();
        let told = format!(
            "{name}.zone: neither [zones] nor the scenario of the sandbox has the zone \"NO9\""
        );
        for words in [&["serve", "--listen", "127.0.0.1:0"][..], &["config", "check"]] {
            let (is_done, _, error) = run(program(&[words, &["--config", &path]].concat())).await;
            assert!(!is_done && error.contains(&told), "{error}");
        }
    }
}

#[tokio::test]
async fn a_reader_that_has_had_enough_ends_a_command_quietly_and_loses_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("kept.db").display());
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    let mut openapi = program(&["openapi"]);
    openapi.stdout(closed());
    let (is_done, _, error) = run(openapi).await;
    assert!(is_done && error.is_empty(), "{error}");
    let create = ["client", "create", "--environment", "sandbox", "--store"];
    let mut create = program(&create);
    create.env("SLACKWATER_STORE__URL", &url).stdout(closed());
    let (is_done, _, error) = run(create).await;
    assert!(!is_done && error.contains("a secret that is shown only once"), "{error}");
    let list = ["client", "list", "--store"];
    let (_, all, error) = run(in_store(&list, &url)).await;
    assert_eq!(all, "[]\n", "{error}: no client was made whose secret nobody has");
}

/// Help of a command and of all commands below it, each under the words that call it.
fn help_of(words: &[&str], out: &mut String) {
    let all: Vec<&str> = words.iter().copied().chain(["--help"]).collect();
    let output = program(&all).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{words:?}");
    writeln!(out, "$ slackwater-api {}\n{help}", all.join(" ")).unwrap();
    let commands = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    // A command is indented by two spaces, the further lines of its text by more.
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in names.filter(|name| !["", "help"].contains(name)) {
        help_of(&[words, &[name]].concat(), out);
    }
}

#[test]
fn help_keeps_its_words() {
    let mut out = String::new();
    help_of(&[], &mut out);
    expect_file![golden("help.txt")].assert_eq(&out);
}

#[tokio::test]
async fn settings_are_checked_and_printed_without_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let path = file.display().to_string();
    let config = |words: &[&str]| program(&[&["config"], words, &["--config", &path]].concat());
    let url = "postgres://me:sesame@db/d";
    let good = format!("[store]\nurl = \"{url}\"\n[polling]\ntimeout_seconds = 7\n");
    std::fs::write(&file, &good).unwrap();
    let (is_done, out, warning) = run(config(&["check"])).await;
    assert!(is_done && out == "The settings can be used.\n", "{out} {warning}");
    let told = format!("warning: --config: every user of this machine can read {path}");
    assert!(warning.starts_with(&told), "{warning}");
    // What is printed is a file of settings that means the same, but for the secret.
    let (is_done, printed, _) = run(config(&["print"])).await;
    assert!(is_done && printed.contains("timeout_seconds = 7"), "{printed}");
    assert!(printed.contains("postgres://me:***@db/d") && !printed.contains("sesame"));
    std::fs::write(&file, printed.replace("***", "sesame")).unwrap();
    let (_, again, _) = run(config(&["print"])).await;
    assert_eq!(again, printed);
    let (_, json, _) = run(config(&["print", "--json"])).await;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["polling"]["timeout_seconds"], 7);
    let (_, schema, _) = run(program(&["config", "schema"])).await;
    assert_eq!(serde_json::from_str::<Value>(&schema).unwrap()["type"], "object");
}

#[tokio::test]
async fn every_fault_of_settings_is_told_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let check = ["config", "check", "--config", &file.display().to_string()];
    let door = |port| format!("{{ listen = \"127.0.0.1:{port}\" }}");
    let text = format!(
        "[sandbox]\nscenario = \"nowhere.yaml\"\nclock = \"fast\"\n\
         [zones.NO1]\ncurrency = \"NOK\"\nprices = {{ file = \"nowhere.csv\" }}\n\
         [[plans.limits]]\nzone = \"NO9\"\narea = \"a\"\npower_max_kw = 1.0\n\
         [environments.sandbox]\n[environments.production]\n\
         base = {}\nauth = {}\nlink = {}\n\
         integrations.a = {{ type = \"barn\" }}\n\
         integrations.b = {{ type = \"ocpp\", listen = \"127.0.0.1:0\", security_profile = 9, \
         state_folder = \".\" }}\n\
         [[events.subscriptions]]\nname = \"billing\"\nclient = \"not-a-uuid\"\n\
         url = \"http://127.0.0.1:9/\"\nevents = [\"nope\"]\n",
        door(1),
        door(2),
        door(3)
    );
    std::fs::write(&file, text).unwrap();
    let (is_done, _, error) = run(program(&check)).await;
    assert!(!is_done);
    for part in [
        "8 of the settings cannot be used",
        "sandbox.scenario: cannot read nowhere.yaml",
        "sandbox.clock: ",
        "zones.NO1.prices: cannot read nowhere.csv",
        "plans.limits[0].zone: neither [zones] nor the scenario of the sandbox has the zone \"NO9\"",
        "environments.production.integrations.a.type: there is no integration `barn`",
        "environments.production.integrations.b: security_profile: 9 is none of 0 to 3",
        "events.subscriptions[0].events: receivers see no event \"nope\"",
        "events.subscriptions[0].client: \"not-a-uuid\" is not the ID of a client",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[tokio::test]
async fn what_a_start_refuses_without_a_database_is_refused_by_a_check() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let path = file.display().to_string();
    let store = format!("[store]\nurl = \"sqlite:{}\"\n", folder.path().join("kept.db").display());
    let ocpp = "type = \"ocpp\", listen = \"127.0.0.1:0\", security_profile = 1";
    let state = folder.path().display();
    let production = format!(
        "{store}[environments.production]\nbase = {{ listen = \"127.0.0.1:0\" }}\n\
         auth = {{ listen = \"127.0.0.1:0\" }}\nlink = {{ listen = \"127.0.0.1:0\" }}\n\
         integrations.a = {{ {ocpp}, state_folder = \"{state}\" }}\n"
    );
    for (text, told) in [
        (
            format!("{production}[grid.dso]\nsite = \"garage\"\n"),
            "grid.dso.site: 0 integrations of production have a site \"garage\"; it needs one",
        ),
        (
            format!("{production}integrations.b = {{ {ocpp}, state_folder = \"{state}\" }}\n"),
            "environments.production.integrations.b: the vendor OCPP has another integration",
        ),
        (format!("{store}[environments]\n"), "no environment is configured"),
        (
            "[store]\nurl = \"postgres://db:foo/slackwater\"\n".to_owned(),
            "store.url: `postgres://db:foo/slackwater` is not the address of a database: invalid \
             port number",
        ),
    ] {
        std::fs::write(&file, text + "[admin]\nlisten = \"127.0.0.1:0\"\n").unwrap();
        for words in [&["config", "check"][..], &["serve"]] {
            let (is_done, _, error) = run(program(&[words, &["--config", &path]].concat())).await;
            assert!(!is_done && error.contains(told), "{words:?}: {error}");
        }
    }
}

#[tokio::test]
async fn what_only_the_database_or_the_system_refuses_is_told_by_its_setting() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let path = file.display().to_string();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let base = |url: &str, admin: &str| {
        format!(
            "[store]\nurl = \"{url}\"\n[admin]\nlisten = \"{admin}\"\n\
             [environments.sandbox]\nbase = {{ listen = \"127.0.0.1:0\" }}\n\
             auth = {{ listen = \"127.0.0.1:0\" }}\nlink = {{ listen = \"127.0.0.1:0\" }}\n"
        )
    };
    let store = format!("sqlite:{}", folder.path().join("kept.db").display());
    let client = "0b3c8f52-5b43-4b6e-9b0e-3f3c6f0e6a51";
    for (text, told) in [
        (
            base("postgres://127.0.0.1:1/slackwater", "127.0.0.1:0"),
            "store.url: cannot open PostgreSQL at 127.0.0.1:1".to_owned(),
        ),
        (base(&store, &address.to_string()), format!("admin.listen: cannot listen on {address}: ")),
        (
            base(&store, "127.0.0.1:0")
                + &format!(
                    "[[events.subscriptions]]\nname = \"billing\"\nclient = \"{client}\"\n\
                     url = \"http://127.0.0.1:9/\"\n"
                ),
            format!("events.subscriptions[0].client: there is no client {client}"),
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let (is_done, _, error) = run(program(&["config", "check", "--config", &path])).await;
        assert!(is_done, "{error}");
        let (is_done, _, error) = run(program(&["serve", "--config", &path])).await;
        assert!(!is_done && error.contains(&told), "{told}: {error}");
    }
}

#[tokio::test]
async fn services_that_share_an_address_are_refused_before_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let door = "{ listen = \"127.0.0.1:18080\" }";
    let text = format!("[environments.sandbox]\nbase = {door}\nauth = {door}\nlink = {door}\n");
    std::fs::write(&file, text).unwrap();
    let check = ["config", "check", "--config", &file.display().to_string()];
    let (is_done, _, error) = run(program(&check)).await;
    assert!(!is_done && error.contains("127.0.0.1:18080 has two services at 127.0.0.1"), "{error}");
}

#[tokio::test]
async fn a_token_that_is_made_opens_the_address_of_settings_with_its_hash() {
    let (is_done, made, table) =
        run(program(&["admin", "token", "create", "--name", "grafana", "--role", "read"])).await;
    assert!(is_done, "{table}");
    let made: Value = serde_json::from_str(&made).unwrap();
    let token = made["token"].as_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let table = table.split_once("\n\n").unwrap().1;
    assert!(!table.contains(token), "{table}");
    std::fs::write(&file, table).unwrap();
    let config = Config::load(Some(&file)).unwrap();
    let operator = config.admin.find_operator(token).unwrap();
    assert_eq!((operator.name.as_str(), operator.role.as_str()), ("grafana", "read"));
    let bad = ["admin", "token", "create", "--name", "a", "--role", "root"];
    let (is_done, _, error) = run(program(&bad)).await;
    assert!(!is_done && error.contains("one of read, operate"), "{error}");
}

/// The files do not say it: a service may run.
#[tokio::test]
async fn a_charger_in_a_folder_is_neither_connected_nor_not() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let charger = async |words: &[&str]| {
        let (is_done, shown, error) =
            run(program(&[&["charger", "--state-folder", &place], words].concat())).await;
        assert!(is_done, "{words:?}: {error}");
        shown
    };
    charger(&["add", "garage"]).await;
    let listed: Value = serde_json::from_str(&charger(&["list"]).await).unwrap();
    let shown: Value = serde_json::from_str(&charger(&["show", "garage"]).await).unwrap();
    for brief in [&listed[0], &shown] {
        assert_eq!(brief["identity"], "garage");
        assert!(brief.get("is_connected").is_none(), "{brief}");
    }
}

#[tokio::test]
async fn limits_of_areas_are_set_imported_and_taken_back() {
    let Running { folder, admin, stop, server } = serve().await;
    let list = folder.path().join("limits.csv");
    let rows = "start, end, power_max_kw\n\
         2026-01-05T18:00:00Z, 2026-01-05T19:00:00Z, 50\n\
         2026-01-05T19:00:00Z, 2026-01-05T20:00:00+00:00, 70.5\n";
    std::fs::write(&list, rows).unwrap();
    let limit = async |words: &[&str]| {
        let area = ["--zone", "NO1", "--area", "north"];
        let mut command = program(&[&["limit"], words, &area[..]].concat());
        command.env("SLACKWATER_ADMIN_URL", &admin).env("SLACKWATER_ADMIN_TOKEN", TOKEN);
        let (is_done, shown, error) = run(command).await;
        assert!(is_done, "{words:?}: {error}");
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let counted = error.contains("limits.csv: 2 periods on lines 2 to 3");
        assert_eq!(counted, words[0] == "import", "{error}");
        let is_warned = error.contains("no home is in the area \"north\" of the zone \"NO1\"");
        assert_eq!(is_warned, ["set", "import"].contains(&words[0]) || words.len() > 2, "{error}");
        let now = shown["now_kw"].as_f64();
        (now, shown["periods"].as_array().unwrap().len())
    };
    let hour = ["--from", "2026-01-05T18:00:00Z", "--to", "2026-01-05T18:30:00Z"];
    let file = list.to_str().unwrap();
    assert_eq!(limit(&["import", file]).await, (Some(50.0), 2));
    assert_eq!(limit(&["set", "--power-max-kw", "500"]).await, (Some(50.0), 2));
    let half = [&["set", "--power-max-kw", "20"], &hour[..]].concat();
    assert_eq!(limit(&half).await, (Some(20.0), 3));
    assert_eq!(limit(&["import", "--replace", file]).await, (Some(50.0), 2));
    assert_eq!(limit(&[&["clear"], &hour[..]].concat()).await, (Some(500.0), 2));
    assert_eq!(limit(&["show"]).await, (Some(500.0), 2));
    assert_eq!(limit(&["clear"]).await, (None, 0));
    std::fs::write(&list, rows.replace("70.5", "much")).unwrap();
    let bad = ["limit", "import", file, "--zone", "NO1", "--area", "north", "--admin", &admin];
    let (is_done, _, error) = run(program(&bad)).await;
    assert!(
        !is_done
            && error.contains("limits.csv, line 3: power_max_kw: `much` is not a number of kW"),
        "{error}"
    );
    std::fs::write(&list, rows.replace("2026-01-05T20:00:00+00:00", "at eight")).unwrap();
    let (_, _, error) = run(program(&bad)).await;
    assert!(
        error.contains(
            "limits.csv, line 3: end: `at eight` is not an instant with an offset, such as"
        ),
        "{error}"
    );
    stop.send(()).unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn a_key_of_the_database_is_made_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("kept.db").display());
    let (is_done, _, error) = run(in_store(&["store", "rekey"], &url)).await;
    assert!(!is_done && error.contains("store.key_file is not set"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no database was made");
    let (is_done, key, error) = run(program(&["store", "key"])).await;
    assert!(is_done, "{error}");
    let file = folder.path().join("key");
    std::fs::write(&file, key).unwrap();
    let rekey = || {
        let mut rekey = in_store(&["store", "rekey"], &url);
        rekey.env("SLACKWATER_STORE__KEY_FILE", &file);
        run(rekey)
    };
    let (is_done, _, error) = rekey().await;
    assert!(!is_done && error.contains("there is no database"), "{error}");
    let create = ["client", "create", "--environment", "sandbox", "--store"];
    assert!(run(in_store(&create, &url)).await.0);
    let (is_done, done, error) = rekey().await;
    assert!(is_done, "{error}");
    let done: Value = serde_json::from_str(&done).unwrap();
    assert_eq!(done["key"].as_str().map(str::len), Some(16));
    assert_eq!((done["connections"].as_u64(), done["subscriptions"].as_u64()), (Some(0), Some(0)));
}

#[tokio::test]
async fn grid_orders_are_passed_and_shown() {
    let sender = json!({ "zone": "NO1", "area": "north", "fail_safe_kw": 4.2 });
    let add = |config: &mut Config| {
        config.grid.insert("dso".to_owned(), serde_json::from_value(sender).unwrap());
    };
    let Running { folder: _folder, admin, stop, server } = serve_with(add).await;
    let ask = |arguments: &[&str]| {
        let mut command = program(arguments);
        command.env("SLACKWATER_ADMIN_URL", &admin).env("SLACKWATER_ADMIN_TOKEN", TOKEN);
        run(command)
    };
    let until = "2026-01-05T20:00:00Z";
    let order = ["grid", "order", "dso", "--limit-kw", "11", "--until", until];
    for (arguments, limit, reason) in [
        (&["grid", "show", "dso"][..], Value::Null, "free"),
        (&order, json!(11.0), "ordered"),
        (&["grid", "heartbeat", "dso"], json!(11.0), "ordered"),
        (&["grid", "release", "dso"], Value::Null, "free"),
    ] {
        let (is_done, out, err) = ask(arguments).await;
        assert!(is_done, "{arguments:?}: {err}");
        let shown: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&shown["limit_kw"], &shown["reason"]), (&limit, &json!(reason)), "{out}");
        let told = "warning: grid.dso: no home is in the area \"north\" of the zone \"NO1\"";
        assert!(err.starts_with(told) && shown["homes"] == 0, "{err} {out}");
    }
    let (_, all, warning) = ask(&["grid", "show"]).await;
    assert!(warning.starts_with("warning: grid.dso: no home is in the area"), "{warning}");
    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!((&all[0]["name"], &all[0]["fail_safe_kw"]), (&json!("dso"), &json!(4.2)));
    for (arguments, reason) in [
        (&["grid", "order", "other", "--limit-kw", "1"][..], "404"),
        (&["grid", "order", "dso", "--limit-kw=-1"], "-1 kW is below 0 kW"),
    ] {
        let (is_done, _, err) = ask(arguments).await;
        assert!(!is_done && err.contains(reason), "{err}");
    }
    stop.send(()).unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn evidence_is_checked_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (key_file, file) = (path("key"), path("grid.log"));
    let (is_done, key, err) = run(program(&["evidence", "key", &key_file])).await;
    assert!(is_done, "{err}");
    let key = key.trim();
    let (_, again, _) = run(program(&["evidence", "public-key", &key_file])).await;
    assert_eq!(again.trim(), key);
    assert!(!run(program(&["evidence", "key", &key_file])).await.0, "a key is not overwritten");
    let private_key = EvidenceKey::read_file(Path::new(&key_file)).unwrap();
    let mut log = EvidenceLog::open_file(Path::new(&file), Some(private_key), six()).unwrap();
    log.append_records([json!({ "kind": "order", "limit_kw": 4.2 })]).unwrap();
    let check = ["evidence", "check", &file, "--public-key", key];
    let (is_done, _, err) = run(program(&check)).await;
    assert!(!is_done && err.contains("nothing is signed in its 1 lines"), "{err}");
    let empty = path("empty.log");
    std::fs::write(&empty, "").unwrap();
    let (is_done, _, err) = run(program(&["evidence", "check", &empty, "--public-key", key])).await;
    assert!(!is_done && err.contains("nothing is signed in its 0 lines"), "{err}");
    log.sign_lines(six()).unwrap();
    let (is_done, out, err) = run(program(&check)).await;
    assert!(is_done, "{err}");
    let checked: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&checked["lines"], &checked["signed_to_line"]), (&json!(2), &json!(2)));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("4.2", "9.2")).unwrap();
    let (is_done, out, err) = run(program(&check)).await;
    assert!(!is_done && out.is_empty(), "{out}");
    assert!(err.contains("line 1 does not follow from the lines before it"), "{err}");
    let (is_done, _, err) = run(program(&["evidence", "check", &file, "--public-key", "x"])).await;
    assert!(!is_done && err.contains("a key is 32 bytes in base64"), "{err}");
}
