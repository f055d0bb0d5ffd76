//! One row per story of SPEC section 9's table, the third state of each condition included.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Attempts, Condition, Disk, Facts, Finding, HookFacts, InboxFacts, Lacking, LastSweep, Look,
    Requests, Shortfall, State, StoreFacts, SweepEnd, Thresholds, assess,
};
use crate::domain::{
    ids::{AttemptId, Guid, HookName},
    verdict::{Fault, Loss, Verdict, Wait},
};

const DAY: i64 = 24 * 60;

fn now() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

/// So many minutes ago.
fn ago(minutes: i64) -> DateTime<Utc> {
    now() - TimeDelta::minutes(minutes)
}

fn thresholds() -> Thresholds {
    Thresholds {
        missing_after: TimeDelta::minutes(15),
        closing_within: TimeDelta::hours(12),
        silence_after: Some(TimeDelta::hours(1)),
        period: TimeDelta::minutes(2),
    }
}

fn due() -> Verdict {
    Verdict::Due { why: Fault::Failed, attempt: AttemptId::new(1).unwrap(), nth: 1 }
}

/// A hook with which nothing is wrong.
fn healthy() -> HookFacts {
    HookFacts {
        name: HookName::new("ci").unwrap(),
        missing: Ok(Shortfall::default()),
        complete_at: Ok(Some(ago(1))),
        attempts: Ok(Attempts { succeeded: true, ..Attempts::default() }),
        last_sweep: Ok(Some(sweep(SweepEnd::Authorized))),
        clock_offset: None,
        requests: Requests { verified: 100, unverified: 0 },
        last_delivery_at: Ok(Some(ago(1))),
        inbox: Some(Ok(InboxFacts::default())),
    }
}

fn sweep(end: SweepEnd) -> LastSweep {
    LastSweep { started_at: ago(1), end, error: Some("GitHub's own words".to_owned()) }
}

fn facts(hook: HookFacts) -> Facts {
    Facts {
        started_at: ago(DAY),
        able_since: ago(DAY),
        store: StoreFacts::Writable,
        disk: Ok(Disk { free: 50 << 30, total: 100 << 30 }),
        hooks: vec![hook],
    }
}

fn found(facts: &Facts, condition: Condition) -> Finding {
    let findings = assess(facts, &thresholds(), now());
    let mut of = findings.into_iter().filter(|finding| finding.subject.condition == condition);
    let finding = of.next().expect("every condition is assessed");
    assert_eq!(of.next(), None, "{condition:?} is assessed once");
    finding
}

/// One delivery missing since `minutes` ago, first attempted then, with so long left in the window.
fn missing(verdict: &Verdict, minutes: i64, left: TimeDelta) -> Shortfall {
    let mut shortfall = Shortfall::default();
    let lacking = Lacking {
        guid: &Guid::new("a-guid").unwrap(),
        verdict,
        first_attempt_at: ago(minutes),
        missing_since: Some(ago(minutes)),
        expires_at: now() + left,
    };
    shortfall.add(&lacking, &thresholds(), now());
    shortfall
}

fn nowhere<T>() -> Look<T> {
    Err("nobody could look".to_owned())
}

type Change = Box<dyn Fn(&mut Facts)>;

fn hook(change: impl Fn(&mut HookFacts) + 'static) -> Change {
    Box::new(move |facts| facts.hooks.iter_mut().for_each(&change))
}

fn attempts(failed: u64) -> Attempts {
    Attempts { succeeded: false, failed, failing_since: Some(ago(14)), newest_code: Some(502) }
}

fn waiting(since: i64, handed_over: Option<i64>) -> InboxFacts {
    InboxFacts {
        waiting: 3,
        waiting_since: Some(ago(since)),
        handed_over_at: handed_over.map(ago),
        ..InboxFacts::default()
    }
}

fn disk(free_mib: u64, total_mib: u64) -> Change {
    Box::new(move |facts| {
        facts.disk = Ok(Disk { free: free_mib << 20, total: total_mib << 20 });
    })
}

