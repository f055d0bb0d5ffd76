//! The shipped files: units by systemd's own tools, the dashboard by the metrics that exist.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path, process::Command};

const UNITS: [&str; 4] = [
    "redeliverd.service",
    "redeliverd.socket",
    "redeliverd-sweep.service",
    "redeliverd-sweep.timer",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The units with the program where it is here, so that systemd finds it.
fn installed() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for unit in UNITS {
        let text = fs::read_to_string(root().join("systemd").join(unit)).unwrap();
        let text = text.replace("/usr/bin/redeliverd", env!("CARGO_BIN_EXE_redeliverd"));
        fs::write(dir.path().join(unit), text).unwrap();
    }
    dir
}

fn analyze(dir: &Path, args: &[&str]) -> (bool, String) {
    let mut command = Command::new("systemd-analyze");
    let output = command.args(args).current_dir(dir).env("LC_ALL", "C").output();
    let output = output.expect("systemd-analyze is installed; tests/setup.sh does it");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn systemd_finds_no_fault_in_the_units() {
    let dir = installed();
    let paths = UNITS.map(|unit| format!("./{unit}"));
    let mut args = vec!["verify", "--man=no"];
    args.extend(paths.iter().map(String::as_str));
    let (fine, text) = analyze(dir.path(), &args);
    assert!(fine, "{text}");
    let ours: Vec<_> = text.lines().filter(|line| line.contains("redeliverd")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn the_services_are_exposed_by_less_than_two() {
    let dir = installed();
    for unit in ["redeliverd.service", "redeliverd-sweep.service"] {
        let path = format!("./{unit}");
        let (_, text) = analyze(dir.path(), &["security", "--offline=true", "--no-pager", &path]);
        let line = text.lines().find(|line| line.contains("Overall exposure level"));
        let line = line.unwrap_or_else(|| panic!("no level for {unit}: {text}"));
        let level = line.rsplit(": ").next().unwrap().split(' ').next().unwrap();
        assert!(level.parse::<f64>().unwrap() < 2.0, "{line}");
    }
}

/// The names under which Prometheus stores what `src/telemetry/metrics.rs` registers. (A family without
/// a value yet is not shown by `/metrics`, so the source is asked.)
fn series() -> BTreeSet<String> {
    let source = fs::read_to_string(root().join("src/telemetry/metrics.rs")).unwrap();
    let (_, registered) = source.split_once("\nmetrics! {").unwrap();
    let (registered, _) = registered.split_once("\n}").unwrap();
    let mut series = BTreeSet::new();
    let mut kind = "";
    for line in registered.lines().map(str::trim) {
        if let Some((name, _)) = line.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            let ends: &[&str] = match kind {
                kind if kind.contains("Counter") => &["_total"],
                kind if kind.contains("Histogram") => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            series.extend(ends.iter().map(|end| format!("redeliverd_{name}{end}")));
        } else if let Some((declared, _)) = line.split_once(" = ") {
            kind = declared;
        }
    }
    series
}

/// The expressions of all panels.
fn expressions() -> Vec<String> {
    let text = fs::read_to_string(root().join("config/examples/grafana.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

fn names_in(expression: &str) -> impl Iterator<Item = String> {
    expression.match_indices("redeliverd_").map(|(at, _)| {
        let rest = expression[at..].chars();
        rest.take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    })
}

#[test]
fn the_dashboard_asks_only_for_series_that_exist() {
    let series = series();
    assert!(series.contains("redeliverd_ack_seconds_bucket"), "{series:?}");
    for expression in expressions() {
        for name in names_in(&expression) {
            assert!(series.contains(&name), "{name} in {expression}");
        }
    }
}

#[test]
fn the_dashboard_shows_what_an_operator_asks_first() {
    let shown: BTreeSet<String> = expressions().iter().flat_map(|text| names_in(text)).collect();
    for name in [
        "missing_deliveries",
        "oldest_missing_age_seconds",
        "last_complete_sweep_timestamp_seconds",
        "redeliveries_total",
        "repaired_total",
        "lost_total",
        "ack_seconds_bucket",
        "received_total",
        "inbox_events",
        "handover_seconds_bucket",
        "github_api_calls_total",
        "github_ratelimit_remaining",
        "github_clock_offset_seconds",
        "condition",
    ] {
        assert!(shown.contains(&format!("redeliverd_{name}")), "{name}");
    }
}

#[test]
fn prometheus_can_read_every_expression_of_the_dashboard() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rules.yml");
    let mut rules = "groups: [{name: dashboard, rules: [".to_owned();
    for (nth, expression) in expressions().iter().enumerate() {
        // What Grafana puts in their place.
        let expression = expression.replace("$__rate_interval", "1m").replace("$hook", "ci");
        let quoted = serde_json::to_string(&expression).unwrap();
        writeln!(rules, "{{record: 'panel:{nth}', expr: {quoted}}},").unwrap();
    }
    fs::write(&file, rules + "]}]").unwrap();
    let output = Command::new("promtool").args(["check", "rules"]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn printed(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_redeliverd")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_man_page_and_the_completions_are_of_this_program() {
    let page = printed(&["man"]);
    assert!(page.contains(".TH redeliverd 1"), "{page}");
    for command in ["serve", "sweep", "status", "doctor", "healthcheck", "replay"] {
        assert!(page.contains(&format!("redeliverd\\-{command}(1)")), "{command}");
    }
    for section in ["EXIT STATUS", "ENVIRONMENT", "FILES"] {
        assert!(page.contains(section), "{section}");
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("redeliverd.bash");
    fs::write(&script, printed(&["completions", "bash"])).unwrap();
    // Loads it as a shell does, and asks for what follows `redeliverd do`.
    let ask = ". \"$0\"; COMP_WORDS=(redeliverd do); COMP_CWORD=1; \
               _redeliverd redeliverd do redeliverd; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["-c", ask]).arg(&script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "doctor", "{output:?}");
    for shell in ["zsh", "fish"] {
        assert!(printed(&["completions", shell]).contains("healthcheck"), "{shell}");
    }
}

#[test]
fn every_page_that_a_man_page_points_to_is_written() {
    let dir = tempfile::tempdir().unwrap();
    printed(&["man", "--dir", dir.path().to_str().unwrap()]);
    let mut pages = 0;
    for entry in fs::read_dir(dir.path()).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let named = text.lines().filter_map(|line| line.strip_suffix("(1)"));
        for page in named.map(|name| name.trim_start_matches("\\fB").replace("\\-", "-")) {
            let page = page.replace("\\fR", "");
            assert!(dir.path().join(format!("{page}.1")).exists(), "{page}");
        }
        pages += 1;
    }
    assert!(pages > 20, "{pages}");
    assert!(dir.path().join("redeliverd-dead-requeue.1").exists());
}

fn deb() -> toml::Table {
    let cargo: toml::Table =
        fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    cargo["package"]["metadata"]["deb"].as_table().unwrap().clone()
}

#[test]
fn everything_that_the_package_takes_along_is_there() {
    let deb = deb();
    let assets = deb["assets"].as_array().unwrap();
    let sources = assets.iter().map(|asset| asset[0].as_str().unwrap());
    for source in sources.clone().filter(|source| !source.starts_with("target/")) {
        let fixed = source.split('*').next().unwrap();
        assert!(root().join(fixed).exists(), "{source}");
    }
    assert!(sources.count() > 10);
}

#[test]
fn the_package_brings_every_unit_and_starts_none() {
    let deb = deb();
    // cargo-deb's own handling of units would pass the socket off as the sweep's too, and restart it
    // in an upgrade.
    assert!(!deb.contains_key("systemd-units"));
    let assets = deb["assets"].as_array().unwrap();
    assert!(assets.iter().any(|asset| asset[0].as_str() == Some("systemd/*")));
    let brought = fs::read_dir(root().join("systemd")).unwrap();
    let brought: BTreeSet<_> =
        brought.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(brought, UNITS.map(str::to_owned).into());
    let scripts = root().join(deb["maintainer-scripts"].as_str().unwrap());
    for script in ["postinst", "prerm", "postrm"] {
        let path = scripts.join(script);
        let parsed = Command::new("sh").arg("-n").arg(&path).output().unwrap();
        assert!(parsed.status.success(), "{parsed:?}");
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| line.contains("systemctl") || line.contains("deb-"))
        {
            let starts =
                [" enable ", " start ", " restart "].iter().any(|verb| line.contains(verb));
            assert!(!starts, "{script}: {line}");
        }
    }
    // Without a configuration nothing is bound and nothing runs, even when somebody enables it.
    for unit in UNITS.iter().filter(|unit| !unit.contains(".timer")) {
        let text = fs::read_to_string(root().join("systemd").join(unit)).unwrap();
        assert!(text.contains("\nConditionPathExists=/etc/redeliverd/redeliverd.toml\n"), "{unit}");
    }
}

#[test]
fn the_example_in_the_package_runs_on_the_credentials_that_the_unit_passes() {
    let dir = tempfile::tempdir().unwrap();
    let (etc, credentials) = (dir.path().join("etc"), dir.path().join("credentials"));
    fs::create_dir(&etc).unwrap();
    fs::create_dir(&credentials).unwrap();
    let file = etc.join("redeliverd.toml");
    fs::copy(root().join("packaging/redeliverd.toml.example"), &file).unwrap();
    let key = Command::new("openssl").args(["genrsa", "2048"]).output().unwrap().stdout;
    let unit = fs::read_to_string(root().join("systemd/redeliverd.service")).unwrap();
    let passed: Vec<&str> = unit
        .lines()
        .filter_map(|line| line.strip_prefix("LoadCredential=")?.split(':').next())
        .collect();
    assert_eq!(passed, ["ci.pem", "ci.secret"]);
    for name in passed {
        let bytes = if name == "ci.pem" { key.clone() } else { b"a-long-enough-secret\n".into() };
        fs::write(credentials.join(name), bytes).unwrap();
    }
    let mut check = Command::new(env!("CARGO_BIN_EXE_redeliverd"));
    check.args(["config", "check"]).env("REDELIVERD_CONFIG", &file);
    let without = check.output().unwrap();
    assert_eq!(without.status.code(), Some(2), "{without:?}");
    let with = check.env("CREDENTIALS_DIRECTORY", &credentials).output().unwrap();
    assert!(with.status.success(), "{with:?}");
}
