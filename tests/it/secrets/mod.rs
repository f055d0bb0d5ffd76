//! Secrets, payloads and credentials in URLs: everything happens once, at trace level, and they are
//! looked for in all that came out of it.

mod columns;

use std::fs;

use chrono::TimeDelta;
use redeliverd::sandbox::github::{Redelivering, Sending, TimeOutForm};
use serde_json::json;

use crate::support::{
    application::{Answer, Application},
    daemon::{Rig, Run},
    leaks::Leaks,
    postgres::{OwnServer, PASSWORD},
    sink::{Refusal, Sink},
    smtp::{Begin, Smtp},
};

/// Given in requests by people who have no business here.
const GUESSED: &str = "a-token-that-a-stranger-guessed";
/// In the URL that the App's owner gave GitHub.
const HOOK_PASSWORD: &str = "a-password-in-the-url-of-the-hook";
const HOOK_QUERY: &str = "a-token-in-the-query-of-the-hook";

struct Story {
    rig: Rig,
    sink: Sink,
    smtp: Smtp,
    application: Application,
    /// All that came out: where, and what.
    seen: Vec<(String, String)>,
    guids: Vec<String>,
}

impl Story {
    async fn new(database: Option<String>) -> Self {
        let (sink, application) = (Sink::start().await, Application::start().await);
        let mut rig = Rig::new(&format!(
            "[alerts]\ncheck_every = \"200ms\"\nmissing_after = \"1s\"\n\
             heartbeat_url = \"{0}/ping/a-token-in-the-heartbeat\"\n\
             [[alerts.channels]]\nkind = \"slack\"\nurl_file = \"slack.url\"\n\
             [[alerts.channels]]\nkind = \"pagerduty\"\nrouting_key_file = \"pagerduty.key\"\n\
             url = \"{0}/v2/enqueue\"\n\
             [[alerts.channels]]\nkind = \"webhook\"\nurl = \"{0}/told\"\n\
             secret_file = \"alerts.secret\"\n\
             [[alerts.channels]]\nkind = \"email\"\nsmtp_url_file = \"smtp.url\"\n\
             from = \"redeliverd@example.com\"\nto = \"oncall@example.com\"\ntls = \"starttls\"\n\
             [log]\nlevel = \"trace\"\n",
            sink.url
        ))
        .await;
        let smtp = Smtp::start(rig.dir.path(), Begin::Clear).await;
        for (name, text) in [
            ("slack.url", format!("{}/services/T0/B0/a-token-in-a-path", sink.url)),
            ("pagerduty.key", "0123456789abcdef-routing-key".to_owned()),
            ("alerts.secret", "what signs the notices".to_owned()),
            ("smtp.url", format!("smtp://oncall:a%2Bpassword%40mail@127.0.0.1:{}", smtp.port)),
        ] {
            fs::write(rig.dir.path().join(name), text).unwrap();
        }
        let forward = format!(
            "[hooks.forward]\nurl = \"{}\"\nbackoff = [\"10ms\"]\nmax_attempts = 2\n[sweep]",
            application.url()
        );
        rig.edit_config("[sweep]", &forward);
        rig.env.push(("RUST_LOG", "trace".to_owned()));
        rig.env.push(("SSL_CERT_FILE", smtp.certificate.display().to_string()));
        rig.env.extend(database.map(|url| ("REDELIVERD_DATABASE__URL", url)));
        let url =
            format!("http://hook:{HOOK_PASSWORD}@{}/webhook?token={HOOK_QUERY}", rig.receiver);
        rig.world.configure(rig.hook, |hook| hook.url = url);
        Self { rig, sink, smtp, application, seen: Vec::new(), guids: Vec::new() }
    }

    async fn emit(&mut self, sending: Sending) -> String {
        let event = self.rig.next_event();
        let guid = self.rig.world.emit_as(self.rig.hook, event, sending).await;
        self.guids.push(guid.clone());
        guid
    }

    /// Runs a command; what it prints and logs is looked through at the end.
    async fn run(&mut self, args: &[&str]) -> Run {
        let run = self.rig.run(args).await;
        self.seen.push((format!("the output of {args:?}"), run.stdout.clone()));
        self.seen.push((format!("the log of {args:?}"), run.stderr.clone()));
        run
    }

