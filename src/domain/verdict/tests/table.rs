//! One row per line of the table.

use super::*;

#[test]
fn each_row_of_the_table_has_its_story() {
    let unwanted = Policy {
        filter: crate::domain::filter::Filter {
            exclude: vec![EventPattern { event: "push".to_owned(), action: None }],
            ..Default::default()
        },
        ..policy()
    };
    let late_adopter = Standing { adopted_at: Some(at(1)), ..standing() };
    let received = Delivery { receipt: Some(receipt(1)), ..attempted(504) };
    let in_flight =
        Delivery { redeliveries: vec![request(1, 1, 60, Outcome::Accepted)], ..attempted(500) };
    let capped = Policy { max_redeliveries: 1, ..policy() };
    let dismissed = Delivery { dismissed: true, ..received.clone() };

    let table: [(&str, &Delivery, &Policy, &Standing, i64, Verdict); 13] = [
        // 1: the operator's word goes before everything.
        ("dismissed", &dismissed, &policy(), &standing(), 60, Verdict::Excused(Excuse::Dismissed)),
        // 2 (D27): what the filter excludes is never missing.
        (
            "filtered",
            &attempted(500),
            &unwanted,
            &standing(),
            60,
            Verdict::Excused(Excuse::NotWanted),
        ),
        // 3 (W12, R7): GitHub gave up waiting, the event is here all the same.
        (
            "timed out but received",
            &received,
            &policy(),
            &standing(),
            60,
            Verdict::Settled(Proof::Received),
        ),
        // 4: nothing but GitHub's word to go by.
        (
            "ok by github",
            &attempted(200),
            &trusting(Trust::Github),
            &standing(),
            60,
            Verdict::Settled(Proof::GithubOk),
        ),
        // 5 (L18): older than the adoption.
        (
            "adopted",
            &attempted(500),
            &policy(),
            &late_adopter,
            60,
            Verdict::Excused(Excuse::Adopted),
        ),
        // 6: too fresh to conclude anything.
        ("fresh", &attempted(500), &policy(), &standing(), 10, waiting(Wait::Grace, 30)),
        // 7: asked, the attempt is not listed yet.
        ("in flight", &in_flight, &policy(), &standing(), 300, waiting(Wait::InFlight, 660)),
        // 8 (W20): older than GitHub redelivers.
        (
            "aged out",
            &attempted(500),
            &policy(),
            &standing(),
            3 * DAY,
            Verdict::Abandoned(Loss::Expired),
        ),
        // 9 (W9): asked as often as allowed.
        (
            "gave up",
            &failed_twice(),
            &capped,
            &standing(),
            HOUR,
            Verdict::Abandoned(Loss::Exhausted),
        ),
        // 10: a minute after the first request.
        ("backing off", &failed_twice(), &policy(), &standing(), 100, waiting(Wait::Backoff, 120)),
        // 11: nothing arrives at the endpoint.
        (
            "held back",
            &attempted(500),
            &policy(),
            &down_until(600),
            60,
            waiting(Wait::EndpointDown, 600),
        ),
        // 12 (W18): a proxy answered, the receiver never saw it.
        ("phantom ack", &attempted(200), &policy(), &standing(), 60, due(Fault::Unseen, 1, 1)),
        // 13: simply failed.
        ("failed", &failed_twice(), &policy(), &standing(), 120, due(Fault::Failed, 2, 2)),
    ];
    for (story, delivery, policy, standing, now, expected) in table {
        assert_eq!(judge(delivery, policy, standing, at(now)), expected, "{story}");
    }
}
