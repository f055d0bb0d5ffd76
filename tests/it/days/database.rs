//! Days on which the database is gone: a file moved away, a server that is stopped.

use std::fs;

use super::{Day, says};
use crate::support::postgres::OwnServer;

/// GitHub gets a 503 and so keeps the event for us.
async fn refused(day: &mut Day) -> String {
    let event = day.rig.next_event();
    let guid = day.rig.world.emit(day.rig.hook, event).await;
    assert_eq!(day.rig.world.posts(&guid)[0].answer, Some(503));
    guid
}

/// Asked for again, or recorded although the answer was a 503.
async fn repaired(day: &Day, guid: &str) {
    day.rig
        .eventually("what was refused is settled", async |rig| {
            day.sweep().await;
            rig.run(&["show", guid, "--json"]).await.json()["reason"] == "received"
        })
        .await;
}

/// The alert goes out although what was told cannot be written down.
#[tokio::test(flavor = "multi_thread")]
async fn the_database_file_is_moved_away() {
    let mut day = Day::new("", "").await;
    day.rig.serve().await;
    day.arrival().await;
    // It has ended, and so holds no lease while the file is away.
    day.sweep().await;
    let (file, away) = (day.rig.dir.path().join("redeliverd.db"), day.rig.dir.path().join("away"));
    fs::rename(&file, &away).unwrap();
    let failing = day.told_firing("store_failing").await;
    says(&failing, &["the database does not take writes", "redeliverd.db is gone", "put it back"]);
    assert_eq!((&failing["severity"], &failing["hook"]), (&"critical".into(), &().into()));
    assert_eq!(day.metric("store_failing").await.as_deref(), Some("1.0"));
    assert_eq!(day.rig.get("/readyz").await.unwrap().0, 503);
    let guid = refused(&mut day).await;
    day.only(&["store_failing"]);

    fs::rename(&away, &file).unwrap();
    day.ends("store_failing").await;
    repaired(&day, &guid).await;
    assert_eq!(day.told("store_failing").len(), 2, "once, and its end once");
    day.only(&["store_failing"]);
}

/// Nothing can be read either: what depends on it is unknown, and neither over nor new.
#[tokio::test(flavor = "multi_thread")]
async fn the_database_server_is_stopped() {
    let mut server = tokio::task::spawn_blocking(OwnServer::start).await.unwrap();
    let url = server.url();
    let mut day = Day::new("silence_after = \"2s\"", "").await;
    day.rig.env.push(("REDELIVERD_DATABASE__URL", url));
    // An outage of three periods, which is not the sweeper's fault.
    day.rig.edit_config(super::HOURLY, "* * * * * *");
    day.rig.serve().await;
    day.arrival().await;
    day.fires("silence").await;
    let mut server = tokio::task::spawn_blocking(move || {
        server.stop();
        server
    })
    .await
    .unwrap();
    let failing = day.told_firing("store_failing").await;
    says(&failing, &["the database does not take writes"]);
    day.rig
        .eventually("metrics say so", async |_| {
            day.metric("store_failing").await.as_deref() == Some("1.0")
        })
        .await;
    // What cannot be read is absent, and nothing says that all is well.
    for condition in ["deliveries_missing", "sweep_overdue", "silence"] {
        assert_ne!(day.metric(condition).await.as_deref(), Some("0.0"), "{condition}");
    }
    let (code, metrics) = day.rig.get("/metrics").await.unwrap();
    assert_eq!(code, 200);
    assert!(!metrics.as_str().unwrap().contains("redeliverd_missing_deliveries{"), "{metrics}");
    assert_eq!(day.told("silence").len(), 1, "unknown is not over");
    let guid = refused(&mut day).await;

    let _server = tokio::task::spawn_blocking(move || {
        server.resume();
        server
    })
    .await
    .unwrap();
    day.ends("store_failing").await;
    repaired(&day, &guid).await;
    day.ends("silence").await;
    day.only(&["silence", "store_failing"]);
}
