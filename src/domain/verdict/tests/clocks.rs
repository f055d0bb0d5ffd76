//! GitHub's clock for what GitHub did, ours for what we did.

use super::*;

/// GitHub's clock is 20 minutes off ours; attempts at 0, 3600 and so on by GitHub's clock.
#[test]
fn attempts_are_judged_by_githubs_clock_and_our_own_acts_by_ours() {
    const OFF: i64 = 20 * MINUTE;
    let skewed = |offset| Standing { clock_offset: ClockOffset::new(secs(offset)), ..standing() };
    // By our clock: ours is 20 minutes behind, so what GitHub made at 0 was at -1200; and ahead.
    let (behind, ahead) = (skewed(OFF), skewed(-OFF));
    let recording = |since, standing: &Standing| Standing {
        recording_since: Some(at(since)),
        ..standing.clone()
    };
    let adopted =
        |since, standing: &Standing| Standing { adopted_at: Some(at(since)), ..standing.clone() };
    let ok = attempted(200);
    let failed = attempted(500);
    let by_github = Verdict::Settled(Proof::GithubOk);
    let old = Verdict::Excused(Excuse::Adopted);
    let expired = Verdict::Abandoned(Loss::Expired);
    let asked =
        Delivery { redeliveries: vec![request(1, 1, 60, Outcome::Accepted)], ..attempted(500) };
    let table: [(&str, &Delivery, Standing, i64, Verdict); 16] = [
        // 4: recording since a time of ours, attempted at one of GitHub's.
        ("ok before recording", &ok, recording(1 - OFF, &behind), HOUR, by_github.clone()),
        ("ok after it", &ok, recording(-OFF, &behind), HOUR, due(Fault::Unseen, 1, 1)),
        ("ok before recording, ahead", &ok, recording(OFF + 1, &ahead), HOUR, by_github),
        ("ok after it, ahead", &ok, recording(OFF, &ahead), HOUR, due(Fault::Unseen, 1, 1)),
        // 5: adoption is a time of GitHub's.
        ("adopted", &failed, adopted(1, &behind), HOUR, old.clone()),
        ("not adopted", &failed, adopted(0, &behind), HOUR, due(Fault::Failed, 1, 1)),
        ("adopted, ahead", &failed, adopted(1, &ahead), HOUR, old),
        ("not adopted, ahead", &failed, adopted(0, &ahead), HOUR, due(Fault::Failed, 1, 1)),
        // 6: a clock that is behind holds nothing back, one that is ahead shortens no grace.
        ("fresh", &failed, behind.clone(), 29 - OFF, waiting(Wait::Grace, 30 - OFF)),
        ("settled down", &failed, behind.clone(), 30 - OFF, due(Fault::Failed, 1, 1)),
        ("fresh, ahead", &failed, ahead.clone(), 29 + OFF, waiting(Wait::Grace, 30 + OFF)),
        ("settled down, ahead", &failed, ahead.clone(), 30 + OFF, due(Fault::Failed, 1, 1)),
        // 7: asked by our clock, looked at by our clock.
        ("in flight", &asked, behind.clone(), 60 + 599, waiting(Wait::InFlight, 660)),
        // 8: the window is GitHub's.
        ("expired", &failed, behind, 3 * DAY - OFF, expired.clone()),
        ("not yet, ahead", &failed, ahead.clone(), 3 * DAY + OFF - 1, due(Fault::Failed, 1, 1)),
        ("expired, ahead", &failed, ahead, 3 * DAY + OFF, expired),
    ];
    for (story, delivery, standing, now, expected) in table {
        assert_eq!(judge(delivery, &policy(), &standing, at(now)), expected, "{story}");
    }
}

#[test]
fn the_wait_after_a_request_runs_by_our_clock_alone() {
    let standing = Standing { clock_offset: ClockOffset::new(secs(-HOUR)), ..standing() };
    // Seen at 65 by GitHub's clock, which is an hour behind; asked at 3660 by ours.
    let delivery = Delivery {
        attempts: vec![attempt(1, 0, Some(500)), attempt(2, 65, Some(500))],
        redeliveries: vec![request(1, 1, HOUR + 60, Outcome::Accepted)],
        ..delivery()
    };
    let judged = |now| judge(&delivery, &policy(), &standing, at(now));
    assert_eq!(judged(HOUR + 119), waiting(Wait::Backoff, HOUR + 120));
    assert_eq!(judged(HOUR + 120), due(Fault::Failed, 2, 2));
}
