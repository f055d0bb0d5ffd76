//! What must stand in no log, metric, answer or column: every secret of a rig, in the forms that it could leak in.

use std::{collections::BTreeSet, fs, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use redeliverd::sandbox::github::World;
use url::Url;

/// Files that hold secrets, by the ends of their names.
const FILES: [&str; 6] = ["pem", "secret", "token", "url", "key", "pat"];

/// How a JSON web token with a header of ours begins.
const TOKENS: [&str; 2] = ["eyJ0eXAiOiJKV1Qi", "eyJhbGciOiJSUzI1NiI"];

/// A path of a URL that is no longer than this is a word, and no secret.
const SPEAKING: usize = 12;

/// Bytes of a payload that are looked for.
const PIECE: usize = 40;

/// Payloads whose pieces are looked for, at most: each costs a pass over the log.
const PAYLOADS: usize = 12;

/// Texts to look for, each with its name for people.
pub struct Leaks(Vec<(String, String)>);

impl Leaks {
    /// The secrets in the files beside a configuration, in the URLs within it, tokens made from
    /// them, and the payloads that the world has sent.
    pub fn of(dir: &Path, world: &World) -> Self {
        let mut leaks = Self(Vec::new());
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let end = path.extension().map(|end| end.to_string_lossy().into_owned());
            let Some(end) = end.filter(|end| FILES.contains(&end.as_str())) else { continue };
            let text = fs::read_to_string(&path).unwrap();
            match end.as_str() {
                "pem" => leaks.key(&name, &text),
                "url" => leaks.url(&name, text.trim()),
                _ => leaks.secret(&name, text.trim()),
            }
        }
        let config = fs::read_to_string(dir.join("redeliverd.toml")).unwrap();
        for line in config.lines().filter(|line| line.contains("://")) {
            let value = line.split('"').nth(1).unwrap_or_default();
            if line.starts_with("heartbeat_url") || line.contains('@') {
                leaks.url(line.split(' ').next().unwrap(), value);
            }
        }
        for token in TOKENS {
            leaks.add("a JWT", token);
        }
        leaks.payloads(world);
        leaks
    }

    /// One secret more: as it is, in base64, and as bytes are shown by `Debug`.
    pub fn secret(&mut self, name: &str, text: &str) {
        self.add(name, text);
        self.add(&format!("{name} in base64"), STANDARD.encode(text).trim_end_matches('='));
        let bytes: Vec<_> = text.bytes().take(PIECE).map(|byte| byte.to_string()).collect();
        self.add(&format!("{name} as numbers"), &bytes.join(", "));
    }

    /// What is secret in a URL: the password, and a path that says who may call.
    fn url(&mut self, name: &str, text: &str) {
        let url = Url::parse(text).unwrap();
        if let Some(password) = url.password() {
            let pair = format!("p={password}");
            let decoded = url::form_urlencoded::parse(pair.as_bytes()).next().unwrap().1;
            self.secret(name, &decoded);
            self.secret(name, password);
            let plain = STANDARD.encode(format!("\0{}\0{decoded}", url.username()));
            self.add(&format!("{name} for AUTH PLAIN"), &plain);
        } else if url.scheme().starts_with("http") && url.path().len() > SPEAKING {
            self.secret(name, url.path());
        }
    }

    /// Some lines of a private key.
    fn key(&mut self, name: &str, text: &str) {
        let lines: Vec<_> = text.lines().filter(|line| line.len() >= PIECE).collect();
        for line in [1, lines.len() / 2, lines.len() - 1] {
            self.add(name, &lines[line][..PIECE]);
        }
    }

    /// The middle of some payloads, and how each payload begins.
    fn payloads(&mut self, world: &World) {
        let mut pieces = BTreeSet::new();
        for attempt in world.hooks().into_iter().flat_map(|hook| world.attempts(hook)) {
            let text = std::str::from_utf8(&attempt.event.payload).unwrap().to_owned();
            // Quotes are escaped in a log line, so the piece has none.
            let longest = text.split(['"', '\\']).max_by_key(|part| part.len()).unwrap();
            let piece: String = longest.chars().take(PIECE).collect();
            if piece.len() >= PIECE / 2 && pieces.len() < PAYLOADS {
                pieces.insert(piece);
            }
        }
        for piece in pieces {
            self.add("a payload", &piece);
        }
        self.add("a payload as numbers", "123, 34, 97, 99, 116, 105, 111, 110, 34");
    }

    fn add(&mut self, name: &str, text: &str) {
        assert!(text.len() >= 4, "{name} is too short to be looked for");
        self.0.push((name.to_owned(), text.to_owned()));
    }

    /// Fails if any of them stands in `text`.
    pub fn none_in(&self, place: &str, text: &str) {
        for (name, secret) in &self.0 {
            let Some(at) = text.find(secret.as_str()) else { continue };
            let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
            let rest = text[line..].lines().next().unwrap_or_default();
            panic!("{name} is in {place}: {rest}");
        }
    }
}