#[test]
fn each_condition_holds_ends_and_is_unknown_as_specified() {
    use Condition as C;
    use State::{Firing, Resolved, Unknown};
    let days = TimeDelta::days;
    let hours = TimeDelta::hours;
    let wait = || Verdict::Waiting { why: Wait::EndpointDown, until: now() };
    #[rustfmt::skip]
    let table: Vec<(&str, Condition, State, Change)> = vec![
        ("missing for as long as allowed", C::DeliveriesMissing, Resolved, hook(move |h| h.missing = Ok(missing(&due(), 15, days(3))))),
        ("missing for longer", C::DeliveriesMissing, Firing, hook(move |h| h.missing = Ok(missing(&due(), 16, days(3))))),
        ("waiting for a dead endpoint is missing too", C::DeliveriesMissing, Firing, hook(move |h| h.missing = Ok(missing(&wait(), 16, days(3))))),
        ("what is missing cannot be read", C::DeliveriesMissing, Unknown, hook(|h| h.missing = nowhere())),
        ("the window closes later", C::WindowClosing, Resolved, hook(move |h| h.missing = Ok(missing(&due(), 1, hours(13))))),
        ("the window closes soon, however short it has been missing", C::WindowClosing, Firing, hook(move |h| h.missing = Ok(missing(&due(), 1, hours(12))))),
        ("what is lost is not about to be", C::WindowClosing, Resolved, hook(move |h| h.missing = Ok(missing(&Verdict::Abandoned(Loss::Expired), 1, hours(-1))))),
        ("the window cannot be told", C::WindowClosing, Unknown, hook(|h| h.missing = nowhere())),
        ("expired", C::DeliveriesLost, Firing, hook(move |h| h.missing = Ok(missing(&Verdict::Abandoned(Loss::Expired), 1, hours(-1))))),
        ("not expired", C::DeliveriesLost, Resolved, hook(move |h| h.missing = Ok(missing(&due(), 1, hours(1))))),
        ("losses cannot be told", C::DeliveriesLost, Unknown, hook(|h| h.missing = nowhere())),
        ("asked as often as allowed", C::DeliveriesExhausted, Firing, hook(move |h| h.missing = Ok(missing(&Verdict::Abandoned(Loss::Exhausted), 1, days(1))))),
        ("still being asked for", C::DeliveriesExhausted, Resolved, hook(move |h| h.missing = Ok(missing(&due(), 1, days(1))))),
        ("requests cannot be told", C::DeliveriesExhausted, Unknown, hook(|h| h.missing = nowhere())),
        // O10
        ("all attempts fail", C::EndpointFailing, Firing, hook(|h| h.attempts = Ok(attempts(9)))),
        ("all attempts fail as far as the list was read", C::EndpointFailing, Firing, hook(|h| { h.attempts = Ok(attempts(9)); h.complete_at = Ok(None); })),
        ("one attempt succeeded", C::EndpointFailing, Resolved, hook(|_| ())),
        ("no attempt at all", C::EndpointFailing, Resolved, hook(|h| h.attempts = Ok(Attempts::default()))),
        ("no attempt that we know of, the list being unread", C::EndpointFailing, Unknown, hook(|h| { h.attempts = Ok(Attempts::default()); h.complete_at = Ok(Some(ago(15))); })),
        ("attempts cannot be read", C::EndpointFailing, Unknown, hook(|h| h.attempts = nowhere())),
        ("the last sweep is three periods ago", C::SweepOverdue, Resolved, hook(|h| h.complete_at = Ok(Some(ago(6))))),
        ("it is longer ago", C::SweepOverdue, Firing, hook(|h| h.complete_at = Ok(Some(ago(7))))),
        ("there never was one", C::SweepOverdue, Firing, hook(|h| h.complete_at = Ok(None))),
        ("there never was one, and the daemon has just started", C::SweepOverdue, Resolved, Box::new(|f| { f.able_since = ago(5); f.hooks[0].complete_at = Ok(None); })),
        ("it is long ago because the daemon was stopped, or its store was gone", C::SweepOverdue, Resolved, Box::new(|f| { f.able_since = ago(5); f.hooks[0].complete_at = Ok(Some(ago(DAY))); })),
        ("the last sweep cannot be told", C::SweepOverdue, Unknown, hook(|h| h.complete_at = nowhere())),
        // O13, A15
        ("GitHub answers 401", C::GithubAuthFailing, Firing, hook(|h| h.last_sweep = Ok(Some(sweep(SweepEnd::Unauthorized))))),
        ("GitHub does not answer", C::GithubAuthFailing, Unknown, hook(|h| h.last_sweep = Ok(Some(sweep(SweepEnd::Unclear))))),
        ("GitHub was never asked", C::GithubAuthFailing, Unknown, hook(|h| h.last_sweep = Ok(None))),
        ("sweeps cannot be read", C::GithubAuthFailing, Unknown, hook(|h| h.last_sweep = nowhere())),
        ("GitHub answers", C::GithubAuthFailing, Resolved, hook(|_| ())),
        // A1
        ("our clock is a little behind", C::GithubAuthFailing, Resolved, hook(|h| h.clock_offset = Some(TimeDelta::seconds(479)))),
        ("tokens by our clock have ended", C::GithubAuthFailing, Firing, hook(|h| h.clock_offset = Some(TimeDelta::seconds(480)))),
        ("our clock is a little ahead", C::GithubAuthFailing, Resolved, hook(|h| h.clock_offset = Some(TimeDelta::seconds(-60)))),
        ("tokens by our clock have not begun", C::GithubAuthFailing, Firing, hook(|h| h.clock_offset = Some(TimeDelta::seconds(-61)))),
        // O12
        ("no signature matches", C::SignatureFailures, Firing, hook(|h| h.requests = Requests { verified: 0, unverified: 3 })),
        ("a stranger tries twice", C::SignatureFailures, Resolved, hook(|h| h.requests = Requests { verified: 0, unverified: 2 })),
        ("a start forgets what failed before it", C::SignatureFailures, Unknown, Box::new(|f| { f.started_at = ago(14); f.hooks[0].requests = Requests::default(); })),
        ("none came for a while after a start", C::SignatureFailures, Resolved, Box::new(|f| { f.started_at = ago(15); f.hooks[0].requests = Requests::default(); })),
        ("the first one after a start matches", C::SignatureFailures, Resolved, Box::new(|f| { f.started_at = ago(1); f.hooks[0].requests = Requests { verified: 1, unverified: 0 }; })),
        ("strangers try beside good traffic", C::SignatureFailures, Resolved, hook(|h| h.requests = Requests { verified: 50, unverified: 50 })),
        ("something came an hour ago", C::Silence, Resolved, hook(|h| h.last_delivery_at = Ok(Some(ago(60))))),
        ("nothing came for longer", C::Silence, Firing, hook(|h| h.last_delivery_at = Ok(Some(ago(61))))),
        ("nobody knows when something came", C::Silence, Unknown, hook(|h| h.last_delivery_at = nowhere())),
        ("nothing was ever recorded", C::Silence, Unknown, hook(|h| h.last_delivery_at = Ok(None))),
        // O32
        ("an event died", C::DeadLetters, Firing, hook(|h| h.inbox = Some(Ok(InboxFacts { dead: 1, ..InboxFacts::default() })))),
        ("none died", C::DeadLetters, Resolved, hook(|_| ())),
        ("nothing is handed over", C::DeadLetters, Resolved, hook(|h| h.inbox = None)),
        ("the inbox cannot be read", C::DeadLetters, Unknown, hook(|h| h.inbox = Some(nowhere()))),
        // O8
        ("events wait and none was ever handed over", C::HandoverStalled, Firing, hook(|h| h.inbox = Some(Ok(waiting(6, None))))),
        ("events wait and none is handed over any more", C::HandoverStalled, Firing, hook(|h| h.inbox = Some(Ok(waiting(60, Some(6)))))),
        ("events wait while others are handed over", C::HandoverStalled, Resolved, hook(|h| h.inbox = Some(Ok(waiting(60, Some(5)))))),
        ("an event came after a quiet night", C::HandoverStalled, Resolved, hook(|h| h.inbox = Some(Ok(waiting(1, Some(600)))))),
        ("no event waits", C::HandoverStalled, Resolved, hook(|_| ())),
        ("waiting events cannot be counted", C::HandoverStalled, Unknown, hook(|h| h.inbox = Some(nowhere()))),
        ("commits work", C::StoreFailing, Resolved, hook(|_| ())),
        ("commits fail", C::StoreFailing, Firing, Box::new(|f| f.store = StoreFacts::Failing("disk full".to_owned()))),
        ("4 % free", C::DiskLow, Firing, disk(4_000, 100_000)),
        ("5 % free", C::DiskLow, Resolved, disk(5_000, 100_000)),
        ("511 MiB free of little", C::DiskLow, Firing, disk(511, 1_000)),
        ("512 MiB free of little", C::DiskLow, Resolved, disk(512, 1_000)),
        ("the disk cannot be asked", C::DiskLow, Unknown, Box::new(|f| f.disk = nowhere())),
    ];
    for (story, condition, state, change) in table {
        let mut facts = facts(healthy());
        change(&mut facts);
        let finding = found(&facts, condition);
        assert_eq!(finding.state, state, "{story}: {finding:?}");
        assert!(!finding.command.is_empty(), "{story}");
        if state == Unknown {
            assert!(finding.summary.contains("cannot be told: "), "{story}: {finding:?}");
        }
    }
}

