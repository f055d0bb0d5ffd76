//! A disk that is really full, under the program that ships: a small file system of its own.

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use aws_lc_rs::hmac;
use reqwest::Response;

use crate::support::{daemon::Rig, small_disk::SmallDisk};

/// More than twice what the daemon sets aside.
const DISK_MIB: u64 = 384;

/// What the daemon sets aside.
const RESERVE: &str = "redeliverd.db-reserve";

/// How long payloads are kept.
const KEPT: Duration = Duration::from_secs(1);

/// Sends events of its own, as GitHub signs them.
struct Sender<'a> {
    rig: &'a Rig,
    http: reqwest::Client,
    key: hmac::Key,
    sent: u64,
    acknowledged: BTreeSet<String>,
}

impl<'a> Sender<'a> {
    fn new(rig: &'a Rig) -> Self {
        let secret = fs::read(rig.dir.path().join("webhook.secret")).unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let http = reqwest::Client::new();
        Self { rig, http, key, sent: 0, acknowledged: BTreeSet::new() }
    }

    /// One event of 200 KB that cannot be compressed much.
    async fn send(&mut self) -> Response {
        self.sent += 1;
        let guid = format!("big-{}", self.sent);
        let noise = (0..3_200).flat_map(|n: u32| {
            hmac::sign(&self.key, format!("{guid}/{n}").as_bytes()).as_ref().to_vec()
        });
        let body = format!("\"{}\"", hex::encode(noise.collect::<Vec<_>>()));
        let signature = hex::encode(hmac::sign(&self.key, body.as_bytes()));
        let answer = self
            .http
            .post(format!("http://{}/webhook", self.rig.receiver))
            .header("content-type", "application/json")
            .header("x-github-event", "push")
            .header("x-github-delivery", &guid)
            .header("x-hub-signature-256", format!("sha256={signature}"))
            .body(body)
            .send()
            .await
            .unwrap();
        if answer.status() == 202 {
            self.acknowledged.insert(guid);
        }
        answer
    }

    /// Sends until the daemon refuses; that answer.
    async fn send_until_refused(&mut self) -> Response {
        for _ in 0..2_000 {
            let answer = self.send().await;
            if answer.status() != 202 {
                return answer;
            }
        }
        panic!("the disk never got full");
    }

