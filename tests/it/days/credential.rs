//! Days on which GitHub does not talk to us: a revoked key, a wrong clock, an API that is down.

use chrono::TimeDelta;
use redeliverd::sandbox::github::{Answer, Sending};

use super::{Day, HOURLY, says};

/// O13, A15
#[tokio::test(flavor = "multi_thread")]
async fn the_private_key_is_revoked() {
    let mut day = Day::new("", "").await;
    day.rig.serve().await;
    day.rig.world.faults(|faults| faults.api.revoked.insert("demo".to_owned()));
    assert_eq!(day.sweep().await["complete"], false);
    let refused = day.fires("github_auth_failing").await;
    says(
        &refused,
        &["GitHub refuses the credential of hook demo", "401", "revoked or wrong private key"],
    );
    assert_eq!(refused["severity"], "critical");
    assert_eq!(day.rig.run(&["sweep"]).await.code, 4);
    // Receiving does not depend on it.
    day.arrival().await;

    day.rig.world.faults(|faults| faults.api.revoked.clear());
    assert_eq!(day.sweep().await["complete"], true);
    day.ends("github_auth_failing").await;
    day.only(&["github_auth_failing"]);
}

/// A1, A15: signing by GitHub's clock keeps everything going, and the wrong clock is told all the same.
#[tokio::test(flavor = "multi_thread")]
async fn the_clock_is_twenty_minutes_off() {
    for (skew, words) in [(20, "20m behind GitHub's"), (-20, "20m ahead of GitHub's")] {
        let mut day = Day::new("silence_after = \"1h\"", "").await;
        day.rig.world.faults(|faults| faults.clock_skew = TimeDelta::minutes(skew));
        // The sweep at its start is the one.
        day.rig.serve().await;
        day.arrival().await;
        let event = day.rig.next_event();
        let guid = day.rig.world.emit_as(day.rig.hook, event, Sending::Answer(503)).await;
        assert_eq!(day.sweep().await["complete"], true);
        let wrong = day.fires("github_auth_failing").await;
        says(&wrong, &["the clock of this host is", words, "hook demo"]);
        assert_eq!(wrong["command"], "timedatectl");
        day.rig
            .eventually("it is repaired nevertheless", async |rig| {
                day.sweep().await;
                rig.world.received_ok(&guid)
            })
            .await;
        // The clock is still wrong after a restart, before anybody has measured it anew.
        day.rig.terminate().await;
        day.rig.serve().await;
        assert_eq!(day.told("github_auth_failing").len(), 1);

        day.rig.world.faults(|faults| faults.clock_skew = TimeDelta::zero());
        assert_eq!(day.sweep().await["complete"], true);
        day.ends("github_auth_failing").await;
        assert_eq!(day.told("github_auth_failing").len(), 2, "once, and its end once");
        day.only(&["github_auth_failing"]);
    }
}

/// A15: where GitHub's own time cannot be learnt, because something in between sets `Date`.
#[tokio::test(flavor = "multi_thread")]
async fn the_clock_is_off_and_cannot_be_corrected() {
    let mut day = Day::new("", "").await;
    day.rig.serve().await;
    day.rig.world.faults(|faults| {
        faults.clock_skew = TimeDelta::minutes(20);
        faults.api.date_offset = TimeDelta::minutes(-20);
    });
    assert_eq!(day.sweep().await["complete"], false);
    let refused = day.fires("github_auth_failing").await;
    says(&refused, &["GitHub refuses the credential", "clock", "'Expiration time' claim ('exp')"]);
    day.rig.world.faults(|faults| *faults = redeliverd::sandbox::github::Faults::default());
    assert_eq!(day.sweep().await["complete"], true);
    day.ends("github_auth_failing").await;
    day.only(&["github_auth_failing"]);
}

/// O15: nothing can be concluded while it lasts, so nothing is told to be lost.
#[tokio::test(flavor = "multi_thread")]
async fn githubs_api_is_down() {
    let mut day = Day::new("", "").await;
    // Three periods are to pass.
    day.rig.edit_config(HOURLY, "*/2 * * * * *");
    day.rig.serve().await;
    day.arrival().await;
    day.rig.world.faults(|faults| faults.api.all = Some(Answer::Status(503)));
    let event = day.rig.next_event();
    let guid = day.rig.world.emit_as(day.rig.hook, event, Sending::FailToConnect).await;
    let overdue = day.fires("sweep_overdue").await;
    says(&overdue, &["no complete sweep of hook demo within 6s", "the last at", "503"]);
    assert_eq!(overdue["command"], "redeliverd sweep --hook demo");
    // Could not look is a state of its own.
    assert_eq!(day.metric("github_auth_failing").await.as_deref(), Some("NaN"));
    assert_eq!(day.found("github_auth_failing").await["state"], "unknown");
    day.only(&["sweep_overdue"]);

    day.rig.world.faults(|faults| faults.api.all = None);
    day.ends("sweep_overdue").await;
    day.rig
        .eventually("what failed meanwhile is repaired", async |rig| rig.world.received_ok(&guid))
        .await;
    day.rig
        .eventually("the credential is known to be good", async |_| {
            day.found("github_auth_failing").await["state"] == "resolved"
        })
        .await;
    day.only(&["sweep_overdue"]);
}