#[test]
fn nothing_is_wrong_with_a_healthy_hook() {
    let findings = assess(&facts(healthy()), &thresholds(), now());
    assert_eq!(findings.len(), Condition::ALL.len());
    assert!(findings.iter().all(|finding| finding.state == State::Resolved), "{findings:#?}");
}

#[test]
fn silence_is_not_watched_unless_asked_for() {
    let mut hook = healthy();
    hook.last_delivery_at = Ok(Some(ago(30 * DAY)));
    let off = Thresholds { silence_after: None, ..thresholds() };
    let findings = assess(&facts(hook), &off, now());
    assert!(findings.iter().all(|finding| finding.state == State::Resolved));
}

/// O29: five hundred are one finding, which names the five oldest.
#[test]
fn many_missing_deliveries_are_one_finding_with_the_oldest_five() {
    let mut shortfall = Shortfall::default();
    for n in 0..500_i64 {
        // In no order of age.
        let minutes = 20 + n * 7 % 500;
        let lacking = Lacking {
            guid: &Guid::new(&format!("age-{minutes}")).unwrap(),
            verdict: &due(),
            first_attempt_at: ago(minutes),
            missing_since: Some(ago(minutes)),
            expires_at: now() + TimeDelta::days(2),
        };
        shortfall.add(&lacking, &thresholds(), now());
    }
    let mut hook = healthy();
    hook.missing = Ok(shortfall);
    let finding = found(&facts(hook), Condition::DeliveriesMissing);
    assert_eq!(finding.count, 500);
    assert_eq!(finding.oldest, Some(ago(519)));
    let guids: Vec<_> = finding.guids.iter().map(Guid::as_str).collect();
    assert_eq!(guids, ["age-519", "age-518", "age-517", "age-516", "age-515"]);
    assert_eq!(
        finding.summary,
        "500 deliveries on hook ci missing for more than 15m, the oldest first attempted at \
         2026-11-30 03:21 UTC"
    );
    assert_eq!(finding.command, "redeliverd list --missing --hook ci");
}