    /// Every event that was acknowledged is known to the daemon.
    async fn nothing_is_lost(&self) {
        let list = self.rig.run(&["list", "--limit", "10000", "--json"]).await.json();
        let known: BTreeSet<String> = list["deliveries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["guid"].as_str().unwrap().to_owned())
            .collect();
        let gone: Vec<_> = self.acknowledged.difference(&known).collect();
        assert!(gone.is_empty(), "acknowledged and lost: {gone:?}");
    }
}

async fn fires(rig: &Rig, condition: &str) -> bool {
    let line = format!("redeliverd_condition{{condition=\"{condition}\",hook=\"\"}} 1");
    let metrics = rig.get("/metrics").await;
    metrics.is_some_and(|(_, text)| text.as_str().is_some_and(|text| text.contains(&line)))
}

async fn refused(answer: Response) {
    assert_eq!(answer.status(), 503);
    let wait = answer.headers().get("retry-after").expect("Retry-After").to_str().unwrap();
    assert!(wait.parse::<u32>().unwrap() > 0, "{wait}");
    assert_eq!(answer.text().await.unwrap(), "{\"error\":\"unavailable\"}");
}

/// A daemon on a small disk that has set its reserve aside, and keeps payloads for a second.
async fn served() -> (Rig, SmallDisk) {
    let mut rig = Rig::new(
        "[database]\nurl = \"sqlite:disk/redeliverd.db\"\n[retention]\npayloads = \"1s\"\n\
         [alerts]\ncheck_every = \"200ms\"\n",
    )
    .await;
    let disk = SmallDisk::mount(rig.dir.path().join("disk"), DISK_MIB);
    rig.serve().await;
    rig.eventually("space is set aside", async |_| disk.holds(RESERVE)).await;
    (rig, disk)
}

async fn until_all_is_old(rig: &Rig) {
    let filled = Instant::now();
    rig.eventually("what was sent is old", async |_| filled.elapsed() > KEPT).await;
}

/// S27
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_refused_alerted_pruned_and_over_without_a_restart() {
    let (mut rig, disk) = served().await;
    // The receiver itself fills what another program left.
    let _ballast = disk.fill_up_to("ballast", 20);
    let mut sender = Sender::new(&rig);
    refused(sender.send_until_refused().await).await;
    rig.eventually("the alert fires", async |rig| fires(rig, "store_failing").await).await;
    assert!(fires(&rig, "disk_low").await);
    assert_eq!(rig.get("/healthz").await.unwrap().0, 200);
    assert_eq!(rig.get("/readyz").await.unwrap().0, 503);
    refused(sender.send().await).await;
    sender.nothing_is_lost().await;

    until_all_is_old(&rig).await;
    let prune = rig.run(&["prune", "--json"]).await;
    assert_eq!(prune.code, 0, "{prune:?}");
    assert!(prune.json()["payloads"].as_u64() >= Some(50), "{prune:?}");
    assert!(!disk.holds(RESERVE));
    // What that freed is enough to go on, and stays so when all else is taken.
    let _rest = disk.fill_up_to("more", 1);
    assert_eq!(sender.send().await.status(), 202);
    rig.eventually("it is over", async |rig| !fires(rig, "store_failing").await).await;
    sender.nothing_is_lost().await;
    assert_eq!(rig.terminate().await, Some(0));
}

/// S27
#[tokio::test(flavor = "multi_thread")]
async fn without_the_reserve_prune_says_what_to_do_and_room_made_elsewhere_is_enough() {
    let (mut rig, disk) = served().await;
    fs::remove_file(disk.path.join(RESERVE)).unwrap();
    let ballast = disk.fill_up_to("ballast", 20);
    let mut sender = Sender::new(&rig);
    refused(sender.send_until_refused().await).await;
    until_all_is_old(&rig).await;
    let prune = rig.run(&["prune"]).await;
    assert_eq!(prune.code, 1, "{prune:?}");
    let advice =
        "error: there is no room to remove anything in: free 128 MiB on the file system of";
    assert!(prune.stderr.contains(advice), "{prune:?}");
    refused(sender.send().await).await;

    fs::remove_file(ballast).unwrap();
    assert_eq!(sender.send().await.status(), 202);
    rig.eventually("it is ready", async |rig| rig.get("/readyz").await.unwrap().0 == 200).await;
    assert_eq!(rig.run(&["prune"]).await.code, 0);
    sender.nothing_is_lost().await;
    assert_eq!(rig.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_tells_of_little_space_and_of_a_reserve_that_is_gone() {
    let (rig, disk) = served().await;
    let result = async |name: &str| {
        let report = rig.run(&["doctor", "--json"]).await.json();
        let checks = report["checks"].as_array().unwrap().clone();
        let check = checks.into_iter().find(|check| check["name"] == name).unwrap();
        (check["result"].as_str().unwrap().to_owned(), check["detail"].as_str().unwrap().to_owned())
    };
    let (disk_result, detail) = result("disk").await;
    assert!(disk_result == "warn" && detail.contains(" MiB free ("), "{detail}");
    let set_aside = ("pass".to_owned(), "128 MiB set aside".to_owned());
    rig.eventually("space is set aside", async |_| disk.holds(RESERVE)).await;
    assert_eq!(result("disk_reserve").await, set_aside);
    fs::remove_file(disk.path.join(RESERVE)).unwrap();
    assert_eq!(result("disk_reserve").await.0, "warn");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_tells_of_too_little_room_for_temporary_files() {
    let mut rig = Rig::new("").await;
    let result = async |rig: &Rig| {
        let report = rig.run(&["doctor", "--json"]).await.json();
        let checks = report["checks"].as_array().unwrap().clone();
        let check = checks.into_iter().find(|check| check["name"] == "disk_temporary").unwrap();
        (check["result"].as_str().unwrap().to_owned(), check["detail"].as_str().unwrap().to_owned())
    };
    let roomy = rig.dir.path().to_owned();
    rig.env.push(("SQLITE_TMPDIR", roomy.display().to_string()));
    let (ended, detail) = result(&rig).await;
    assert!(
        ended == "pass" && detail.ends_with(&format!("free in {}", roomy.display())),
        "{detail}"
    );
    let disk = SmallDisk::mount(roomy.join("small"), 8);
    rig.env = vec![("SQLITE_TMPDIR", disk.path.display().to_string())];
    let (ended, detail) = result(&rig).await;
    assert!(ended == "warn" && detail.contains("8 MiB free in "), "{detail}");
    let run = rig.run(&["doctor"]).await;
    let line = run.stdout.lines().find(|line| line.contains("disk_temporary")).unwrap();
    assert!(line.starts_with("warn"), "{line}");
}
