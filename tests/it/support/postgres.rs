//! A throw-away PostgreSQL, started from the installed binaries, one for the test process.
//!
//! A shell holds the server and waits for the end of its input. That end comes when this process
//! ends, also when it is killed; then the shell stops the server and removes its files. A suite that
//! cannot start the server fails: tests that quietly run on one database prove nothing.

use std::{
    env,
    fs::{self, File, Permissions},
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::sync::Mutex;

/// How long the server may take to answer: six hundred tenths of a second.
const PATIENCE: (u32, Duration) = (600, Duration::from_millis(100));

const USER: &str = "test";

/// Only [`OwnServer`] asks for it.
pub(crate) const PASSWORD: &str = "the-password-of-the-database";

const KEEPER: &str = r#"
trap '' HUP INT TERM
"$@" </dev/null >"$LOG" 2>&1 &
server=$!
while read -r _; do :; done
kill -QUIT "$server" 2>/dev/null
wait "$server"
rm -rf "$DIRECTORY"
"#;

struct Server {
    directory: PathBuf,
    user: String,
    /// Its input stays open as long as this process lives.
    _keeper: Child,
}

/// A new, empty database; returns its URL.
pub(crate) async fn new_database() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // A database is copied from a template, which only one connection may do at a time.
    static ONE: Mutex<()> = Mutex::const_new(());
    let server = tokio::task::spawn_blocking(server).await.expect("PostgreSQL starts");
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let _one = ONE.lock().await;
    let mut admin =
        PgConnection::connect(&server.url("postgres")).await.expect("the server answers");
    admin
        .execute(AssertSqlSafe(format!("CREATE DATABASE {name}")))
        .await
        .expect("a database can be created");
    admin.close().await.expect("the connection closes");
    server.url(&name)
}

impl Server {
    fn url(&self, database: &str) -> String {
        format!("postgres://{}@localhost/{database}?host={}", self.user, self.directory.display())
    }
}

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(start)
}

fn start() -> Server {
    let directory = make(&["--auth=trust"]);
    let keeper = launch(&directory, &directory.display().to_string());
    Server { directory, user: USER.to_owned(), _keeper: keeper }
}

/// A directory of a new cluster, not yet served; stays until somebody removes it.
fn make(authentication: &[&str]) -> PathBuf {
    // Not under TMPDIR: the path of a Unix socket has at most 107 characters.
    let directory = tempfile::Builder::new()
        .prefix("redeliverd-pg-")
        .tempdir_in("/tmp")
        .expect("a temporary directory")
        .keep();
    let user = owner();
    let give = |path: &Path| {
        if let Some((_, uid, gid)) = &user {
            chown(path, Some(*uid), Some(*gid)).expect("root can give it away");
        }
    };
    give(&directory);
    fs::set_permissions(&directory, Permissions::from_mode(0o700)).expect("permissions");
    fs::write(directory.join("password"), PASSWORD).expect("a file with the password");
    give(&directory.join("password"));
    let made = command(user.as_ref(), &binaries().join("initdb"))
        .args(["--encoding=UTF8", "--no-sync", "--pwfile=password", "-U", USER])
        .args(authentication)
        .arg("-D")
        .arg(directory.join("data"))
        .current_dir(&directory)
        .stdin(Stdio::null())
        .output()
        .expect("initdb runs");
    assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
    directory
}

/// Serves the cluster until the returned shell's input ends, and then removes what `remove` names.
fn launch(directory: &Path, remove: &str) -> Child {
    let binaries = binaries();
    let log = directory.join("log");
    File::create(&log).expect("a log file");
    let server = command(owner().as_ref(), &binaries.join("postgres"));
    #[expect(
        clippy::zombie_processes,
        reason = "it outlives the process on purpose and ends with it"
    )]
    let keeper = Command::new("sh")
        .args(["-c", KEEPER, "keeper"])
        .arg(server.get_program())
        .args(server.get_args())
        .arg("-D")
        .arg(directory.join("data"))
        .arg("-k")
        .arg(directory)
        .args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"])
        .args(["-c", "shared_buffers=32MB"])
        .env("LOG", &log)
        .env("DIRECTORY", remove)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");

    let (tries, pause) = PATIENCE;
    for _ in 0..tries {
        let ready = Command::new(binaries.join("pg_isready"))
            .arg("-q")
            .arg("-h")
            .arg(directory)
            .status()
            .is_ok_and(|status| status.success());
        if ready {
            return keeper;
        }
        thread::sleep(pause);
    }
    panic!("PostgreSQL does not start: {}", fs::read_to_string(&log).unwrap_or_default());
}

/// A server of one test's own, which asks for a password and can be stopped.
pub(crate) struct OwnServer {
    directory: PathBuf,
    keeper: Option<Child>,
}

impl OwnServer {
    /// It serves, with the empty database `postgres`.
    pub(crate) fn start() -> Self {
        let directory = make(&["--auth=scram-sha-256"]);
        let mut server = Self { directory, keeper: None };
        server.resume();
        server
    }

    /// The database's URL, with the password.
    pub(crate) fn url(&self) -> String {
        format!("postgres://{USER}:{PASSWORD}@localhost/postgres?host={}", self.directory.display())
    }

    /// It is gone, and every connection with it.
    pub(crate) fn stop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            keeper.wait().expect("the shell ends");
        }
    }

    /// It is back.
    pub(crate) fn resume(&mut self) {
        self.keeper = Some(launch(&self.directory, ""));
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Runs a program as the given account, as ourselves when there is none. `setpriv` replaces itself
/// with the program, so that the keeper's child is the server itself.
fn command(user: Option<&(String, u32, u32)>, program: &Path) -> Command {
    match user {
        None => Command::new(program),
        Some((_, uid, gid)) => {
            let mut command = Command::new("setpriv");
            command
                .arg(format!("--reuid={uid}"))
                .arg(format!("--regid={gid}"))
                .arg("--clear-groups")
                .arg("--")
                .arg(program);
            command
        }
    }
}

/// PostgreSQL refuses to run as root; then it runs as `postgres` or `nobody`.
fn owner() -> Option<(String, u32, u32)> {
    let id = |arguments: &[&str]| {
        let output = Command::new("id").args(arguments).output().expect("id runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then(|| text.trim().parse::<u32>().expect("a number"))
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    let account = ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| Some((name.to_owned(), id(&["-u", name])?, id(&["-g", name])?)));
    Some(account.expect("an account postgres or nobody"))
}

/// Where `initdb` and `postgres` are: in PATH, where `pg_config` says, or where Debian puts them.
fn binaries() -> PathBuf {
    let all = |directory: &PathBuf| {
        ["initdb", "postgres", "pg_isready"].iter().all(|name| directory.join(name).exists())
    };
    let path = env::var_os("PATH").unwrap_or_default();
    let mut candidates: Vec<PathBuf> = env::split_paths(&path).collect();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        candidates.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .collect();
    versions.sort();
    candidates.extend(versions.into_iter().rev());
    candidates
        .into_iter()
        .find(all)
        .expect("initdb and postgres: install PostgreSQL, these tests run on both databases")
}
