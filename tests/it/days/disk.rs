//! Days on which the disk runs out: told while there is still room, and when there is none.

use std::fs;

use super::{Day, says};
use crate::support::small_disk::SmallDisk;

const ON_THE_DISK: &str = "[database]\nurl = \"sqlite:disk/redeliverd.db\"\n";

async fn day(mib: u64) -> (Day, SmallDisk) {
    let mut day = Day::new("", ON_THE_DISK).await;
    let disk = SmallDisk::mount(day.rig.dir.path().join("disk"), mib);
    day.rig.serve().await;
    (day, disk)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_gets_low_before_anything_is_lost() {
    // 512 MiB is what there should be.
    let (mut day, disk) = day(768).await;
    day.arrival().await;
    assert_eq!(day.metric("disk_low").await.as_deref(), Some("0.0"));
    let ballast = disk.path.join("ballast");
    fs::write(&ballast, vec![0; 160 << 20]).unwrap();
    let low = day.fires("disk_low").await;
    says(&low, &["MiB of 768 MiB are free", "when it is full, deliveries are refused"]);
    assert_eq!((&low["severity"], &low["hook"]), (&"critical".into(), &().into()));
    assert_eq!(low["command"], "redeliverd prune");
    day.arrival().await;
    fs::remove_file(ballast).unwrap();
    day.ends("disk_low").await;
    day.only(&["disk_low"]);
}

/// S27: the alert goes out although what was told cannot be written down, and only once.
#[tokio::test(flavor = "multi_thread")]
async fn the_disk_is_full() {
    let (mut day, disk) = day(384).await;
    day.arrival().await;
    let reserve = "redeliverd.db-reserve";
    day.rig.eventually("space is set aside", async |_| disk.holds(reserve)).await;
    day.fires("disk_low").await;
    let ballast = disk.fill_up_to("ballast", 0);
    let failing = day.told_firing("store_failing").await;
    says(&failing, &["the database does not take writes", "deliveries are refused"]);
    assert_eq!(day.metric("store_failing").await.as_deref(), Some("1.0"));
    let event = day.rig.next_event();
    let guid = day.rig.world.emit(day.rig.hook, event).await;
    assert_eq!(day.rig.world.posts(&guid)[0].answer, Some(503));
    day.rig
        .eventually("the daemon looks some more", async |rig| {
            rig.log().matches("the conditions cannot be stored").count() > 3
        })
        .await;
    assert_eq!(day.told("store_failing").len(), 1);

    fs::remove_file(ballast).unwrap();
    day.ends("store_failing").await;
    day.rig
        .eventually("what was refused is settled", async |rig| {
            day.sweep().await;
            rig.world.received_ok(&guid)
        })
        .await;
    assert_eq!(day.told("store_failing").len(), 2);
    // So small a disk is always low.
    day.only(&["disk_low", "store_failing"]);
}
