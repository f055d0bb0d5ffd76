//! The program that ships, as processes of its own, against the simulated GitHub in this one.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use redeliverd::{
    clock::SystemClock,
    sandbox::{
        github::{Event, HookRef, Settings, SimulatedGithub, World, events::Generator},
        story::write_app,
    },
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::{address::free_address, leaks::Leaks};

/// The longest that anything here is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A simulated GitHub, a configuration for it, and the processes that use it.
pub struct Rig {
    pub world: World,
    pub hook: HookRef,
    pub github: SimulatedGithub,
    pub receiver: SocketAddr,
    pub admin: SocketAddr,
    pub dir: TempDir,
    /// Environment of the daemon and of every command.
    pub env: Vec<(&'static str, String)>,
    events: Generator,
    child: Option<Child>,
}

impl Rig {
    /// Fast defaults; `extra` is TOML that comes after the hook's entry (tables only).
    pub async fn new(extra: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(Arc::new(SystemClock), Settings::cloud()).unwrap();
        let (receiver, admin) = (free_address(), free_address());
        let app = write_app(dir.path(), format!("http://{receiver}/webhook")).unwrap();
        let hook = world.add_hook(app.setup);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let github = SimulatedGithub::start(world.clone(), listener).unwrap();
        fs::write(dir.path().join("admin.token"), "the admin token of a test").unwrap();
        let text = format!(
            "[receiver]\nlisten = \"{receiver}\"\n[admin]\nlisten = \"{admin}\"\n\
             token_file = \"admin.token\"\n{}api_url = \"{}\"\n\
             [sweep]\nschedule = \"* * * * * *\"\nsettle = \"1s\"\nconfirm_within = \"5s\"\n\
             backoff = [\"1s\"]\nmin_interval = \"10ms\"\n{extra}\n",
            app.entry, github.base_url
        );
        fs::write(dir.path().join("redeliverd.toml"), text).unwrap();
        let events = Generator::new(11);
        Self { world, hook, github, receiver, admin, dir, env: Vec::new(), events, child: None }
    }

    pub fn config(&self) -> PathBuf {
        self.dir.path().join("redeliverd.toml")
    }

    /// Rewrites the configuration file.
    pub fn edit_config(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.config()).unwrap();
        assert!(text.contains(from), "{from:?} stands nowhere in the configuration");
        fs::write(self.config(), text.replace(from, to)).unwrap();
    }

    pub fn next_event(&mut self) -> Event {
        self.events.any()
    }

    /// Starts `serve` and waits until the first sweep has adopted the hook. It logs all it can, and
    /// none of that may be a secret: see the end of the rig.
    pub async fn serve(&mut self) {
        self.start();
        self.ready().await;
    }

    /// Starts `serve`, whatever becomes of it.
    pub fn start(&mut self) {
        let mut command = command(&self.config(), &["serve"]);
        command.stdout(Stdio::null());
        self.spawn(command);
    }

    /// Starts the daemon by another command line, its log kept like the other lives'.
    pub fn spawn(&mut self, mut command: Command) {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.dir.path().join("serve.log"))
            .unwrap();
        command
            .env("RUST_LOG", "trace")
            .envs(self.env.iter().map(|(name, value)| (*name, value)))
            .stderr(log);
        self.child = Some(command.spawn().unwrap());
    }

    pub async fn ready(&self) {
        self.eventually("the daemon is ready", async |rig| {
            rig.get("/readyz")
                .await
                .is_some_and(|(code, body)| code == 200 && body["status"] == "ready")
        })
        .await;
    }

    /// What `serve` has logged so far, over all its lives.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("serve.log")).unwrap_or_default()
    }

    /// The same without what only the search for secrets wants.
    fn headlines(&self) -> String {
        let log = self.log();
        let fine = ["\"level\":\"TRACE\"", "\"level\":\"DEBUG\""];
        let lines = log.lines().filter(|line| !fine.iter().any(|level| line.contains(level)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// `kill -9`: no warning, no clean-up.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("the daemon runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// SIGTERM; returns the exit code.
    pub async fn terminate(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.wait().await
    }

    /// Waits for its end; returns the exit code.
    pub async fn wait(&mut self) -> Option<i32> {
        let mut child = self.child.take().expect("the daemon runs");
        tokio::task::spawn_blocking(move || child.wait().unwrap().code()).await.unwrap()
    }

    /// Sends the daemon a signal, e.g. `HUP`.
    pub fn signal(&self, name: &str) {
        let id = self.child.as_ref().expect("the daemon runs").id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    /// Runs a command beside the daemon.
    pub async fn run(&self, args: &[&str]) -> Run {
        let mut command = command(&self.config(), args);
        command.envs(self.env.iter().map(|(name, value)| (*name, value)));
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        Run::of(&output)
    }

    /// The state by `status --json`.
    pub async fn missing(&self) -> Value {
        self.run(&["status", "--json"]).await.json()["hooks"][0]["missing"].clone()
    }

    pub async fn get(&self, path: &str) -> Option<(u16, Value)> {
        let answer = reqwest::get(format!("http://{}{path}", self.admin)).await.ok()?;
        let code = answer.status().as_u16();
        let text = answer.text().await.ok()?;
        Some((code, serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }

    /// A request that changes something, with the admin token.
    pub async fn post(&self, path: &str, body: &Value) -> Option<(u16, Value)> {
        let token = fs::read_to_string(self.dir.path().join("admin.token")).unwrap();
        let request = reqwest::Client::new().post(format!("http://{}{path}", self.admin));
        let request = request.bearer_auth(token.trim()).header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await.ok()?;
        let code = answer.status().as_u16();
        Some((code, answer.json().await.unwrap_or_default()))
    }

    /// Everything that this rig's secrets and payloads must not be found in.
    pub fn leaks(&self) -> Leaks {
        Leaks::of(self.dir.path(), &self.world)
    }

    /// Looks again and again until `is` holds; fails after half a minute, showing the log.
    pub async fn eventually(&self, what: &str, is: impl AsyncFn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is(self).await {
            assert!(Instant::now() < end, "never: {what}\n{}", self.headlines());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        // A test that fails already has its reason.
        if !std::thread::panicking() {
            self.leaks().none_in("the log of serve", &self.log());
        }
    }
}

/// The shipped binary with a configuration and a clean environment.
pub fn command(config: &std::path::Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redeliverd"));
    command.env_clear().env("PATH", "/usr/bin:/bin").arg("--config").arg(config).args(args);
    command
}

/// How a command ended.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}
