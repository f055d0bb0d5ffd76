//! The made-up events are plausible and repeatable.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::events::{Generator, names};

#[test]
fn the_same_seed_makes_the_same_events() {
    let (mut one, mut two) = (Generator::new(3), Generator::new(3));
    assert!((0..50).all(|_| one.any() == two.any()));
    assert_ne!(Generator::new(3).any(), Generator::new(4).any());
}

#[test]
fn payloads_agree_with_what_the_list_says_of_them() {
    let mut generator = Generator::new(11);
    let mut seen = BTreeSet::new();
    for _ in 0..1500 {
        let event = generator.any();
        let payload: Value = serde_json::from_slice(&event.payload).unwrap();
        assert_eq!(payload["action"].as_str(), event.action.as_deref(), "{}", event.name);
        assert_eq!(payload["installation"]["id"].as_i64(), event.installation_id, "{}", event.name);
        assert_eq!(payload["repository"]["id"].as_i64(), event.repository_id, "{}", event.name);
        assert!(
            (1_500..=60_000).contains(&event.payload.len()),
            "{} {}",
            event.name,
            event.payload.len()
        );
        seen.insert(event.name);
    }
    assert!(names().iter().all(|name| seen.contains(*name)), "{seen:?}");
    assert!(seen.contains("installation") && !seen.contains("ping"));
}

#[test]
fn a_ping_belongs_to_no_installation_and_unknown_names_to_nobody() {
    let mut generator = Generator::new(1);
    let ping = generator.of("ping", None).unwrap();
    assert_eq!((ping.action, ping.installation_id, ping.repository_id), (None, None, None));
    assert_eq!(
        generator.of("workflow_job", Some("queued")).unwrap().action.as_deref(),
        Some("queued")
    );
    assert_eq!(generator.of("workflow_job", Some("exploded")), None);
    assert_eq!(generator.of("nonsense", None), None);
}
