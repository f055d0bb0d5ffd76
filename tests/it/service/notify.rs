//! What the manager hears, and when.

use std::time::{Duration, Instant};

use redeliverd::sandbox::github::{Answer, Sending};
use sqlx::{Connection, Executor, PgConnection};

use super::manager::Manager;
use crate::support::{daemon::Rig, postgres};

/// O20, O21, O22
#[tokio::test(flavor = "multi_thread")]
async fn ready_comes_when_everything_listens_and_stopping_before_the_end() {
    let mut rig = Rig::new("").await;
    let manager = Manager::new(&rig);
    rig.spawn(manager.command(&rig, None, None));
    let start = manager.until("READY=1").await;
    // The migrations ran in between: more time was asked for before.
    assert!(start[0].starts_with("EXTEND_TIMEOUT_USEC=60000000\n"), "{start:?}");
    let ready = start.last().unwrap();
    assert!(ready.contains("STATUS=1 hook"), "{ready}");
    for address in [rig.receiver, rig.admin] {
        std::net::TcpStream::connect(address).expect("it listens by now");
    }
    assert_eq!(rig.get("/healthz").await.unwrap().0, 200);

    let code = rig.terminate().await;
    let end = manager.until("STOPPING=1").await;
    assert!(end.last().unwrap().contains("STATUS="), "{end:?}");
    assert_eq!(code, Some(0));
}

/// O21, O22, O24: half of the limit, and a warning about one that is too short.
#[tokio::test(flavor = "multi_thread")]
async fn the_watchdog_is_fed_at_half_of_its_limit_and_during_reloads() {
    let mut rig = Rig::new("").await;
    let manager = Manager::new(&rig);
    let mut command = manager.command(&rig, None, None);
    command.env("WATCHDOG_USEC", "8000000");
    rig.spawn(command);
    manager.until("WATCHDOG=1").await;
    let mut last = Instant::now();
    for _ in 0..3 {
        rig.signal("HUP");
        manager.until("WATCHDOG=1").await;
        let gap = last.elapsed();
        assert!(gap < Duration::from_secs(8), "a manager would have killed it after {gap:?}");
        assert!(gap > Duration::from_secs(2), "half of the limit, not {gap:?}");
        last = Instant::now();
    }
    assert!(rig.log().contains("WatchdogSec is short"), "{}", rig.log());
}

/// A name that begins with `@` is no path.
#[tokio::test(flavor = "multi_thread")]
async fn a_notify_socket_without_a_file_hears_the_same() {
    let mut rig = Rig::new("").await;
    let manager = Manager::without_file(&rig);
    rig.spawn(manager.command(&rig, None, None));
    manager.until("READY=1").await;
    assert_eq!(rig.terminate().await, Some(0));
    manager.until("STOPPING=1").await;
}

/// O22: a watchdog that is meant for another process is none of ours.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_fed_to_the_watchdog_of_another_process() {
    let mut rig = Rig::new("").await;
    let manager = Manager::new(&rig);
    let mut command = manager.command(&rig, None, None);
    command.env("WATCHDOG_USEC", "100000").env("WATCHDOG_PID", "1");
    rig.spawn(command);
    manager.until("READY=1").await;
    rig.terminate().await;
    let rest = manager.until("STOPPING=1").await;
    assert!(!rest.iter().any(|message| message.contains("WATCHDOG=1")), "{rest:?}");
}

/// O20: a notify socket that nobody reads is no reason to fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_manager_that_is_gone_stops_nobody() {
    let mut rig = Rig::new("").await;
    let command = Manager::new(&rig).command(&rig, None, None);
    // The manager, and with it its socket, is dropped by now.
    rig.spawn(command);
    rig.ready().await;
    assert_eq!(rig.terminate().await, Some(0));
}

/// O20: a clear error at once instead of a start that never ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_created_is_said_at_once() {
    let rig = Rig::new("").await;
    rig.edit_config("[admin]", "[database]\nurl = \"sqlite:/proc/nowhere/redeliverd.db\"\n[admin]");
    let run = rig.run(&["serve"]).await;
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("/proc/nowhere/redeliverd.db"), "{run:?}");
}