/// A15: the text names the measured offset beside key and App id.
#[test]
fn a_refused_credential_names_its_likely_causes() {
    let mut hook = healthy();
    hook.last_sweep = Ok(Some(sweep(SweepEnd::Unauthorized)));
    hook.clock_offset = Some(TimeDelta::seconds(-1_200));
    let finding = found(&facts(hook), Condition::GithubAuthFailing);
    for part in ["GitHub's own words", "-1200 s", "private key", "App id"] {
        assert!(finding.summary.contains(part), "{part}: {}", finding.summary);
    }
}

#[test]
fn a_wrong_clock_is_told_in_words_a_person_uses() {
    for (offset, words) in [(1_201, "20m behind GitHub's"), (-90, "90s ahead of GitHub's")] {
        let mut hook = healthy();
        hook.clock_offset = Some(TimeDelta::seconds(offset));
        let finding = found(&facts(hook), Condition::GithubAuthFailing);
        assert!(finding.summary.contains(words), "{}", finding.summary);
        assert_eq!(finding.command, "timedatectl");
    }
}

#[test]
fn several_hooks_are_told_apart_and_the_daemon_is_told_once() {
    let mut other = healthy();
    other.name = HookName::new("bot").unwrap();
    other.attempts = Ok(attempts(1));
    let mut both = facts(healthy());
    both.hooks.push(other);
    let findings = assess(&both, &thresholds(), now());
    let firing: Vec<_> = findings.iter().filter(|f| f.state == State::Firing).collect();
    assert_eq!(firing.len(), 1);
    assert_eq!(firing[0].subject.hook.as_ref().map(HookName::as_str), Some("bot"));
    let whole: Vec<_> =
        findings.iter().filter(|f| f.subject.hook.is_none()).map(|f| f.subject.condition).collect();
    assert_eq!(whole, [Condition::StoreFailing, Condition::DiskLow]);
}
