//! Finds, reads and checks a configuration; shows it and describes it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    Config, Source, check,
    checker::Check,
    problem::{Problem, Problems, unreadable},
    raw,
    read::{At, Read as _},
    secret::{Places, SecretNote},
    tree::{self, FILE_VARIABLE, PREFIX},
};

/// The defaults, which are also the documentation of every key.
pub const DEFAULTS: &str = include_str!("../../config/redeliverd.toml");

/// What of the process's environment matters to the configuration.
#[derive(Clone, Default)]
pub struct Env {
    /// `REDELIVERD_...`; the values may be secrets.
    pub variables: Vec<(String, OsString)>,
    /// `$CREDENTIALS_DIRECTORY`, which systemd sets for `LoadCredential=`.
    pub credentials: Option<PathBuf>,
}

/// A configuration that can be started with.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What it means.
    pub config: Config,
    /// The file; `None` when there was none, only environment and defaults.
    pub source: Option<Source>,
    /// What is doubtful, though it prevents nothing.
    pub warnings: Vec<Problem>,
    /// What `config check` tells of each secret.
    pub secrets: Vec<SecretNote>,
    effective: String,
}

impl Env {
    /// The environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| name.starts_with(PREFIX))
            .collect();
        let credentials = std::env::var_os("CREDENTIALS_DIRECTORY");
        let credentials = credentials.filter(|path| !path.is_empty()).map(PathBuf::from);
        Self { variables, credentials }
    }
}

/// The file to use: the given one, else `$REDELIVERD_CONFIG`, else the first that exists of
/// `./redeliverd.toml` and `/etc/redeliverd/redeliverd.toml`. `None`: no file at all.
#[must_use]
pub fn locate(given: Option<&Path>, env: &Env) -> Option<PathBuf> {
    let named = || {
        let variable = env.variables.iter().find(|(name, _)| name == FILE_VARIABLE);
        variable.filter(|(_, path)| !path.is_empty()).map(|(_, path)| PathBuf::from(path))
    };
    let usual = || {
        let places = ["redeliverd.toml", "/etc/redeliverd/redeliverd.toml"];
        places.into_iter().map(PathBuf::from).find(|path| path.exists())
    };
    given.map(Path::to_path_buf).or_else(named).or_else(usual)
}

/// Loads a file, the environment laid over it and both laid over the defaults.
///
/// # Errors
/// With every problem that was found, warnings included, if one of them is an error.
pub fn load(file: Option<&Path>, env: &Env) -> Result<Loaded, Problems> {
    let Some(path) = file else { return from_str("", Path::new("."), env) };
    let shown = path.display().to_string();
    let failed = |why: String| {
        Err(Problems { all: vec![Problem::error(&shown, why).hint("--config names another file")] })
    };
    let text = match std::fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => return failed("is not UTF-8 text".to_owned()),
        Err(error) => return failed(format!("cannot be read: {}", unreadable(&error))),
    };
    let base = path.parent().unwrap_or(Path::new(""));
    let loaded = read(&text, &shown, base, env)?;
    Ok(Loaded { source: Some(Source { file: path.to_path_buf() }), ..loaded })
}

/// Like [`load`], from a text; relative paths are relative to `base_dir`.
///
/// # Errors
/// As [`load`].
pub fn from_str(text: &str, base_dir: &Path, env: &Env) -> Result<Loaded, Problems> {
    read(text, "configuration", base_dir, env)
}

fn read(text: &str, file: &str, base: &Path, env: &Env) -> Result<Loaded, Problems> {
    let mut problems = Problems::default();
    let written = tree::parse(text, file, &mut problems);
    let defaults = tree::parse(DEFAULTS, "the defaults", &mut problems);
    let (Some(mut written), Some(defaults)) = (written, defaults) else { return Err(problems) };
    tree::apply_variables(&mut written, &env.variables, &mut problems);
    let tree = tree::over_defaults(defaults, written);
    let Some(raw) = raw::File::read(tree, &At::default(), &mut problems) else {
        return Err(problems);
    };
    let effective = toml::to_string(&raw.show()).unwrap_or_default();
    // An absolute base stays right when the process changes its directory. `.` is nothing to say.
    let base = if base.as_os_str().is_empty() { Path::new(".") } else { base };
    let places = Places {
        base: std::path::absolute(base).unwrap_or_else(|_| base.to_path_buf()),
        credentials: env.credentials.clone(),
    };
    let mut check = Check { problems: &mut problems, places: &places, notes: Vec::new() };
    let config = check::file(&mut check, raw);
    let secrets = check.notes;
    match config {
        Some(config) if !problems.has_errors() => {
            Ok(Loaded { config, source: None, warnings: problems.all, secrets, effective })
        }
        Some(_) | None => Err(problems),
    }
}

/// The effective configuration as TOML, secrets masked. Files of secrets are named, not read.
#[must_use]
pub fn show(loaded: &Loaded) -> &str {
    &loaded.effective
}

/// The JSON Schema of the configuration file, with descriptions and defaults.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = raw::File::schema();
    if let Ok(defaults) = DEFAULTS.parse::<toml::Table>() {
        annotate(&mut schema, &toml::Value::Table(defaults));
    }
    if let Some(object) = schema.as_object_mut() {
        let dialect = "https://json-schema.org/draft/2020-12/schema";
        object.insert("$schema".to_owned(), json!(dialect));
        object.insert("title".to_owned(), json!("redeliverd"));
    }
    schema
}

/// Adds each default to its key; the template of the hooks describes every hook.
fn annotate(schema: &mut serde_json::Value, default: &toml::Value) {
    match default {
        toml::Value::Table(keys) => {
            for (key, value) in keys {
                if let Some(property) = schema.pointer_mut(&format!("/properties/{key}")) {
                    annotate(property, value);
                }
            }
        }
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            if let (Some(item), Some(schema)) = (items.first(), schema.get_mut("items")) {
                annotate(schema, item);
            }
        }
        toml::Value::Array(_)
        | toml::Value::String(_)
        | toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_) => {
            if let Some(object) = schema.as_object_mut() {
                object.insert("default".to_owned(), json!(default));
            }
        }
    }
}
