//! A real Alertmanager and a real Prometheus on loopback: what they make of what they are told.

use std::{
    fs,
    io::Write as _,
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use redeliverd::sandbox::github::{Redelivering, Sending};
use serde_json::Value;

use crate::support::{address::free_address, daemon::Rig};

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Debian packages `prometheus-alertmanager` and `prometheus`; `make test` installs them.
fn start(program: &str, args: &[String], dir: &Path) -> Running {
    let log = fs::File::create(dir.join(format!("{program}.log"))).unwrap();
    let child = Command::new(program)
        .args(args)
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("{program} is not installed: {error}"));
    Running(child)
}

fn alertmanager(at: SocketAddr, dir: &Path) -> Running {
    fs::write(dir.join("am.yml"), "route: {receiver: none}\nreceivers: [{name: none}]\n").unwrap();
    let args = [
        "--config.file=am.yml".to_owned(),
        "--storage.path=am".to_owned(),
        "--cluster.listen-address=".to_owned(),
        format!("--web.listen-address={at}"),
    ];
    start("prometheus-alertmanager", &args, dir)
}

fn prometheus(at: SocketAddr, target: SocketAddr, dir: &Path) -> Running {
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/config/examples/prometheus-rules.yml");
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{rules}']\n\
         scrape_configs: [{{job_name: redeliverd, static_configs: [{{targets: ['{target}']}}]}}]\n"
    );
    fs::write(dir.join("prometheus.yml"), config).unwrap();
    let args = [
        "--config.file=prometheus.yml".to_owned(),
        "--storage.tsdb.path=tsdb".to_owned(),
        format!("--web.listen-address={at}"),
    ];
    start("prometheus", &args, dir)
}

async fn json(url: String) -> Option<Value> {
    reqwest::get(url).await.ok()?.json().await.ok()
}

/// The alert about this condition, as Alertmanager shows it; `None`: it does not hold it.
async fn held(alertmanager: SocketAddr, name: &str) -> Option<Value> {
    let alerts = json(format!("http://{alertmanager}/api/v2/alerts")).await?;
    alerts.as_array()?.iter().find(|alert| alert["labels"]["alertname"] == name).cloned()
}

/// The names of the alerting rules that fire in Prometheus for this condition.
async fn rules(prometheus: SocketAddr, condition: &str) -> Vec<String> {
    let answer = json(format!("http://{prometheus}/api/v1/alerts")).await.unwrap_or_default();
    let alerts = answer["data"]["alerts"].as_array().cloned().unwrap_or_default();
    let of = alerts.into_iter().filter(|alert| alert["labels"]["condition"] == condition);
    of.map(|alert| alert["labels"]["alertname"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_delivery_fires_there_and_resolves_when_it_is_repaired() {
    let (am, prom) = (free_address(), free_address());
    let mut rig = Rig::new(&format!(
        "[alerts]\ncheck_every = \"200ms\"\nmissing_after = \"1s\"\n\
         [[alerts.channels]]\nkind = \"alertmanager\"\nurls = [\"http://{am}\"]\n"
    ))
    .await;
    let _alertmanager = alertmanager(am, rig.dir.path());
    rig.eventually("Alertmanager is ready", async |_| {
        json(format!("http://{am}/api/v2/status")).await.is_some()
    })
    .await;
    let _prometheus = prometheus(prom, rig.admin, rig.dir.path());
    rig.serve().await;
    rig.world.faults(|faults| faults.api.redeliver = Redelivering::Forget);
    let event = rig.next_event();
    let guid = rig.world.emit_as(rig.hook, event, Sending::FailToConnect).await;

    rig.eventually("Alertmanager holds it", async |_| {
        held(am, "deliveries_missing").await.is_some()
    })
    .await;
    let alert = held(am, "deliveries_missing").await.unwrap();
    assert_eq!(alert["status"]["state"], "active");
    assert_eq!(
        alert["labels"],
        serde_json::json!({
            "alertname": "deliveries_missing",
            "service": "redeliverd",
            "severity": "warning",
            "hook": "demo",
        })
    );
    assert_eq!(alert["annotations"]["guids"], guid.as_str());
    rig.eventually("Prometheus fires for the endpoint", async |_| {
        rules(prom, "endpoint_failing").await == ["RedeliverdCriticalCondition"]
    })
    .await;
    checks(&rig).await;

    rig.world.faults(|faults| faults.api.redeliver = Redelivering::Honest);
    rig.eventually("Alertmanager lets go", async |_| {
        held(am, "deliveries_missing").await.is_none()
    })
    .await;
    rig.eventually("Prometheus is quiet", async |_| {
        rules(prom, "endpoint_failing").await.is_empty()
    })
    .await;
}

/// `promtool` parses what is scraped, and knows the rules for names.
async fn checks(rig: &Rig) {
    let (_, text) = rig.get("/metrics").await.unwrap();
    let mut child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_str().unwrap().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/config/examples/prometheus-rules.yml");
    let output = Command::new("promtool").args(["check", "rules", rules]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let routes = concat!(env!("CARGO_MANIFEST_DIR"), "/config/examples/alertmanager.yml");
    let output = Command::new("amtool").args(["check-config", routes]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
