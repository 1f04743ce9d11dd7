//! A PostgreSQL server of this test run's own.
use std::env;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Nobody, in the literal sense: the server refuses to run as root.
const NOBODY: &str = "65534";

const MISSING: &str = "PostgreSQL is not installed, so half of the store would go untested. \
     Install Debian's `postgresql` package, or set POSTGRES_BIN to a folder with `postgres`.";

static SERVER: OnceLock<u16> = OnceLock::new();

/// The URL of a new, empty database.
pub(crate) fn database() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let port = *SERVER.get_or_init(start);
    let name = format!("test_{}", COUNT.fetch_add(1, Ordering::SeqCst));
    let url = |database: &str| format!("postgres://slackwater@127.0.0.1:{port}/{database}");
    let create = format!("create database {name}");
    run(Command::new(binary("psql")).args(["-q", "-d", &url("postgres"), "-c", &create]));
    // Encryption has tests of its own.
    format!("{}?sslmode=disable", url(&name))
}

/// Certificate of the authority that signed the server's own.
pub(crate) fn root_certificate() -> PathBuf {
    SERVER.get_or_init(start);
    folder().join("root.crt")
}

fn folder() -> PathBuf {
    env::temp_dir().join(format!("slackwater-postgres-{}", std::process::id()))
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

/// Starts the server and returns its port. It ends with this process.
fn start() -> u16 {
    let folder = folder();
    let data = folder.join("data");
    fs::create_dir_all(&folder).unwrap();
    certify(&folder);
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if is_root {
        run(Command::new("chown").arg("-R").arg(NOBODY).arg(&folder));
    }
    let mut initdb = as_nobody(is_root, "initdb");
    run(initdb.args(["-A", "trust", "-N", "-U", "slackwater", "-D"]).arg(&data));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = as_nobody(is_root, "postgres");
    server.args(["-F", "-h", "127.0.0.1", "-p", &port.to_string()]);
    server.arg("-k").arg(&folder).arg("-D").arg(&data);
    for (name, value) in [("ssl_cert_file", "server.crt"), ("ssl_key_file", "server.key")] {
        server.arg("-c").arg(format!("{name}={}", folder.join(value).display()));
    }
    server.args(["-c", "ssl=on"]);
    // The kernel ends the server with the thread that started it: this one stays until the end.
    thread::spawn(move || server.stdout(Stdio::null()).stderr(Stdio::null()).status());
    wait_for(&folder, port);
    port
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
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--pdeathsig", "QUIT"]);
    command.arg("--").arg(program);
    command
}

fn run(command: &mut Command) {
    let done = command.stdout(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}
