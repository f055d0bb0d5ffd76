//! `doctor` and `healthcheck` as a person and a script meet them.

mod files;
mod github;
mod reach;
mod store;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Stdio};

use serde_json::Value;

use crate::support::daemon::{Rig, Run, command};

/// A rig whose secret files are for their owner only.
async fn rig(extra: &str) -> Rig {
    let rig = Rig::new(extra).await;
    set_mode(&rig.dir.path().join("admin.token"), 0o600);
    rig
}

/// The same with the daemon running, and one delivery that arrived.
async fn served(extra: &str) -> Rig {
    let mut rig = rig(extra).await;
    rig.serve().await;
    deliver(&mut rig).await;
    rig
}

async fn deliver(rig: &mut Rig) {
    let event = rig.next_event();
    rig.world.emit(rig.hook, event).await;
    rig.world.settled().await;
}

fn set_mode(file: &Path, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

/// The checks of one `doctor --json`, and its exit code.
struct Report {
    code: i32,
    checks: Vec<Value>,
}

impl Report {
    async fn of(rig: &Rig) -> Self {
        let run = rig.run(&["doctor", "--json"]).await;
        assert_eq!(run.stderr, "");
        let checks = run.json()["checks"].as_array().unwrap().clone();
        Self { code: run.code, checks }
    }

    /// The same, after people were told the same: each check, in the same order, with the same ending.
    async fn both(rig: &Rig) -> Self {
        let report = Self::of(rig).await;
        let run = rig.run(&["doctor"]).await;
        assert_eq!((run.code, run.stderr.as_str()), (report.code, ""));
        let text: Vec<&str> = run.stdout.lines().filter(|line| !line.starts_with(' ')).collect();
        let (sum, lines) = text.split_last().unwrap();
        assert!(sum.starts_with(&format!("{} checks: ", report.checks.len())), "{}", run.stdout);
        assert_eq!(lines.len(), report.checks.len(), "{}", run.stdout);
        for (line, check) in lines.iter().zip(&report.checks) {
            let name = check["name"].as_str().unwrap();
            let shown = match check["hook"].as_str() {
                Some(hook) => format!("{name} ({hook})"),
                None => name.to_owned(),
            };
            let said = format!("{:<9}{shown} ", check["result"].as_str().unwrap());
            assert!(line.starts_with(&said), "{said:?}: {line:?}");
        }
        report
    }

    /// All of that name.
    fn all(&self, name: &str) -> Vec<&Value> {
        self.checks.iter().filter(|check| check["name"] == name).collect()
    }

    /// The result of the one check of that name.
    fn result(&self, name: &str) -> &str {
        let [check] = self.all(name)[..] else { panic!("not one {name}: {:#?}", self.checks) };
        check["result"].as_str().unwrap()
    }

    fn detail(&self, name: &str) -> &str {
        self.all(name)[0]["detail"].as_str().unwrap()
    }

    fn advice(&self, name: &str) -> &str {
        self.all(name)[0]["advice"].as_str().unwrap()
    }

    /// The names that ended so.
    fn ended(&self, result: &str) -> Vec<&str> {
        let ended = self.checks.iter().filter(|check| check["result"] == result);
        ended.map(|check| check["name"].as_str().unwrap()).collect()
    }
}

/// What needs GitHub.
const AT_GITHUB: [&str; 10] = [
    "clock",
    "key",
    "app",
    "webhook_url",
    "webhook_content_type",
    "webhook_secret",
    "webhook_tls",
    "webhook_reachable",
    "webhook_active",
    "attempts",
];

/// The line of a check in the output for people.
fn line<'a>(run: &'a Run, name: &str) -> &'a str {
    let found = run.stdout.lines().find(|line| line.split_whitespace().nth(1) == Some(name));
    found.unwrap_or_else(|| panic!("no line {name}: {}", run.stdout))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_installation_passes_everything_but_the_missing_channel() {
    let rig = served("").await;
    let reserve = rig.dir.path().join("redeliverd.db-reserve");
    rig.eventually("space is set aside", async |_| reserve.exists()).await;
    let report = Report::of(&rig).await;
    assert_eq!(report.code, 0, "{:#?}", report.checks);
    assert_eq!(report.ended("warn"), ["channel"], "{:#?}", report.checks);
    assert_eq!((report.ended("fail"), report.ended("unknown")), (vec![], vec![]));
    for name in ["configuration", "body_timeout", "retention", "secret_file", "daemon", "disk"] {
        assert!(!report.all(name).is_empty(), "{name}");
    }
    for name in ["disk_reserve", "database", "migrations", "durability"] {
        assert_eq!(report.all(name)[0]["hook"], Value::Null, "{name}");
    }
    for name in AT_GITHUB.into_iter().chain(["last_sweep", "window"]) {
        assert_eq!(report.all(name)[0]["hook"], "demo", "{name}");
    }
    for check in &report.checks {
        let keys: Vec<&String> = check.as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 5, "{check}");
        assert_eq!(check["advice"].is_null(), check["result"] == "pass", "{check}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_get_aligned_lines_without_colour_in_a_pipe_and_without_secrets() {
    let rig = served("").await;
    rig.world.configure(rig.hook, |hook| {
        let at = rig.receiver;
        hook.url = format!("http://user:hunter2@{at}/webhook?token=hunter3");
    });
    let run = rig.run(&["doctor"]).await;
    assert!(!run.stdout.contains('\u{1b}'), "{}", run.stdout);
    let clock = line(&run, "clock");
    let key = line(&run, "key");
    assert!(key.starts_with("pass     key (demo) "), "{key}");
    assert_eq!(clock.find("agrees"), key.find("GitHub accepts it"), "{}", run.stdout);
    assert!(run.stdout.contains("         -> add [[alerts.channels]]"), "{}", run.stdout);
    assert!(run.stdout.lines().last().unwrap().contains(" checks: "), "{}", run.stdout);
    assert!(line(&run, "webhook_url").ends_with(&format!("http://{}/webhook", rig.receiver)));
    let secret = fs::read_to_string(rig.dir.path().join("webhook.secret")).unwrap();
    for hidden in ["hunter2", "hunter3", secret.as_str(), "PRIVATE KEY"] {
        assert!(!run.stdout.contains(hidden) && !run.stderr.contains(hidden));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_cannot_be_used_is_exit_code_two() {
    let rig = rig("[retention]\nhistory = \"3d\"\n").await;
    for arguments in [&["doctor"][..], &["doctor", "--json"], &["healthcheck"]] {
        let run = rig.run(arguments).await;
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
        assert!(run.stderr.starts_with("error: retention.history"), "{run:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn healthcheck_says_in_one_line_whether_the_daemon_answers() {
    let mut rig = rig("").await;
    let down = rig.run(&["healthcheck"]).await;
    assert_eq!((down.code, down.stdout.as_str()), (1, ""));
    assert_eq!(down.stderr.lines().count(), 1, "{}", down.stderr);
    assert!(down.stderr.contains(&rig.admin.to_string()), "{}", down.stderr);
    rig.serve().await;
    let up = rig.run(&["healthcheck"]).await;
    assert_eq!((up.code, up.stderr.as_str()), (0, ""));
    assert_eq!(up.stdout, format!("healthy: the daemon answers at {}\n", rig.admin));
    let ready = rig.run(&["healthcheck", "--ready"]).await;
    assert_eq!((ready.code, ready.stderr.as_str()), (0, ""));
    assert_eq!(ready.stdout, format!("ready: the daemon answers at {}\n", rig.admin));
    // Alive and not ready are two things.
    fs::remove_file(rig.dir.path().join("redeliverd.db")).unwrap();
    rig.eventually("it is not ready", async |rig| {
        rig.run(&["healthcheck", "--ready"]).await.code == 1
    })
    .await;
    let unready = rig.run(&["healthcheck", "--ready"]).await;
    assert_eq!(unready.stderr.lines().count(), 1, "{}", unready.stderr);
    assert!(unready.stderr.contains("/readyz is answered 503"), "{}", unready.stderr);
    assert_eq!(rig.run(&["healthcheck"]).await.code, 0);
    rig.kill();
    // An address that stands for all of the machine's is no address to connect to.
    let mut listen = rig.admin.to_string();
    let ipv6 = std::net::TcpListener::bind("[::1]:0").is_ok();
    for all in ["0.0.0.0", "[::]"].into_iter().filter(|all| *all == "0.0.0.0" || ipv6) {
        let other = format!("{all}:{}", rig.admin.port());
        rig.edit_config(
            &format!("[admin]\nlisten = \"{listen}\""),
            &format!("[admin]\nlisten = \"{other}\""),
        );
        listen = other;
        assert_eq!(rig.run(&["healthcheck"]).await.code, 1, "{all}: nobody listens yet");
        let mut daemon = command(&rig.config(), &["serve"]).stderr(Stdio::null()).spawn().unwrap();
        rig.eventually("it answers", async |rig| rig.run(&["healthcheck"]).await.code == 0).await;
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }
}