/// O24: a store that does not answer, as opposed to one that refuses.
#[tokio::test(flavor = "multi_thread")]
async fn a_hung_store_stops_the_feeding_until_it_answers() {
    let url = postgres::new_database().await;
    let mut rig = Rig::new(&format!("[database]\nurl = \"{url}\"")).await;
    let manager = Manager::new(&rig);
    let mut command = manager.command(&rig, None, None);
    command.env("WATCHDOG_USEC", "3000000");
    rig.spawn(command);
    manager.until("WATCHDOG=1").await;
    let mut other = PgConnection::connect(&url).await.unwrap();
    let mut hold = other.begin().await.unwrap();
    hold.execute("LOCK TABLE write_proof IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let told = manager.until_it_holds("is stuck").await;
    assert!(told.last().unwrap().contains("STATUS=the store is stuck"), "{told:?}");
    let silence = tokio::time::timeout(Duration::from_secs(5), manager.until("WATCHDOG=1")).await;
    assert!(silence.is_err(), "it is fed: {silence:?}");
    hold.rollback().await.unwrap();
    manager.until("WATCHDOG=1").await;
}

/// O24: a restart helps against neither.
#[tokio::test(flavor = "multi_thread")]
async fn the_watchdog_is_fed_while_github_is_down_and_while_a_sweep_is_paced() {
    let mut rig = Rig::new("").await;
    rig.edit_config("min_interval = \"10ms\"", "min_interval = \"1h\"");
    let manager = Manager::new(&rig);
    let mut command = manager.command(&rig, None, None);
    command.env("WATCHDOG_USEC", "2000000");
    rig.spawn(command);
    manager.until("READY=1").await;
    rig.ready().await;
    for _ in 0..2 {
        let event = rig.next_event();
        rig.world.emit_as(rig.hook, event, Sending::Answer(503)).await;
    }
    rig.eventually("a sweep waits to ask for the second one", async |rig| {
        rig.get("/metrics").await.is_some_and(|(_, text)| {
            text.as_str().unwrap_or_default().contains("call=\"redeliver\",result=\"ok\"} 1")
        })
    })
    .await;
    rig.world.faults(|faults| faults.api.all = Some(Answer::Status(503)));
    let begun = Instant::now();
    for _ in 0..4 {
        manager.until("WATCHDOG=1").await;
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(!rig.log().contains("is not fed any more"), "{}", rig.log());
    assert_eq!(rig.terminate().await, Some(0));
}

/// O20: one line for people, kept up to date.
#[tokio::test(flavor = "multi_thread")]
async fn the_status_line_tells_what_is_missing_and_how_old_the_knowledge_is() {
    let mut rig = Rig::new("").await;
    rig.edit_config("min_interval = \"10ms\"", "min_interval = \"1h\"");
    let manager = Manager::new(&rig);
    rig.spawn(manager.command(&rig, None, None));
    rig.ready().await;
    let told = manager.until_it_holds("last complete sweep").await;
    assert!(told.last().unwrap().contains("STATUS=1 hook; nothing missing; "), "{told:?}");
    for _ in 0..3 {
        let event = rig.next_event();
        rig.world.emit_as(rig.hook, event, Sending::Swallow).await;
    }
    let told = manager.until_it_holds(" missing, the oldest").await;
    assert!(told.last().unwrap().contains("STATUS=1 hook; "), "{told:?}");
}

/// O20, O22: a migration that takes long, here because somebody else migrates.
#[tokio::test(flavor = "multi_thread")]
async fn more_time_is_asked_for_again_and_again_while_it_migrates_and_a_stop_is_obeyed() {
    let url = postgres::new_database().await;
    let mut rig = Rig::new(&format!("[database]\nurl = \"{url}\"")).await;
    let manager = Manager::new(&rig);
    let mut other = PgConnection::connect(&url).await.unwrap();
    let mut hold = other.begin().await.unwrap();
    hold.execute("SELECT pg_advisory_xact_lock(7238915604417)").await.unwrap();

    rig.spawn(manager.command(&rig, None, None));
    assert!(manager.next().await.starts_with("EXTEND_TIMEOUT_USEC=60000000\n"));
    rig.signal("TERM");
    assert_eq!(rig.wait().await, Some(0));
    assert!(manager.next().await.starts_with("STOPPING=1\n"));

    rig.spawn(manager.command(&rig, None, None));
    for _ in 0..2 {
        assert!(manager.next().await.starts_with("EXTEND_TIMEOUT_USEC=60000000\n"));
    }
    hold.rollback().await.unwrap();
    assert!(manager.next().await.starts_with("READY=1\n"));
}
