//! Secrets: found, trimmed, noted, and never shown.

use std::{fs, os::unix::fs::PermissionsExt as _};

use secrecy::ExposeSecret as _;

use super::{MINIMAL, World, with};
use crate::config::{DEFAULTS, show};

fn secret_of(world: &World) -> String {
    world.config(MINIMAL).hook("ci").unwrap().secrets[0].expose_secret().to_owned()
}

// R25, R27
#[test]
fn line_breaks_at_the_end_are_cut_and_everything_else_is_kept() {
    for (written, secret, trimmed, warning) in [
        ("plain", "plain", false, ""),
        ("plain\n", "plain", true, ""),
        ("plain\r\n", "plain", true, ""),
        ("two words\n", "two words", true, ""),
        ("trailing \n", "trailing ", true, "white space"),
        ("\tleading", "\tleading", false, "white space"),
        ("two\nlines\n", "two\nlines", true, "more than one line"),
        ("\u{feff}marked", "\u{feff}marked", false, "byte order mark"),
    ] {
        let world = World::new();
        world.write("ci.secret", written);
        assert_eq!(secret_of(&world), secret, "{written:?}");
        let loaded = world.load(MINIMAL).unwrap();
        let note = loaded.secrets.iter().find(|note| note.key.contains("webhook_secret")).unwrap();
        assert_eq!(note.key, "hooks[ci].webhook_secret_files[0]");
        assert_eq!((note.length, note.trimmed), (secret.len(), trimmed), "{written:?}");
        let said = world.said(MINIMAL).join("\n");
        assert_eq!(said.is_empty(), warning.is_empty(), "{said}");
        assert!(said.contains(warning), "{said}");
    }
}

// R29
#[test]
fn no_secret_and_an_empty_secret_are_refused() {
    for empty in ["", "\n", " \r\n"] {
        let world = World::new();
        world.write("ci.secret", empty);
        let expected =
            "error: hooks[ci].webhook_secret_files[0]: is empty (there is no secret by default)";
        assert_eq!(world.said(MINIMAL), [expected], "{empty:?}");
    }
    let said = World::new().said(&MINIMAL.replace("[\"ci.secret\"]", "[]"));
    assert!(said[0].starts_with("error: hooks[ci].webhook_secret_files: is missing"), "{said:?}");
    let said = World::new().set("REDELIVERD_HOOKS__0__WEBHOOK_SECRET", "").said(MINIMAL);
    assert!(said[0].starts_with("error: hooks[ci].webhook_secret: is empty"), "{said:?}");
}

// R33, R34
#[test]
fn several_secrets_keep_their_order() {
    let mut world = World::new();
    world.write("old.secret", "old");
    let text = MINIMAL.replace("[\"ci.secret\"]", "[\"ci.secret\", \"old.secret\"]");
    let secrets = |world: &World| -> Vec<String> {
        let config = world.config(&text);
        config.hooks[0].secrets.iter().map(|s| s.expose_secret().to_owned()).collect()
    };
    assert_eq!(secrets(&world), ["it's a secret", "old"]);
    world = world.set("REDELIVERD_HOOKS__0__WEBHOOK_SECRET", "newest");
    assert_eq!(secrets(&world), ["newest", "it's a secret", "old"]);
    world.write("old.secret", "newest\n");
    assert!(world.said(&text)[0].contains("the same secret twice"));
}

#[test]
fn a_credential_goes_before_a_file_of_its_name_which_may_be_for_root_alone() {
    let mut world = World::new();
    let credentials = tempfile::tempdir().unwrap();
    fs::write(credentials.path().join("ci.secret"), "credential").unwrap();
    fs::set_permissions(credentials.path().join("ci.secret"), fs::Permissions::from_mode(0o400))
        .unwrap();
    world.env.credentials = Some(credentials.path().to_path_buf());
    assert_eq!(secret_of(&world), "credential");
    fs::remove_file(credentials.path().join("ci.secret")).unwrap();
    assert_eq!(secret_of(&world), "it's a secret");
    fs::remove_file(world.path().join("ci.secret")).unwrap();
    assert_eq!(
        world.said(MINIMAL),
        ["error: hooks[ci].webhook_secret_files[0] = DIR/ci.secret: cannot be read: there is \
          no such file, nor is it among the credentials (a path is relative to the directory of the \
          configuration file)"]
    );
}

#[test]
fn a_credential_that_cannot_be_read_is_not_said_to_be_absent() {
    let mut world = World::new();
    let credentials = tempfile::tempdir().unwrap();
    fs::create_dir(credentials.path().join("ci.secret")).unwrap();
    world.env.credentials = Some(credentials.path().to_path_buf());
    let said = world.said(MINIMAL);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("cannot be read: is a directory (a path"), "{said:?}");
}

