//! The configuration as its users meet it: a directory with a file, and the environment.

mod defaults;
mod environment;
mod mistakes;
mod problems;
mod secrets;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::{Config, Env, Loaded, Problems, Severity, from_str};

/// The outer form of a PKCS#1 key, which is all that is checked here.
const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nMAYCAQACAQU=\n-----END RSA PRIVATE KEY-----\n";

const MINIMAL: &str = include_str!("../../../config/examples/minimal.toml");

/// A directory for the configuration file, with a key and a secret in it.
struct World {
    dir: TempDir,
    env: Env,
}

impl World {
    fn new() -> Self {
        let world = Self { dir: tempfile::tempdir().unwrap(), env: Env::default() };
        world.write("ci.pem", KEY);
        world.write("ci.secret", "it's a secret\n");
        world
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.env.variables.push((name.to_owned(), value.into()));
        self
    }

    fn load(&self, text: &str) -> Result<Loaded, Problems> {
        from_str(text, self.path(), &self.env)
    }

    fn config(&self, text: &str) -> Config {
        self.load(text).map_or_else(|problems| panic!("{problems}"), |loaded| loaded.config)
    }

    /// Everything that is said about a file, one line each.
    fn said(&self, text: &str) -> Vec<String> {
        let problems = match self.load(text) {
            Ok(loaded) => loaded.warnings,
            Err(problems) => {
                assert!(problems.all.iter().any(|p| p.severity == Severity::Error), "{problems}");
                problems.all
            }
        };
        problems
            .iter()
            .map(|problem| problem.to_string().replace(self.path().to_str().unwrap(), "DIR"))
            .collect()
    }
}

/// The minimal file with further keys in its hook and further sections after it.
fn with(hook: &str, sections: &str) -> String {
    format!("{MINIMAL}\n{hook}\n{sections}\n")
}
