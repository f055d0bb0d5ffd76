//! The environment, and how the file is found.

use std::{fs, os::unix::ffi::OsStringExt as _, path::PathBuf};

use secrecy::ExposeSecret;

use super::{KEY, MINIMAL, World, with};
use crate::config::{Credential, Env, load, locate};

#[test]
fn any_key_can_be_set_by_its_type() {
    let config = World::new()
        .set("REDELIVERD_DATABASE__URL", "postgres://u:hunter2@h/db")
        .set("REDELIVERD_SWEEP__MAX_PAGES", "10")
        .set("REDELIVERD_SWEEP__BACKOFF", "1m, 2m")
        .set("REDELIVERD_HOOKS__0__PATH", "/elsewhere")
        .set("REDELIVERD_HOOKS__0__ALLOW_SHA1", "true")
        .set("REDELIVERD_HOOKS__0__FILTER__REPOSITORIES", "[7, 8]")
        .set("REDELIVERD_HOOKS__0__FILTER__INCLUDE__0", "push")
        .set("REDELIVERD_RECEIVER__LISTEN", "[::1]:80")
        .config(MINIMAL);
    let hook = config.hook("ci").unwrap();
    assert_eq!(config.database.url.expose_secret(), "postgres://u:hunter2@h/db");
    assert_eq!(config.sweep.max_pages, 10);
    assert_eq!(hook.policy.backoff, [1, 2].map(chrono::TimeDelta::minutes));
    assert_eq!(hook.path, "/elsewhere");
    assert!(hook.allow_sha1);
    assert_eq!(hook.policy.filter.repositories, [7, 8].into());
    assert_eq!(hook.policy.filter.include[0].event, "push");
    assert_eq!(config.receiver.listen.to_string(), "[::1]:80");
}

#[test]
fn a_hook_can_come_from_the_environment_alone() {
    let config = World::new()
        .set("REDELIVERD_HOOKS__0__NAME", "ci")
        .set("REDELIVERD_HOOKS__0__APP_ID", "4242")
        .set("REDELIVERD_HOOKS__0__PRIVATE_KEY", &KEY.replace('\n', "\\n"))
        .set("REDELIVERD_HOOKS__0__WEBHOOK_SECRET", "new")
        .set("REDELIVERD_HOOKS__0__WEBHOOK_SECRET_OLD", "old")
        .set("REDELIVERD_ADMIN__TOKEN", "token\n")
        .set("REDELIVERD_CONFIG", "/nowhere")
        .config("");
    let hook = config.hook("ci").unwrap();
    let Credential::App { private_key, .. } = &hook.api.credential;
    assert_eq!(private_key.expose_secret(), KEY);
    let secrets: Vec<_> = hook.secrets.iter().map(ExposeSecret::expose_secret).collect();
    assert_eq!(secrets, ["new", "old"]);
    assert_eq!(config.admin.token.unwrap().expose_secret(), "token");
}

#[test]
fn a_variable_that_names_nothing_is_named() {
    for (name, value, said) in [
        (
            "REDELIVERD_SWEEP__MAX_PAGE",
            "hunter2",
            "error: REDELIVERD_SWEEP__MAX_PAGE: is set, but names no key of the configuration (did \
             you mean `REDELIVERD_SWEEP__MAX_PAGES`?)",
        ),
        (
            "REDELIVERD_DATABSE__URL",
            "hunter2",
            "error: REDELIVERD_DATABSE__URL: is set, but names no key of the configuration (did \
             you mean `REDELIVERD_DATABASE__URL`?)",
        ),
        (
            "REDELIVERD_HOOKS__0__WEBHOOK_SECRT",
            "hunter2",
            "error: REDELIVERD_HOOKS__0__WEBHOOK_SECRT: is set, but names no key of the \
             configuration (did you mean `REDELIVERD_HOOKS__0__WEBHOOK_SECRET`?)",
        ),
        (
            "REDELIVERD_HOOKS__2__PATH",
            "/x",
            "error: REDELIVERD_HOOKS__2__PATH: skips an entry: entries are numbered from 0 without \
             gaps",
        ),
        (
            "REDELIVERD_HOOKS__CI__PATH",
            "/x",
            "error: REDELIVERD_HOOKS__CI__PATH: must give the number of an entry, such as \
             HOOKS__0__PATH",
        ),
        (
            "REDELIVERD_SWEEP__MAX_PAGES",
            "many",
            "error: sweep.max_pages = \"many\": is not a whole number from 0 to 4294967295, set by \
             REDELIVERD_SWEEP__MAX_PAGES (for example 200, without quotes)",
        ),
        (
            "REDELIVERD_LOG",
            "debug",
            "warning: REDELIVERD_LOG: is not a variable of redeliverd and is ignored (a key is \
             written REDELIVERD_SECTION__KEY, with two underscores)",
        ),
    ] {
        assert_eq!(World::new().set(name, value).said(MINIMAL), [said]);
    }
}

#[test]
fn a_value_that_is_not_utf8_is_refused_by_name() {
    let mut world = World::new();
    let value = std::ffi::OsString::from_vec(vec![0xff]);
    world.env.variables.push(("REDELIVERD_ADMIN__TOKEN".to_owned(), value));
    assert_eq!(world.said(MINIMAL), ["error: REDELIVERD_ADMIN__TOKEN: is not UTF-8 text"]);
}

#[test]
fn the_file_is_the_given_one_else_the_one_of_the_environment() {
    let env = World::new().set("REDELIVERD_CONFIG", "/from/env.toml").env;
    let given = PathBuf::from("/given.toml");
    assert_eq!(locate(Some(&given), &env), Some(given));
    assert_eq!(locate(None, &env), Some("/from/env.toml".into()));
}

#[test]
fn paths_are_relative_to_the_file() {
    let world = World::new();
    let file = world.write("redeliverd.toml", with("", "[database]\nurl = \"sqlite:x.db\""));
    let loaded = load(Some(&file), &Env::default()).unwrap();
    let url = format!("sqlite://{}/x.db", world.path().display());
    assert_eq!(loaded.config.database.url.expose_secret(), url);
    assert_eq!(loaded.source.unwrap().file, file);
}

#[test]
fn a_file_that_cannot_be_read_is_one_problem() {
    let world = World::new();
    let missing = world.path().join("none.toml");
    let said = load(Some(&missing), &Env::default()).unwrap_err().to_string();
    assert!(
        said.ends_with("cannot be read: there is no such file (--config names another file)"),
        "{said}"
    );
    let binary = world.write("binary.toml", [0xff]);
    let said = load(Some(&binary), &Env::default()).unwrap_err().to_string();
    assert!(said.contains("is not UTF-8 text"), "{said}");
}

#[test]
fn the_shipped_example_loads_with_its_files_beside_it() {
    let world = World::new();
    fs::write(world.path().join("minimal.toml"), MINIMAL).unwrap();
    let loaded = load(Some(&world.path().join("minimal.toml")), &Env::default()).unwrap();
    assert_eq!(loaded.warnings, []);
}