    async fn get(&mut self, path: &str) {
        let (code, body) = self.rig.get(path).await.unwrap();
        self.seen.push((format!("the answer to GET {path}"), format!("{code} {body}")));
    }

    /// What strangers try: wrong tokens, wrong signatures, secrets where they do not belong.
    async fn strangers(&mut self) {
        let http = reqwest::Client::new();
        let (receiver, admin) = (self.rig.receiver, self.rig.admin);
        let requests = [
            http.post(format!("http://{admin}/api/v1/sweeps")).bearer_auth(GUESSED).body("{}"),
            http.post(format!("http://{admin}/api/v1/sweeps?token={GUESSED}")).body("{}"),
            http.get(format!("http://{admin}/api/v1/status")).header("cookie", GUESSED),
            http.post(format!("http://{receiver}/elsewhere?token={GUESSED}")).body("{}"),
            http.post(format!("http://{receiver}/webhook?token={GUESSED}"))
                .header("content-type", "application/json")
                .header("x-github-event", "push")
                .header("x-github-delivery", "a-stranger")
                .header("x-hub-signature-256", format!("sha256={}", "0".repeat(64)))
                .header("authorization", format!("Bearer {GUESSED}"))
                .body(format!("{{\"token\":\"{GUESSED}\"}}")),
        ];
        for (n, request) in requests.into_iter().enumerate() {
            let answer = request.send().await.unwrap();
            let text = format!("{:?} {}", answer.headers().clone(), answer.text().await.unwrap());
            self.seen.push((format!("the answer to request {n} of a stranger"), text));
        }
    }

    /// GitHub and the network have a bad day.
    async fn deliveries(&mut self) {
        self.rig.world.faults(|faults| {
            faults.leak_secret = true;
            faults.time_out_form = TimeOutForm::GivingUp;
        });
        for sending in [
            Sending::Deliver,
            Sending::FailToConnect,
            Sending::Swallow,
            Sending::TimeOut { after_delivering: false },
            Sending::Reset { after_delivering: true },
            Sending::Answer(302),
        ] {
            self.emit(sending).await;
        }
        // An application that shows what it got when it fails, as many do.
        self.application.answers(|_, handed| Answer {
            body: String::from_utf8_lossy(&handed.body).into_owned(),
            ..Answer::status(500)
        });
        self.emit(Sending::Deliver).await;
        self.rig
            .eventually("an event is dead", async |rig| {
                let dead = rig.run(&["dead", "list", "--json"]).await.json();
                dead["dead"].as_array().is_some_and(|dead| !dead.is_empty())
            })
            .await;
    }

    /// Channels refuse once, and are then told of something that is lost.
    async fn alerts(&mut self) {
        self.sink.refuse([Refusal { code: 403, retry_after: Some("1") }; 4]);
        self.rig.world.faults(|faults| faults.api.redeliver = Redelivering::Forget);
        self.emit(Sending::FailToConnect).await;
        for path in ["/services/T0/B0/a-token-in-a-path", "/v2/enqueue", "/told"] {
            let what = format!("{path} is told of what is missing");
            self.rig
                .eventually(&what, async |_| {
                    let taken = self.sink.at(path);
                    taken.iter().any(|taken| taken.body.contains("deliveries_missing"))
                })
                .await;
        }
        self.rig
            .eventually("a mail of what is missing", async |_| {
                let said = self.smtp.said();
                said.iter().any(|line| line.starts_with("Subject: ") && line.contains("missing"))
            })
            .await;
        self.rig.world.faults(|faults| faults.api.redeliver = Redelivering::Honest);
    }

    /// GitHub refuses our tokens, in each of its ways.
    async fn refusals(&mut self) {
        for skew in [20, -20, 0] {
            self.rig.world.faults(|faults| faults.clock_skew = TimeDelta::minutes(skew));
            self.run(&["sweep"]).await;
        }
        self.rig.world.faults(|faults| faults.api.revoked.insert("demo".to_owned()));
        self.run(&["sweep"]).await;
        self.run(&["doctor"]).await;
        self.rig.world.faults(|faults| faults.api.revoked.clear());
    }

