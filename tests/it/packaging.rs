//! The shipped files: units by systemd's own tools, the dashboard by the metrics that exist.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

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

/// The names of our metrics in a text, without the ends that histograms add.
fn metrics_in(text: &str) -> BTreeSet<String> {
    text.match_indices("redeliverd_")
        .map(|(at, _)| {
            let rest = text[at..].chars();
            let name: String = rest.take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            name.trim_end_matches("_bucket").trim_end_matches("_total").to_owned()
        })
        .collect()
}

#[test]
fn the_dashboard_asks_only_for_metrics_that_exist() {
    let text = fs::read_to_string(root().join("config/examples/grafana.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    // Where they are registered: a family without a value yet is not shown.
    let source = fs::read_to_string(root().join("src/telemetry/metrics.rs")).unwrap();
    let asked = metrics_in(&text);
    assert!(asked.len() > 10);
    for name in asked {
        let registered = format!("\"{}\"", name.trim_start_matches("redeliverd_"));
        assert!(source.contains(&registered), "{name}");
    }
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
fn everything_that_the_package_takes_along_is_there() {
    let text = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let cargo: toml::Table = text.parse().unwrap();
    let deb = &cargo["package"]["metadata"]["deb"];
    let assets = deb["assets"].as_array().unwrap();
    let sources = assets.iter().map(|asset| asset[0].as_str().unwrap());
    for source in sources.clone().filter(|source| !source.starts_with("target/")) {
        let path = root().join(source.trim_end_matches("/*"));
        assert!(path.exists(), "{source}");
    }
    assert!(sources.count() > 10);
    for unit in deb["systemd-units"].as_array().unwrap() {
        assert_eq!(unit["enable"].as_bool(), Some(false));
        assert_eq!(unit["start"].as_bool(), Some(false));
        let scripts = root().join(unit["unit-scripts"].as_str().unwrap());
        assert!(scripts.join("redeliverd.service").exists());
    }
}

#[test]
fn the_configuration_in_the_package_wants_only_the_files_that_the_unit_passes() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("redeliverd.toml");
    fs::copy(root().join("config/examples/minimal.toml"), &file).unwrap();
    let unit = fs::read_to_string(root().join("systemd/redeliverd.service")).unwrap();
    let passed: Vec<&str> = unit
        .lines()
        .filter_map(|line| line.strip_prefix("LoadCredential=")?.split(':').next())
        .collect();
    assert_eq!(passed, ["ci.pem", "ci.secret"]);
    let text = fs::read_to_string(&file).unwrap();
    for name in passed {
        assert!(text.contains(&format!("\"{name}\"")), "{name}");
    }
}
