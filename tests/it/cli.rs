//! The command line as a person meets it: exit codes, errors that help, output for scripts.

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use redeliverd::sandbox::github::Sending;
use serde_json::Value;
use sqlx::{Connection, Executor, SqliteConnection};

use crate::support::daemon::{Rig, Run, command};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_five_mistakes_gets_five_messages() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("redeliverd.toml");
    fs::write(
        &file,
        "[receiver]\nlistn = \"127.0.0.1:1\"\nbody_timeout = \"soon\"\n\
         [sweep]\nschedule = \"*/2 * * * *\"\nmax_pages = \"many\"\n\
         [[hooks]]\nname = \"ci\"\napp_id = 1\nprivate_key_file = \"absent.pem\"\n\
         webhook_secret_files = [\"absent.secret\"]\n",
    )
    .unwrap();
    let run = Run::of(&command(&file, &["config", "check"]).output().unwrap());
    assert_eq!(run.code, 2, "{run:?}");
    for key in [
        "receiver.listn",
        "receiver.body_timeout",
        "sweep.schedule",
        "sweep.max_pages",
        "private_key_file",
        "webhook_secret_files",
    ] {
        assert!(run.stderr.lines().any(|line| line.contains(key)), "{key}: {}", run.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mistake_is_named_once_whatever_the_command() {
    let rig = Rig::new("").await;
    rig.edit_config("confirm_within = \"5s\"", "confirm_within = \"soon\"");
    let run = rig.run(&["status"]).await;
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.starts_with("error: sweep.confirm_within"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_is_told_to_stop_gives_its_lease_back() {
    let mut rig = Rig::new("").await;
    assert_eq!(rig.run(&["sweep"]).await.code, 0);
    // One request in an hour: the sweep has something to do when the signal comes.
    rig.edit_config("min_interval = \"10ms\"", "min_interval = \"1h\"");
    rig.world.faults(|faults| faults.sender = Sending::FailToConnect);
    for _ in 0..2 {
        let event = rig.next_event();
        rig.world.emit(rig.hook, event).await;
    }
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let mut child = command(&rig.config(), &["sweep"]).spawn().unwrap();
    rig.eventually("the first request is made", async |rig| {
        rig.world.counters().redelivery_posts == 1
    })
    .await;
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let status = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
    assert_eq!(status.code(), Some(1));
    let lease = Instant::now();
    assert_eq!(rig.run(&["sweep", "--dry-run"]).await.code, 3);
    assert!(lease.elapsed() < Duration::from_secs(30), "it waited for the lease of 60 s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_alone_works_without_a_daemon_and_its_json_has_every_promised_field() {
    let rig = Rig::new("").await;
    let run = rig.run(&["sweep", "--json"]).await;
    assert_eq!(run.code, 0, "{run:?}");
    let sweep = run.json()["sweeps"][0].clone();
    for field in [
        "hook",
        "trigger",
        "dry_run",
        "complete",
        "listed",
        "new_attempts",
        "unreadable",
        "api_calls",
        "due",
        "requested",
        "deferred",
        "fetched",
        "missing",
        "lost",
        "adopted",
        "error",
        "started_at",
        "duration_ms",
        "requests",
    ] {
        assert!(sweep.get(field).is_some(), "{field} is missing in {sweep}");
    }
    assert_eq!(sweep["api_calls"], 1);
    assert_eq!(sweep["trigger"], "manual");
}

/// A3, O13: a key of another App is one clear line and exit code 4.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_exit_code_four() {
    let rig = Rig::new("").await;
    let other = redeliverd::sandbox::github::AppKey::generate().unwrap();
    let pem = secrecy::ExposeSecret::expose_secret(other.private_pem()).to_owned();
    fs::write(rig.dir.path().join("app.pem"), &pem).unwrap();
    let run = rig.run(&["sweep"]).await;
    assert_eq!(run.code, 4, "{run:?}");
    assert!(!format!("{run:?}").contains("PRIVATE KEY"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_url_with_a_typo_is_one_clear_line() {
    let rig = Rig::new("").await;
    rig.edit_config(&rig.github.base_url, &format!("{}/ap/v3", rig.github.base_url));
    let run = rig.run(&["sweep"]).await;
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stdout.contains("api_url") || run.stderr.contains("api_url"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_database_names_its_cause_once() {
    let rig = Rig::new("").await;
    let file = rig.dir.path().join("redeliverd.db");
    assert_eq!(rig.run(&["migrate"]).await.code, 0);
    let mut database = SqliteConnection::connect(&file.display().to_string()).await.unwrap();
    database.execute("DROP TABLE inbox").await.unwrap();
    let run = rig.run(&["status"]).await;
    assert_eq!(run.code, 1, "{run:?}");
    let last = run.stderr.lines().last();
    assert_eq!(last, Some("error: database error: no such table: inbox (code 1)"));
    database.execute("DROP TABLE deliveries; DROP TABLE receipts").await.unwrap();
    let run = rig.run(&["dismiss", "g1"]).await;
    assert_eq!(run.stderr.matches("no such table").count(), 1, "{run:?}");
    assert_eq!(run.stderr.matches("cannot look up the GUID").count(), 1, "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn packagers_get_completions_a_man_page_and_a_schema() {
    let rig = Rig::new("").await;
    assert!(rig.run(&["completions", "bash"]).await.stdout.contains("redeliverd"));
    assert!(rig.run(&["man"]).await.stdout.contains(".TH redeliverd"));
    let schema = rig.run(&["config", "schema"]).await.json();
    assert!(schema["properties"]["hooks"].is_object(), "{schema}");
    let shown = rig.run(&["config", "show"]).await.stdout;
    assert!(shown.contains("max_redeliveries = 8"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_ends_with_nothing_missing() {
    let rig = Rig::new("").await;
    let run = rig
        .run(&[
            "sandbox",
            "--deliveries",
            "30",
            "--fail",
            "0.2",
            "--unseen",
            "0.1",
            "--seed",
            "3",
            "--json",
        ])
        .await;
    assert_eq!(run.code, 0, "{run:?}");
    let outcome = run.json();
    assert_eq!(outcome["events"], 30);
    assert_eq!(outcome["missing"], 0);
    assert_eq!(outcome["requests"], outcome["requests_counted_by_github"]);
    let swallowed: &Value = &outcome["fates"]["swallowed"];
    assert_eq!(swallowed["events"], 3);
    assert_eq!(swallowed["received"], 3);
    assert_eq!(swallowed["handed_over"], 3);
    // The application refuses every tenth new event once, and gets it again.
    let application = &outcome["application"];
    assert_eq!((&application["events"], &application["refused"]), (&30.into(), &3.into()));
    let repeated = application["repeated"].as_u64().unwrap();
    assert_eq!(application["requests"], 33 + repeated, "{application}");
}

/// O16: the zone of the host moves no run.
#[tokio::test(flavor = "multi_thread")]
async fn the_schedule_is_in_utc_whatever_the_zone_of_the_host() {
    let mut rig = Rig::new("").await;
    rig.edit_config("* * * * * *", "0 30 2 * * *");
    for zone in ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"] {
        rig.env = vec![("TZ", zone.to_owned())];
        let runs = rig.run(&["config", "check", "--json"]).await.json()["next_runs"].clone();
        let runs = runs.as_array().unwrap();
        assert_eq!(runs.len(), 3);
        assert!(runs.iter().all(|run| run.as_str().unwrap().ends_with("T02:30:00Z")), "{runs:?}");
    }
}