    async fn commands(&mut self) {
        let guid = self.guids[0].clone();
        let copy = self.rig.dir.path().join("copy.db").display().to_string();
        for args in [
            &["status"][..],
            &["status", "--json"],
            &["list"],
            &["list", "--json"],
            &["show", &guid],
            &["show", &guid, "--json"],
            &["sweep", "--since", "1h", "--json"],
            &["redeliver", &guid],
            &["fetch", &guid],
            &["replay", &guid, "--times", "2"],
            &["dead", "list"],
            &["dead", "list", "--json"],
            &["dead", "requeue", "--all"],
            &["dismiss", &guid, "--note", "known"],
            &["config", "check"],
            &["config", "show"],
            &["config", "show", "--json"],
            &["doctor"],
            &["doctor", "--json"],
            &["test-alert"],
            &["prune"],
            &["migrate"],
            &["backup", &copy],
        ] {
            let run = self.run(args).await;
            // A command that ended at once would show nothing.
            let worked = matches!(run.code, 0 | 3) && !run.stdout.is_empty();
            assert!(worked || may_fail(args), "{args:?}: {run:?}");
        }
        for path in [
            "/healthz",
            "/readyz",
            "/metrics",
            "/api/v1/status",
            "/api/v1/deliveries",
            "/api/v1/sweeps",
            "/api/v1/dead",
            "/api/v1/nothing",
        ] {
            self.get(path).await;
        }
        self.get(&format!("/api/v1/deliveries/demo/{guid}")).await;
        for action in ["redeliver", "fetch", "replay", "dismiss"] {
            let path = format!("/api/v1/deliveries/demo/{guid}/{action}");
            let (code, body) = self.rig.post(&path, &json!({})).await.unwrap();
            self.seen.push((format!("the answer to POST {path}"), format!("{code} {body}")));
        }
    }

    /// Commands that fail because a secret is not what it should be.
    async fn mistakes(&mut self) {
        let dir = self.rig.dir.path().to_owned();
        for name in ["app.pem", "slack.url", "smtp.url"] {
            let good = fs::read_to_string(dir.join(name)).unwrap();
            fs::write(dir.join(name), good.replace(['/', '@'], "!")).unwrap();
            self.run(&["config", "check"]).await;
            self.run(&["sweep"]).await;
            fs::write(dir.join(name), good).unwrap();
        }
        self.rig.env.push((
            "REDELIVERD_DATABASE__URL",
            format!("postgres://test:{PASSWORD}@127.0.0.1:9/nowhere"),
        ));
        self.run(&["status"]).await;
        self.rig.env.pop();
    }

    fn leaks(&self) -> Leaks {
        let mut leaks = self.rig.leaks();
        leaks.secret("a guessed token", GUESSED);
        leaks.secret("the password in the hook's URL", HOOK_PASSWORD);
        leaks.secret("the token in the hook's URL", HOOK_QUERY);
        leaks.secret("the password of the database", PASSWORD);
        leaks
    }
}

/// `doctor` is to find something here, and only SQLite is backed up.
fn may_fail(args: &[&str]) -> bool {
    matches!(args[0], "doctor" | "backup")
}

async fn nothing_leaks(server: Option<OwnServer>) {
    let url = server.as_ref().map(OwnServer::url);
    let mut story = Story::new(url.clone()).await;
    story.rig.serve().await;
    story.strangers().await;
    story.deliveries().await;
    story.alerts().await;
    story.refusals().await;
    story.commands().await;
    story.mistakes().await;
    assert_eq!(story.rig.terminate().await, Some(0));

    let leaks = story.leaks();
    let log = story.rig.log();
    for target in ["hyper_util", "tower", "redeliverd"] {
        assert!(log.contains(&format!("\"target\":\"{target}")), "{target} logs nothing");
    }
    leaks.none_in("the log of serve", &log);
    for (place, text) in &story.seen {
        leaks.none_in(place, text);
    }
    let columns = match url {
        Some(url) => columns::of_postgres(&url).await,
        None => columns::of_sqlite(&story.rig.dir.path().join("redeliverd.db")).await,
    };
    assert!(columns.len() > 60, "{} columns are looked at", columns.len());
    for (column, text) in &columns {
        leaks.none_in(column, text);
    }
}

/// SPEC section 16; O34, O35, O38, O39, R41
#[tokio::test(flavor = "multi_thread")]
async fn no_secret_and_no_payload_comes_out_anywhere() {
    nothing_leaks(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_it_with_a_database_that_has_a_password() {
    let server = tokio::task::spawn_blocking(OwnServer::start).await.unwrap();
    nothing_leaks(Some(server)).await;
}