// Whoever reads a pipe waits until somebody writes, and a device has no end.
#[test]
fn a_secret_is_a_file() {
    let world = World::new();
    let secret = world.path().join("ci.secret");
    fs::remove_file(&secret).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&secret).status().unwrap();
    assert!(made.success());
    let pipe = world.said(MINIMAL);
    fs::remove_file(&secret).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &secret).unwrap();
    let device = world.said(MINIMAL);
    for said in [pipe, device] {
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("cannot be read: it is a pipe or a device"), "{said:?}");
    }
}

#[test]
fn a_secret_that_everybody_can_read_is_a_warning() {
    let world = World::new();
    let path = world.path().join("ci.secret");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(
        world.said(MINIMAL),
        ["warning: hooks[ci].webhook_secret_files[0] = DIR/ci.secret: can be read or written by \
          every user of this machine (chmod o-rw it)"]
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(world.said(MINIMAL).is_empty());
}

#[test]
fn unreadable_secrets_and_keys_are_named() {
    let world = World::new();
    world.write("ci.secret", [b'a', 0xff]);
    world.write("ci.pem", "-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n");
    assert_eq!(
        world.said(MINIMAL),
        [
            "error: hooks[ci].private_key_file: is a public key (use the .pem file that the App's \
             page gives for a new private key)",
            "error: hooks[ci].webhook_secret_files[0] = DIR/ci.secret: is not UTF-8 text",
        ]
    );
    world.write("ci.secret", vec![b'a'; 70_000]);
    assert!(world.said(MINIMAL)[1].ends_with("is larger than 64 KiB"));
}

// O35, O38, O39
#[test]
fn no_secret_is_ever_shown() {
    const LEAK: &str = "hunter2hunter2hunter2";
    // In the file, under right and wrong keys, in right and wrong places.
    for text in [
        with(&format!("webhook_secret = \"{LEAK}\""), ""),
        with(&format!("webhook_secrt = \"{LEAK}\""), ""),
        with(&format!("private_key = \"{LEAK}\""), ""),
        with("", &format!("[admin]\ntoken = \"{LEAK}\"")),
        with("", &format!("[admin]\ntoken_file = \"{LEAK}\"")),
        with("", &format!("[admin]\ntoken_file = [\"{LEAK}\"]")),
        with("", &format!("[database]\nurl = \"mysql://u:{LEAK}@h/db\"")),
        with("", &format!("[database]\nurl = [\"{LEAK}\"]")),
        with("", &format!("[alerts]\nheartbeat_url = \"http://h.example/{LEAK}?k={LEAK}\"")),
        with(&format!("api_url = \"https://{LEAK}@h.example/api/v3\""), ""),
        with(&format!("api_url = \"https://u:{LEAK}@h.example/api/v3\""), ""),
        with(&format!("api_url = \"{LEAK}\""), ""),
        with(&format!("webhook_secret = \"{LEAK}"), ""),
        MINIMAL.replace("[\"ci.secret\"]", &format!("\"{LEAK}\"")),
        MINIMAL.replace("[\"ci.secret\"]", &format!("[\"{LEAK}\"]")),
        MINIMAL.replace("\"ci.pem\"", &format!("'''-----BEGIN RSA PRIVATE KEY-----\n{LEAK}'''")),
    ] {
        let problems = World::new().load(&text).expect_err(&text);
        let said = format!("{problems}{problems:?}");
        assert!(!said.contains(LEAK), "{text}\n{said}");
    }
    // From the environment, where they are right.
    let world = World::new()
        .set("REDELIVERD_ADMIN__TOKEN", LEAK)
        .set("REDELIVERD_HOOKS__0__WEBHOOK_SECRET", LEAK)
        .set("REDELIVERD_DATABASE__URL", &format!("postgres://u:{LEAK}@h/db?password={LEAK}"))
        .set("REDELIVERD_ALERTS__HEARTBEAT_URL", &format!("https://h.example/{LEAK}?k={LEAK}"));
    world.write("ci.secret", LEAK);
    let loaded = world.load(MINIMAL).unwrap();
    let all = format!("{loaded:?}{}", show(&loaded));
    assert!(!all.contains(LEAK), "{all}");
    assert!(!all.contains("MAYCAQACAQU"), "{all}");
    assert!(show(&loaded).contains("url = \"postgres://u:***@h/db?***\""), "{}", show(&loaded));
    assert!(show(&loaded).contains("token = \"***\""), "{}", show(&loaded));
}

#[test]
fn a_secret_in_the_file_is_refused_with_the_reason() {
    let said = World::new().said(&with("webhook_secret = \"x\"", ""));
    assert_eq!(
        said,
        ["error: hooks[ci].webhook_secret: is a secret and must not stand in the configuration \
          file (put it into a file and name that in the _file key, or set it by environment)"]
    );
    assert!(!DEFAULTS.contains("\nwebhook_secret "));
}
