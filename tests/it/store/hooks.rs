//! What is remembered of a hook and of a credential.

use chrono::TimeDelta;
use redeliverd::{
    domain::{
        boundary::{Gap, Listing},
        clock_offset::ClockOffset,
        plan::{Down, Ramp},
    },
    store::types::HookMemory,
};

use super::world::{at, ci, hook, lease};
use crate::support::backends::{Backend, on_both};

on_both! {
    a_hook_never_seen_is_the_default,
    recording_keeps_its_first_moment,
    the_listing_comes_back_and_adoption_happens_once,
    the_ramp_comes_back,
    the_clock_offset_comes_back_and_says_when_a_pass_was_complete_by_our_clock,
    a_limit_is_never_shortened,
    a_limit_more_than_a_day_ahead_is_none,
}

async fn a_hook_never_seen_is_the_default(backend: Backend) {
    let store = backend.open().await;
    assert_eq!(store.hook(&ci()).await.unwrap(), HookMemory::default());
}

async fn recording_keeps_its_first_moment(backend: Backend) {
    let store = backend.open().await;
    store.begin_recording(&[ci()], at(1)).await.unwrap();
    store.begin_recording(&[ci(), hook("later")], at(2)).await.unwrap();
    assert_eq!(store.hook(&ci()).await.unwrap().recording_since, Some(at(1)));
    assert_eq!(store.hook(&hook("later")).await.unwrap().recording_since, Some(at(2)));
    // A hook that was only swept begins to record when it is first served.
    lease(&store, &hook("swept")).await;
    assert_eq!(store.hook(&hook("swept")).await.unwrap().recording_since, None);
    store.begin_recording(&[hook("swept")], at(3)).await.unwrap();
    assert_eq!(store.hook(&hook("swept")).await.unwrap().recording_since, Some(at(3)));
}

async fn the_listing_comes_back_and_adoption_happens_once(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let gap = |floor, ceiling, link: Option<&str>| Gap {
        floor: at(floor),
        ceiling: at(ceiling),
        link: link.map(str::to_owned),
    };
    let first = Listing {
        head: Some(at(9)),
        gaps: vec![gap(5, 8, Some("https://api/next")), gap(1, 3, None)],
        rechecked_at: Some(at(7)),
        complete_at: None,
    };
    store.save_page(&lease, &[], &first, at(4), at(9)).await.unwrap();
    let memory = store.hook(&ci()).await.unwrap();
    assert_eq!(memory.listing, first);
    assert_eq!(memory.adopted_at, Some(at(4)));

    let second = Listing { gaps: Vec::new(), complete_at: Some(at(10)), ..first };
    store.save_page(&lease, &[], &second, at(6), at(10)).await.unwrap();
    let memory = store.hook(&ci()).await.unwrap();
    assert_eq!(memory.listing, second);
    assert_eq!(memory.adopted_at, Some(at(4)));
}

async fn the_ramp_comes_back(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let up = Ramp { allowance: u32::MAX, last_batch_at: Some(at(1)), down: None };
    store.save_ramp(&lease, &up, at(1)).await.unwrap();
    assert_eq!(store.hook(&ci()).await.unwrap().ramp, Some(up));
    let down = Ramp {
        allowance: 3,
        last_batch_at: None,
        down: Some(Down {
            since: at(2),
            next_probe_at: at(4),
            pause: TimeDelta::milliseconds(120_500),
        }),
    };
    store.save_ramp(&lease, &down, at(2)).await.unwrap();
    assert_eq!(store.hook(&ci()).await.unwrap().ramp, Some(down));
}

async fn the_clock_offset_comes_back_and_says_when_a_pass_was_complete_by_our_clock(
    backend: Backend,
) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let listing = Listing { head: Some(at(9)), complete_at: Some(at(9)), ..Listing::default() };
    store.save_page(&lease, &[], &listing, at(4), at(9)).await.unwrap();
    assert_eq!(store.hook(&ci()).await.unwrap().complete_at(), Some(at(9)));
    // The listing has it by the clock that is behind.
    for (seconds, ours) in [(4, at(9)), (-4, at(9) + TimeDelta::seconds(4))] {
        let offset = ClockOffset::new(TimeDelta::seconds(seconds));
        store.save_clock_offset(&lease, offset).await.unwrap();
        let memory = store.hook(&ci()).await.unwrap();
        assert_eq!(memory.clock_offset, offset);
        assert_eq!(memory.complete_at(), Some(ours));
    }
}

async fn a_limit_is_never_shortened(backend: Backend) {
    let store = backend.open().await;
    assert_eq!(store.limit("app:1", at(0)).await.unwrap(), None);
    store.set_limit("app:1", at(5), at(0)).await.unwrap();
    store.set_limit("app:1", at(3), at(0)).await.unwrap();
    assert_eq!(store.limit("app:1", at(0)).await.unwrap(), Some(at(5)));
    store.set_limit("app:1", at(7), at(0)).await.unwrap();
    // Another process sees it too.
    assert_eq!(backend.open().await.limit("app:1", at(6)).await.unwrap(), Some(at(7)));
    assert_eq!(store.limit("app:1", at(7)).await.unwrap(), None);
    assert_eq!(store.limit("app:2", at(0)).await.unwrap(), None);
}

async fn a_limit_more_than_a_day_ahead_is_none(backend: Backend) {
    let store = backend.open().await;
    // By a clock that is a year ahead.
    let year = 365 * 24 * 60;
    store.set_limit("app:1", at(year + 1), at(year)).await.unwrap();
    assert_eq!(store.limit("app:1", at(0)).await.unwrap(), None);
    store.set_limit("app:1", at(24 * 60), at(0)).await.unwrap();
    assert_eq!(store.limit("app:1", at(0)).await.unwrap(), Some(at(24 * 60)));
}
