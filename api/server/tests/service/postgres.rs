//! A PostgreSQL server of this test run's own, with databases that are copies of a migrated one.
//!
//! `cargo test` runs all tests in one process, nextest runs each in its own. The first process
//! that needs the server starts it, under a lock; a watcher ends it with the test run.
use std::env;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use slackwater_store::database::Store;

/// Nobody, in the literal sense: the server refuses to run as root.
const NOBODY: &str = "65534";

const MISSING: &str = "PostgreSQL is not installed, so half of the store would go untested. \
     Install Debian's `postgresql` package, or set POSTGRES_BIN to a folder with `postgres`.";

/// The database that all others are copies of.
const TEMPLATE: &str = "migrated";

static SERVER: OnceLock<u16> = OnceLock::new();

/// The URL of a new database with the tables of the service, all empty.
pub(crate) fn database() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let port = port();
    let name = format!("test_{}_{}", process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
    execute(port, &format!("create database {name} template {TEMPLATE}"));
    // Encryption has tests of its own.
    format!("{}?sslmode=disable", url(port, &name))
}

/// Certificate of the authority that signed the server's own.
pub(crate) fn root_certificate() -> PathBuf {
    port();
    folder().join("root.crt")
}

/// The port of the server, which the first call of a test run starts.
fn port() -> u16 {
    *SERVER.get_or_init(|| {
        let folder = folder();
        fs::create_dir_all(&folder).unwrap();
        let lock = File::create(folder.join("lock")).unwrap();
        lock.lock().unwrap();
        let file = folder.join("port");
        if let Ok(port) = fs::read_to_string(&file) {
            return port.parse().unwrap();
        }
        let port = start(&folder);
        migrate_template(port);
        fs::write(file, port.to_string()).unwrap();
        port
    })
}

fn url(port: u16, database: &str) -> String {
    format!("postgres://slackwater@127.0.0.1:{port}/{database}")
}

fn execute(port: u16, statement: &str) {
    run(Command::new(binary("psql")).args(["-q", "-d", &url(port, "postgres"), "-c", statement]));
}

/// Makes the database that all others are copies of. A test has a runtime of its own already,
/// in which nothing may wait, hence the thread.
fn migrate_template(port: u16) {
    execute(port, &format!("create database {TEMPLATE}"));
    let url = format!("{}?sslmode=disable", url(port, TEMPLATE)).parse().unwrap();
    let migrate = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { Store::open(&url).await.unwrap().close().await });
    };
    thread::spawn(migrate).join().unwrap();
}

/// Process that lives as long as the test run: nextest, or else this one.
fn runner() -> u32 {
    if env::var_os("NEXTEST_RUN_ID").is_some() { parent_id() } else { process::id() }
}

fn folder() -> PathBuf {
    env::temp_dir().join(format!("slackwater-postgres-{}", runner()))
}

/// Makes a certificate for 127.0.0.1, and one of an authority that signs it.
fn certify(folder: &Path) {
    let openssl = |words: &str| {
        let mut command = Command::new("openssl");
        run(command.current_dir(folder).args(words.split(' ')));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {key} -keyout root.key -out root.crt -days 2 -subj /CN=root"));
    openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=server"));
    fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1").unwrap();
    let signed = "-CA root.crt -CAkey root.key -CAcreateserial -extfile names -days 2";
    openssl(&format!("x509 -req -in server.csr {signed} -out server.crt"));
}

/// A program of the server.
fn binary(name: &str) -> PathBuf {
    let own = env::var_os("POSTGRES_BIN").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let debian = (13..=18).rev().map(|version| format!("/usr/lib/postgresql/{version}/bin"));
    let folders = own.into_iter().chain(env::split_paths(&path)).chain(debian.map(PathBuf::from));
    let mut found = folders.map(|folder| folder.join(name));
    found.find(|program| program.is_file()).unwrap_or_else(|| panic!("{MISSING}"))
}

/// Starts the server and returns its port. It ends with the test run.
fn start(folder: &Path) -> u16 {
    let data = folder.join("data");
    certify(folder);
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if is_root {
        run(Command::new("chown").arg("-R").arg(NOBODY).arg(folder));
    }
    let mut initdb = as_nobody(is_root, "initdb");
    run(initdb.args(["-A", "trust", "-N", "-U", "slackwater", "-D"]).arg(&data));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = as_nobody(is_root, "postgres");
    server.args(["-F", "-h", "127.0.0.1", "-p", &port.to_string()]);
    server.arg("-k").arg(folder).arg("-D").arg(&data);
    for (name, value) in [("ssl_cert_file", "server.crt"), ("ssl_key_file", "server.key")] {
        server.arg("-c").arg(format!("{name}={}", folder.join(value).display()));
    }
    server.args(["-c", "ssl=on"]);
    let server = spawn(&mut server);
    let end = format!("tail --pid={} -f /dev/null; kill -QUIT {server}", runner());
    spawn(Command::new("sh").args(["-c", &format!("{end}; rm -rf \"$0\"")]).arg(folder));
    wait_for(folder, port);
    port
}

/// Starts a program that outlives the test, away from its output and its signals.
fn spawn(command: &mut Command) -> u32 {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.process_group(0).spawn().unwrap();
    let id = child.id();
    // Collects its exit status, if it ends before this process.
    thread::spawn(move || child.wait_with_output());
    id
}

/// Returns when the server answers. Its socket file is there once it listens.
fn wait_for(folder: &Path, port: u16) {
    for _ in 0..3000 {
        if folder.join(format!(".s.PGSQL.{port}")).exists()
            && std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        {
            return;
        }
        thread::park_timeout(std::time::Duration::from_millis(10));
    }
    panic!("PostgreSQL did not start in 30 s");
}

fn as_nobody(is_root: bool, program: &str) -> Command {
    let program = binary(program);
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    command.arg("--").arg(program);
    command
}

fn run(command: &mut Command) {
    let done = command.stdout(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}
