//! The scene: a simulated GitHub, one App with a key, an application, and a configuration in a temporary directory.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::{
    super::github::{
        AppKey, ContentType, HookConfig, HookRef, HookSetup, Settings, SimulatedGithub, World,
    },
    application::Application,
};
use crate::{
    clock::{SharedClock, SystemClock},
    config::{self, Config, Env},
};

/// The name of the only hook.
pub const HOOK: &str = "demo";
/// The id of the only App.
const APP_ID: u64 = 4242;

/// An App of the simulated GitHub, with the files that a configuration needs.
#[derive(Debug)]
pub struct App {
    /// What GitHub knows of it.
    pub setup: HookSetup,
    /// The `[[hooks]]` entry, as TOML, for the API at a base URL still to be filled in.
    pub entry: String,
}

/// Everything that does not restart in the story.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) github: SimulatedGithub,
    pub(super) hook: HookRef,
    pub(super) application: Application,
    pub(super) config: Config,
    pub(super) clock: SharedClock,
    dir: TempDir,
}

/// Writes key and secret of a new App into `dir`, readable by the owner only.
///
/// # Errors
/// When no key can be made or a file cannot be written.
pub fn write_app(dir: &Path, url: String) -> anyhow::Result<App> {
    let key = AppKey::generate().context("cannot make a key for the simulated App")?;
    let secret: String = (0..40).map(|_| char::from(rand::random_range(b'a'..=b'z'))).collect();
    write_private(&dir.join("app.pem"), key.private_pem().expose_secret())?;
    write_private(&dir.join("webhook.secret"), &secret)?;
    let entry = format!(
        "[[hooks]]\nname = \"{HOOK}\"\nkind = \"app\"\napp_id = {APP_ID}\n\
         private_key_file = \"app.pem\"\nwebhook_secret_files = [\"webhook.secret\"]\n"
    );
    let setup = HookSetup {
        name: HOOK.to_owned(),
        app_id: APP_ID,
        client_id: "Iv23liSandboxApp".to_owned(),
        key,
        config: HookConfig {
            url,
            secret: SecretString::from(secret),
            content_type: ContentType::Json,
            insecure_ssl: false,
        },
    };
    Ok(App { setup, entry })
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}

impl Scene {
    /// Starts the simulated GitHub and writes a configuration for it.
    pub(super) async fn set(seed: u64) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("redeliverd-sandbox-").tempdir()?;
        let clock: SharedClock = Arc::new(SystemClock);
        let world = World::new(Arc::clone(&clock), Settings { seed, ..Settings::cloud() })?;
        // Nothing listens there: the hook is pointed at the receiver once that has a port.
        let app = write_app(dir.path(), "http://127.0.0.1:9/webhook".to_owned())?;
        let hook = world.add_hook(app.setup);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let github = SimulatedGithub::start(world, listener)?;
        let application = Application::start().await?;
        let text = configuration(&app.entry, &github.base_url, application.address);
        fs::write(dir.path().join("redeliverd.toml"), &text)?;
        let config = config::from_str(&text, dir.path(), &Env::default())?.config;
        Ok(Self { github, hook, application, config, clock, dir })
    }

    pub(super) fn configuration(&self) -> PathBuf {
        self.dir.path().join("redeliverd.toml")
    }

    pub(super) fn point_hook_at(&self, receiver: SocketAddr) {
        self.github.world.configure(self.hook, |hook| {
            hook.url = format!("http://{receiver}/webhook");
        });
    }
}

/// The real defaults, with times short enough to watch.
fn configuration(entry: &str, base_url: &str, application: SocketAddr) -> String {
    format!(
        "[receiver]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [database]\nurl = \"sqlite:redeliverd.db\"\n\
         {entry}api_url = \"{base_url}\"\n\
         [hooks.forward]\nurl = \"http://{application}/webhook\"\nbackoff = [\"50ms\"]\n\
         [sweep]\nschedule = \"* * * * * *\"\nsettle = \"1s\"\nconfirm_within = \"10s\"\n\
         backoff = [\"1s\", \"2s\", \"5s\"]\nmin_interval = \"10ms\"\n"
    )
}
