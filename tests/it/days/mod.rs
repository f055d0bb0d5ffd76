//! Bad days: each ends in the right alert within one sweep, in no false one, and in its end.

mod application;
mod credential;
mod database;
mod disk;
mod endpoint;
mod quiet;

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use crate::support::{daemon::Rig, sink::Sink};

/// Sweeps happen when a test asks for one: one an hour is far enough from any other.
const HOURLY: &str = "0 0 * * * *";

/// A daemon with a channel that keeps what it is told, and looks five times a second.
struct Day {
    rig: Rig,
    sink: Sink,
}

impl Day {
    /// Not yet serving. `alerts` are lines of `[alerts]`, `extra` is TOML after it (tables only).
    async fn new(alerts: &str, extra: &str) -> Self {
        let sink = Sink::start().await;
        let rig = Rig::new(&format!(
            "[alerts]\ncheck_every = \"200ms\"\n{alerts}\n[[alerts.channels]]\nkind = \"webhook\"\n\
             url = \"{}/told\"\nsecret_file = \"alerts.secret\"\n{extra}",
            sink.url
        ))
        .await;
        fs::write(rig.dir.path().join("alerts.secret"), "what signs the notices").unwrap();
        rig.edit_config("* * * * * *", HOURLY);
        Self { rig, sink }
    }

    /// A fresh delivery that reaches the receiver; what is missing is then asked for without delay.
    async fn arrival(&mut self) {
        let event = self.rig.next_event();
        let guid = self.rig.world.emit(self.rig.hook, event).await;
        assert!(self.rig.world.received_ok(&guid));
    }

    /// One sweep of the daemon, now, and its end.
    async fn sweep(&self) -> Value {
        let (code, body) = self.rig.post("/api/v1/sweeps", &json!({})).await.unwrap();
        assert!(code < 500, "{code}: {body}");
        body["sweeps"][0].clone()
    }

    /// Sweeps again and again until a condition is told to be over.
    async fn sweep_until_over(&self, condition: &str) {
        let what = format!("{condition} is over");
        self.rig
            .eventually(&what, async |_| {
                self.sweep().await;
                self.last(condition)["state"] == "resolved"
            })
            .await;
    }

    /// Everything that was told of a condition, in order.
    fn told(&self, condition: &str) -> Vec<Value> {
        let all = self.sink.at("/told").into_iter().map(|taken| taken.json()["data"].clone());
        all.filter(|data| data["condition"] == condition).collect()
    }

    /// What was told of it last; null when nothing was.
    fn last(&self, condition: &str) -> Value {
        self.told(condition).pop().unwrap_or_default()
    }

    /// The conditions that were ever told to hold.
    fn ever_fired(&self) -> BTreeSet<String> {
        let all = self.sink.at("/told").into_iter().map(|taken| taken.json()["data"].clone());
        let firing = all.filter(|data| data["state"] == "firing");
        firing.map(|data| data["condition"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until the channel was told that it holds. Returns what it was told.
    async fn told_firing(&self, condition: &str) -> Value {
        let what = format!("{condition} is told");
        self.rig.eventually(&what, async |_| self.last(condition)["state"] == "firing").await;
        self.last(condition)
    }

    /// The same, and status, metrics and the command line say so too.
    async fn fires(&self, condition: &str) -> Value {
        let told = self.told_firing(condition).await;
        self.all_say(condition, "firing", "1.0").await;
        let text = self.rig.run(&["status"]).await.stdout;
        assert!(text.contains(condition), "{text}");
        // Notices have whole seconds.
        let seconds = |value: &Value| value.as_str().unwrap()[..19].to_owned();
        assert_eq!(seconds(&self.found(condition).await["since"]), seconds(&told["since"]));
        told
    }

    /// Waits until its end is told, and status and metrics say so too.
    async fn ends(&self, condition: &str) {
        let what = format!("the end of {condition} is told");
        self.rig.eventually(&what, async |_| self.last(condition)["state"] == "resolved").await;
        self.all_say(condition, "resolved", "0.0").await;
    }

    async fn all_say(&self, condition: &str, state: &str, value: &str) {
        let what = format!("status and metrics say that {condition} is {state}");
        self.rig
            .eventually(&what, async |_| {
                self.found(condition).await["state"] == state
                    && self.metric(condition).await.as_deref() == Some(value)
            })
            .await;
    }

    /// What status tells of a condition.
    async fn found(&self, condition: &str) -> Value {
        let (_, status) = self.rig.get("/api/v1/status").await.expect("the daemon answers");
        let all = status["conditions"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|found| found["name"] == condition).unwrap_or_default()
    }

    /// The value of `redeliverd_condition`; `None`: there is none yet.
    async fn metric(&self, condition: &str) -> Option<String> {
        let (_, text) = self.rig.get("/metrics").await.expect("the daemon answers");
        let begin = format!("redeliverd_condition{{condition=\"{condition}\",");
        let line = text.as_str()?.lines().find(|line| line.starts_with(&begin))?.to_owned();
        line.split(' ').next_back().map(str::to_owned)
    }

    /// Nothing else was ever told to hold: no false alarm.
    fn only(&self, conditions: &[&str]) {
        let expected: BTreeSet<_> = conditions.iter().map(ToString::to_string).collect();
        assert_eq!(self.ever_fired(), expected, "{:#?}", self.sink.at("/told"));
    }
}

/// Fails unless the summary says all of it.
fn says(told: &Value, parts: &[&str]) {
    let summary = told["summary"].as_str().unwrap();
    for part in parts {
        assert!(summary.contains(part), "{part:?} is not in: {summary}");
    }
}
