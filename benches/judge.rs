//! Verdicts per second on one core: every answer of the thirteen questions, with a filter, attempts,
//! requests and receipts as they occur.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{hint::black_box, time::Instant};

use chrono::{DateTime, TimeDelta, Utc};
use redeliverd::domain::{
    attempt::Attempt,
    clock_offset::ClockOffset,
    delivery::{Delivery, Means, Outcome, Receipt, Redelivery, Via},
    filter::Filter,
    ids::{AttemptId, EventName, Guid},
    policy::{Endpoint, Policy, Repair, Standing, Trust},
    verdict::judge,
};

/// Deliveries of each kind; together far more than fit into the nearest cache.
const EACH: u32 = 5_000;

/// Passes over all of them; the median counts.
const ROUNDS: usize = 21;

/// Makes the nth delivery of one kind.
type Make = fn(u32, DateTime<Utc>) -> Delivery;

fn main() {
    let now: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().unwrap();
    let policy = policy();
    let standing = Standing {
        recording_since: Some(now - TimeDelta::days(30)),
        adopted_at: Some(now - TimeDelta::days(30)),
        endpoint: Endpoint::Up,
        clock_offset: ClockOffset::default(),
    };
    let kinds: [(&str, Make); 4] = [
        ("received", |nth, now| Delivery {
            receipt: Some(Receipt { received_at: now, via: Via::Delivery }),
            ..listed(nth, now, 1, 200)
        }),
        ("failed", |nth, now| listed(nth, now, 1, 502)),
        ("asked three times", |nth, now| asked(listed(nth, now, 4, 502), now, 3)),
        ("asked eight times", |nth, now| asked(listed(nth, now, 9, 502), now, 8)),
    ];
    let mut all = Vec::new();
    for (name, make) in kinds {
        let deliveries: Vec<Delivery> = (0..EACH).map(|nth| make(nth, now)).collect();
        measure(name, &deliveries, &policy, &standing, now);
        all.extend(deliveries);
    }
    measure("all together", &all, &policy, &standing, now);
}

fn measure(
    name: &str,
    deliveries: &[Delivery],
    policy: &Policy,
    standing: &Standing,
    now: DateTime<Utc>,
) {
    let mut rates: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            for delivery in deliveries {
                black_box(judge(black_box(delivery), policy, standing, now));
            }
            f64::from(u32::try_from(deliveries.len()).unwrap()) / started.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    println!("judge, {name:<21} {:>6.1} million verdicts/s and core", rates[ROUNDS / 2] / 1e6);
}

fn policy() -> Policy {
    Policy {
        trust: Trust::Receipt,
        repair: Repair::Redeliver,
        filter: Filter {
            include: Vec::new(),
            exclude: Vec::new(),
            installations: [7, 8, 9].into(),
            repositories: [70, 80, 90].into(),
        },
        window: TimeDelta::days(3),
        settle: TimeDelta::seconds(30),
        confirm_within: TimeDelta::minutes(10),
        backoff: [1, 5, 30, 120, 360, 720].map(TimeDelta::minutes).to_vec(),
        max_redeliveries: 8,
        probes: 3,
        max_requests: 500,
    }
}

/// The `count` attempts end a quarter of an hour ago, the newest with the highest id.
fn listed(nth: u32, now: DateTime<Utc>, count: u32, code: i32) -> Delivery {
    let attempt = |number: u32| Attempt {
        id: AttemptId::new(u64::from(nth) * 100 + u64::from(number)).unwrap(),
        delivered_at: now - TimeDelta::minutes(15 + i64::from(count - number) * 60),
        redelivery: number > 1,
        status: "Invalid HTTP Response: 502".to_owned(),
        code: Some(code),
    };
    Delivery {
        guid: Guid::new(&format!("{nth:08x}-cc78-11e3-81ab-4c9367dc0958")).unwrap(),
        event: EventName::new("workflow_job").unwrap(),
        action: Some("completed".to_owned()),
        installation_id: Some(8),
        repository_id: Some(80),
        attempts: (1..=count).map(attempt).collect(),
        redeliveries: Vec::new(),
        receipt: None,
        dismissed: false,
        asked_by_hand: false,
    }
}

fn asked(mut delivery: Delivery, now: DateTime<Utc>, count: u32) -> Delivery {
    delivery.redeliveries = (1..=count)
        .zip(delivery.attempts.iter().map(|attempt| attempt.id))
        .map(|(nth, attempt)| Redelivery {
            nth,
            means: Means::Redeliver,
            attempt,
            asked_at: now - TimeDelta::hours(i64::from(count + 1 - nth)),
            outcome: Outcome::Accepted,
            probe: false,
        })
        .collect();
    delivery
}
