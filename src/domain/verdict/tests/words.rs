//! The words of verdicts, and which of them mean missing.

use super::*;

#[test]
fn missing_is_due_or_abandoned_or_waiting_for_anything_but_grace() {
    let cases = [
        (Verdict::Settled(Proof::Received), false),
        (waiting(Wait::Grace, 0), false),
        (waiting(Wait::InFlight, 0), true),
        (waiting(Wait::Backoff, 0), true),
        (waiting(Wait::EndpointDown, 0), true),
        (due(Fault::Failed, 1, 1), true),
        (Verdict::Abandoned(Loss::Expired), true),
        (Verdict::Excused(Excuse::Adopted), false),
    ];
    for (verdict, missing) in cases {
        assert_eq!(verdict.is_missing(), missing, "{verdict:?}");
    }
}

#[test]
fn the_words_are_stable() {
    let words: Vec<&str> = Proof::ALL
        .iter()
        .map(|w| w.as_str())
        .chain(Wait::ALL.iter().map(|w| w.as_str()))
        .chain(Fault::ALL.iter().map(|w| w.as_str()))
        .chain(Loss::ALL.iter().map(|w| w.as_str()))
        .chain(Excuse::ALL.iter().map(|w| w.as_str()))
        .collect();
    assert_eq!(
        words,
        [
            "received",
            "github_ok",
            "grace",
            "in_flight",
            "backoff",
            "endpoint_down",
            "unseen",
            "failed",
            "expired",
            "exhausted",
            "dismissed",
            "not_wanted",
            "adopted",
        ]
    );
    let verdicts = [
        Verdict::Settled(Proof::Received),
        waiting(Wait::Grace, 0),
        due(Fault::Failed, 1, 1),
        Verdict::Abandoned(Loss::Expired),
        Verdict::Excused(Excuse::Dismissed),
    ];
    let words: Vec<(&str, &str)> = verdicts.iter().map(|v| (v.word(), v.reason())).collect();
    assert_eq!(
        words,
        [
            ("settled", "received"),
            ("waiting", "grace"),
            ("due", "failed"),
            ("abandoned", "expired"),
            ("excused", "dismissed"),
        ]
    );
}
